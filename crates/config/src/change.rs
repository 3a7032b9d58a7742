//! A change of our own file: what the file would become, held to the letter, before it is written. Comments and order stay.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::check::is_name;
use crate::edit::{Refused, Spot};
use crate::fault::{Fault, nearest};
use crate::file;
use crate::lookup::Own;
use crate::node::Format;
use crate::own;
use crate::write;

/// What a file of ours would become.
#[derive(Clone, Debug)]
pub struct Change {
    /// The file.
    pub file: PathBuf,
    /// The line of the server: where it will stand, or where it stood.
    pub line: usize,
    /// What stands there; nothing: there is no file.
    pub before: Option<String>,
    /// What would stand there.
    pub after: String,
}

impl Change {
    /// A server that is added. `replace`: in the place of one of that name, with all that is said of it.
    ///
    /// # Errors
    /// The name is none, or taken; what is said of the server cannot be meant; the file cannot be read.
    pub fn add(file: &Path, name: &str, entry: &Json, replace: bool) -> Result<Self, Fault> {
        if !is_name(name) {
            let why = format!("{name:?} is no name of a server");
            return Err(
                Fault::of(file, why).hint("letters, digits, and _ - . after the first, at most 64")
            );
        }
        let before = text(file)?;
        let old = before.as_deref().unwrap_or_default();
        let known = Own::of(file, old)?;
        if let Some(line) = line(&known, name).filter(|_| !replace) {
            let fault = Fault::of(file, "is there already").at(line);
            return Err(fault.field(format!("servers.{name}")));
        }
        let spot = spot(file, &["servers"], name);
        let after = spot.put(old, entry).map_err(|why| refused(file, &why))?;
        let new = Own::of(file, &after)?;
        new.get(name)?;
        Ok(Self {
            file: file.to_owned(),
            line: line(&new, name).unwrap_or(1),
            before,
            after,
        })
    }

    /// A server that is taken out.
    ///
    /// # Errors
    /// There is none of that name, or the file cannot be read.
    pub fn remove(file: &Path, name: &str) -> Result<Self, Fault> {
        let (before, line) = known(file, name)?;
        let after = spot(file, &["servers"], name).take(&before);
        Ok(Self {
            file: file.to_owned(),
            line,
            after: after.map_err(|why| refused(file, &why))?,
            before: Some(before),
        })
    }

    /// A server that is switched on or off.
    ///
    /// # Errors
    /// There is none of that name, something is wrong with it, or the file cannot be read.
    pub fn switch(file: &Path, name: &str, on: bool) -> Result<Self, Fault> {
        let (before, line) = known(file, name)?;
        let entry = Own::of(file, &before)?.get(name)?;
        let mut change = Self {
            file: file.to_owned(),
            line,
            after: before.clone(),
            before: Some(before),
        };
        if entry.is_none_or(|entry| entry.enabled != on) {
            let spot = spot(file, &["servers", name], "enabled");
            let after = spot.put(&change.after, &Json::Bool(on));
            change.after = after.map_err(|why| refused(file, &why))?;
        }
        Ok(change)
    }

    /// Would anything change?
    pub fn is_change(&self) -> bool {
        self.before.as_ref() != Some(&self.after)
    }

    /// Makes the change: whole or not at all.
    ///
    /// # Errors
    /// It cannot be written, or somebody else has written it since.
    pub fn make(&self) -> Result<(), Fault> {
        let change = write::Change {
            file: &self.file,
            before: self.before.as_deref(),
            after: Some(&self.after),
            private: false,
        };
        change.make().map(drop)
    }
}

/// The text of a file that is ours, or is to be.
fn text(file: &Path) -> Result<Option<String>, Fault> {
    let text = file::text(file)?;
    let is_ours = || {
        let format = Format::of(file);
        let root = file::parse(file, text.as_deref().unwrap_or_default(), format)?;
        // A host's file that names no servers yet has other keys.
        let mut keys = root.table().unwrap_or_default().iter();
        Ok(format == Format::Toml && keys.all(|(key, _)| key == "servers" || key == "$schema"))
    };
    if own::is_named(file) || is_ours()? {
        return Ok(text);
    }
    Err(Fault::of(file, "is no file of ours").hint(
        "ours is polyport.toml, or another TOML file with servers; polyport install writes into those of AI hosts",
    ))
}

/// The text that holds a server of this name, and where.
fn known(file: &Path, name: &str) -> Result<(String, usize), Fault> {
    let text = text(file)?.ok_or_else(|| Fault::of(file, "is not there"))?;
    let own = Own::of(file, &text)?;
    let fault = Fault::of(file, format!("has no server {name}"));
    match (line(&own, name), nearest(name, own.servers.names())) {
        (Some(line), _) => Ok((text, line)),
        (None, Some(near)) => Err(fault.hint(format!("did you mean {near}?"))),
        (None, None) => Err(fault.hint("polyport list says which there are")),
    }
}

/// Where a server stands.
fn line(own: &Own, name: &str) -> Option<usize> {
    let (_, entry) = own
        .servers
        .entries
        .iter()
        .find(|(known, _)| known == name)?;
    Some(match entry {
        Ok(entry) => entry.line,
        Err(fault) => fault.line.unwrap_or(1),
    })
}

fn spot(file: &Path, keys: &[&str], name: &str) -> Spot {
    Spot {
        format: Format::of(file),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        name: name.to_owned(),
    }
}

fn refused(file: &Path, refused: &Refused) -> Fault {
    let fault = Fault::of(file, &refused.why).hint("it is left as it is; change it by hand");
    match refused.line {
        Some(line) => fault.at(line),
        None => fault,
    }
}
