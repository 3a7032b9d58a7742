//! Puts an entry into a host's configuration and takes it out again: what would change first, then the change.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use crate::edit::{Refused, Spot};
use crate::entry::{Entry, Way};
use crate::fault::Fault;
use crate::file;
use crate::hosts::{Host, HostFile, Shape};
use crate::places::Places;
use crate::undo::{Record, Records};
use crate::write::Change;

/// An entry as a host writes it.
///
/// # Errors
/// The host cannot have such a server; why.
pub fn written(shape: &Shape, entry: &Entry<String>) -> Result<Json, String> {
    let mut out = Map::new();
    let texts = |pairs: &[(String, String)]| {
        let pairs = pairs.iter().map(|(name, text)| (name.clone(), json!(text)));
        Json::Object(pairs.collect())
    };
    match &entry.way {
        Way::Command(start) => {
            if let Some(kind) = shape.program {
                out.insert("type".to_owned(), json!(kind));
            }
            if shape.list {
                let words: Vec<&String> = [&start.program].into_iter().chain(&start.args).collect();
                out.insert("command".to_owned(), json!(words));
            } else {
                out.insert("command".to_owned(), json!(start.program));
                out.insert("args".to_owned(), json!(start.args));
            }
            if !start.env.is_empty() {
                out.insert(shape.env.to_owned(), texts(&start.env));
            }
            if let Some(cwd) = &start.cwd {
                let name = shape
                    .cwd
                    .ok_or("it cannot say in which folder a server works")?;
                out.insert(name.to_owned(), json!(cwd));
            }
        }
        Way::Url(remote) => {
            let url = shape
                .url
                .as_ref()
                .ok_or("it starts servers, and reaches none at an address")?;
            let is_socket = ["ws:", "wss:"].iter().any(|scheme| {
                let begin = remote.url.get(..scheme.len());
                begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
            });
            if is_socket {
                return Err("it does not speak WebSocket".to_owned());
            }
            let (name, kind) = match (remote.is_sse, url.sse) {
                (Some(true), None) => {
                    let why = "it does not speak the older HTTP with SSE, which its type says";
                    return Err(why.to_owned());
                }
                (Some(true), Some(sse)) => sse,
                // Hosts do not find out what their type says, and so the address has to tell.
                (None, Some(sse)) if ends_in_sse(&remote.url) => sse,
                // Without its type it would be taken for what its address looks like.
                (Some(false), Some((_, Some("sse")))) if ends_in_sse(&remote.url) => {
                    (url.url, url.kind.or(Some("http")))
                }
                _ => (url.url, url.kind),
            };
            if let Some(kind) = kind {
                out.insert("type".to_owned(), json!(kind));
            }
            out.insert(name.to_owned(), json!(remote.url));
            if !remote.headers.is_empty() {
                out.insert(url.headers.to_owned(), texts(&remote.headers));
            }
        }
    }
    Ok(Json::Object(out))
}

/// Is this an address as servers of the older HTTP with SSE have it by convention?
fn ends_in_sse(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.trim_end_matches('/').ends_with("/sse")
}

/// A host's file, and an entry in it.
#[derive(Clone, Debug)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub spot: Spot,
    private: bool,
    records: Option<Records>,
}

/// What a file would become.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file.
    pub file: PathBuf,
    /// What stands there; nothing: there is none.
    pub before: Option<String>,
    /// What would stand there; nothing: it would go.
    pub after: Option<String>,
    /// The entry of that name before.
    pub was: Option<Json>,
    /// The entry of that name after.
    pub is: Option<Json>,
    place: Place,
    record: Option<Record>,
}

impl Place {
    /// The entry of this name in one of a host's files.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn new(
        host: &Host,
        about: &HostFile,
        name: &str,
        places: &Places,
    ) -> Result<Option<Self>, Fault> {
        let Some(path) = about.path(places) else {
            return Ok(None);
        };
        let mut spot = Spot {
            format: host.shape.format,
            keys: about.keys(places),
            name: name.to_owned(),
        };
        // Its second version may keep them one table deeper, and reads both.
        if spot.keys == ["mcp"] {
            let text = file::text(&path)?.unwrap_or_default();
            let root = spot.value(&text).unwrap_or_default();
            let inner = &root["mcp"]["servers"];
            if inner.is_object() && inner.get("type").is_none() && inner.get("command").is_none() {
                spot.keys.push("servers".to_owned());
            }
        }
        Ok(Some(Self {
            file: path,
            spot,
            private: about.scope != "project",
            records: places.state.as_deref().map(Records::in_folder),
        }))
    }

    /// What stands there.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn get(&self) -> Result<Option<Json>, Fault> {
        let text = file::text(&self.file)?.unwrap_or_default();
        self.spot
            .get(&text)
            .map_err(|refused| fault(&self.file, &refused))
    }

    /// What the file would become with this entry.
    ///
    /// # Errors
    /// The file cannot be read, or not be changed without changing more.
    pub fn install(&self, entry: &Json) -> Result<Plan, Fault> {
        let before = file::text(&self.file)?;
        let text = before.as_deref().unwrap_or_default();
        let refused = |refused: Refused| fault(&self.file, &refused);
        let was = self.spot.get(text).map_err(refused)?;
        let mut plan = Plan {
            file: self.file.clone(),
            after: before.clone(),
            before: before.clone(),
            is: was.clone(),
            was,
            place: self.clone(),
            record: None,
        };
        if plan.was.as_ref() == Some(entry) {
            return Ok(plan);
        }
        let after = self.spot.put(text, entry).map_err(refused)?;
        // What was installed before is taken back with it.
        let earlier = self.record().and_then(|record| {
            let back = record.back(text, &self.spot)?;
            Some((back, record.folders))
        });
        let mut record = match &earlier {
            Some((back, _)) => Record::of(&self.file, back.as_deref(), &after),
            None => Record::of(&self.file, before.as_deref(), &after),
        };
        record.folders = earlier.map(|(_, folders)| folders).unwrap_or_default();
        plan.after = Some(after);
        plan.is = Some(entry.clone());
        plan.record = Some(record);
        Ok(plan)
    }

    /// What the file would become without this entry: to the byte what it was before, where that can still be told.
    ///
    /// # Errors
    /// The file cannot be read, or not be changed without changing more.
    pub fn uninstall(&self) -> Result<Plan, Fault> {
        let before = file::text(&self.file)?;
        let text = before.as_deref().unwrap_or_default();
        let refused = |refused: Refused| fault(&self.file, &refused);
        let was = self.spot.get(text).map_err(refused)?;
        let back = self
            .record()
            .and_then(|record| record.back(text, &self.spot));
        let after = match back {
            _ if was.is_none() => before.clone(),
            Some(back) => back,
            None => Some(self.spot.take(text).map_err(refused)?),
        };
        let is = match &after {
            Some(after) => self.spot.get(after).map_err(refused)?,
            None => None,
        };
        Ok(Plan {
            file: self.file.clone(),
            before,
            after,
            was,
            is,
            place: self.clone(),
            record: None,
        })
    }

    fn record(&self) -> Option<Record> {
        self.records.as_ref()?.find(&self.file, &self.spot)
    }
}

impl Plan {
    /// Would anything change?
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// Makes the change.
    ///
    /// # Errors
    /// It cannot be written, or somebody else has written it since.
    pub fn make(&self) -> Result<(), Fault> {
        let change = Change {
            file: &self.file,
            before: self.before.as_deref(),
            after: self.after.as_deref(),
            private: self.place.private,
        };
        let made = change.make()?;
        let Some(records) = &self.place.records else {
            return Ok(());
        };
        let spot = &self.place.spot;
        match &self.record {
            Some(record) => {
                let mut record = record.clone();
                if !made.is_empty() {
                    record.folders = made;
                }
                records.keep(&self.file, spot, &record);
            }
            None => {
                if self.after.is_none() {
                    let folders = records.find(&self.file, spot).map(|it| it.folders);
                    for folder in folders.into_iter().flatten() {
                        // Only one that nobody else has used is empty.
                        let _ = fs::remove_dir(folder);
                    }
                }
                records.forget(&self.file, spot);
            }
        }
        Ok(())
    }
}

fn fault(file: &Path, refused: &Refused) -> Fault {
    let fault = Fault::of(file, &refused.why);
    let fault = match refused.line {
        Some(line) => fault.at(line),
        None => fault,
    };
    fault.hint("it is left as it is; mend it, or add the entry by hand (--print shows it)")
}
