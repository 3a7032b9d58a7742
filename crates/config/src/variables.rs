//! Variables in the texts of a configuration: every spelling that hosts have, expanded in one place, once.
//!
//! `${NAME}` `${NAME:-default}` `${NAME:?message}` `${env:NAME}` `${input:id}` `${file:path}` `${cmd:command}`
//! `${workspaceFolder}` `${configDir}` `${userHome}` and their like; `$$` is a dollar. `$NAME` stays as it is.

use std::path::{Path, PathBuf};

use crate::fault::nearest;
use crate::secret::{MASK, is_secret_name};

/// A text that grows beyond this is no value of a field.
const BYTES: usize = 1024 * 1024;
/// What is read of a file.
const FILE_BYTES: u64 = 64 * 1024;

/// Gives the value of what is named, or says why there is none.
pub type Give<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// What variables are looked up in.
pub struct Scope<'a> {
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Asks for an input of that id.
    pub input: Give<'a>,
    /// Runs a command, if that is allowed, and gives what it prints.
    pub command: Option<Give<'a>>,
    /// May files be read?
    pub files: bool,
    /// Where the project is.
    pub project: &'a Path,
    /// Where the file is that the text stands in.
    pub folder: &'a Path,
    /// The user's own folder.
    pub home: Option<&'a Path>,
    /// Is `{env:NAME}` a variable, too?
    pub bare: bool,
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope")
            .field("project", &self.project)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// Where a part of a text comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Origin {
    /// This variable of the environment.
    Variable(String),
    /// The default that stands beside this variable.
    Default(String),
    /// Somebody was asked for it.
    Input(String),
    /// This file.
    File(PathBuf),
    /// What a command printed.
    Command,
    /// A folder that is known under this name.
    Folder(String),
}

/// A text, and where its parts come from.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Expanded {
    /// The text.
    pub text: String,
    /// The text with a mask for what comes from where secrets come from.
    pub shown: String,
    /// Where its parts come from, besides the file.
    pub from: Vec<Origin>,
}

/// Expands the variables of a text. What they hold is not expanded again.
///
/// # Errors
/// One is not set, not known, or may not be used; or a brace is open.
pub fn expand(text: &str, scope: &Scope<'_>) -> Result<Expanded, String> {
    let mut out = Expanded::default();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        out.push(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("$$") {
            out.push("$");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("${") {
            let (inner, after) = after
                .split_once('}')
                .ok_or_else(|| "${ without its }".to_owned())?;
            out.take(inner, scope)?;
            rest = after;
        } else if let Some((inner, after)) = bare(rest).filter(|_| scope.bare) {
            out.take(inner, scope)?;
            rest = after;
        } else {
            out.push(&rest[..1]);
            rest = &rest[1..];
        }
        if out.text.len() > BYTES {
            return Err("is longer than 1 MiB once its variables are filled in".to_owned());
        }
    }
    out.push(rest);
    if out.text.contains('\0') {
        return Err("holds a zero byte once its variables are filled in".to_owned());
    }
    Ok(out)
}

/// `{env:NAME}` or `{file:path}` at the beginning.
fn bare(text: &str) -> Option<(&str, &str)> {
    let (inner, after) = text.strip_prefix('{')?.split_once('}')?;
    (inner.starts_with("env:") || inner.starts_with("file:")).then_some((inner, after))
}

/// What may stand before a colon.
const KINDS: &[&str] = &["env", "input", "file", "cmd"];

impl Expanded {
    /// One that stands so in the file.
    pub(crate) fn of(text: &str, from: Origin) -> Self {
        let mut made = Self::default();
        made.add(text, from);
        made
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.shown.push_str(text);
    }

    fn add(&mut self, text: &str, from: Origin) {
        let is_secret = match &from {
            Origin::Input(_) | Origin::File(_) | Origin::Command => true,
            Origin::Variable(name) => is_secret_name(name),
            Origin::Default(_) | Origin::Folder(_) => false,
        };
        self.text.push_str(text);
        let shown = if is_secret && !text.is_empty() {
            MASK
        } else {
            text
        };
        self.shown.push_str(shown);
        self.from.push(from);
    }

    fn take(&mut self, inner: &str, scope: &Scope<'_>) -> Result<(), String> {
        if inner.contains("${") {
            return Err(format!(
                "${{{inner}}}: a variable inside a variable is not expanded"
            ));
        }
        if let Some(folder) = folder(inner, scope)? {
            self.add(&folder, Origin::Folder(inner.to_owned()));
            return Ok(());
        }
        let (kind, rest) = match inner.split_once(':') {
            Some((kind, rest)) if !rest.starts_with(['-', '?']) => (kind, rest),
            _ => ("env", inner),
        };
        match kind {
            "env" => self.variable(rest, scope),
            "input" => {
                let given = (scope.input)(rest)?;
                self.add(&given, Origin::Input(rest.to_owned()));
                Ok(())
            }
            "file" => self.file(rest, scope),
            "cmd" => {
                let run = scope.command.ok_or_else(|| {
                    format!("${{{inner}}} would run a command; --expand cmd allows it")
                })?;
                let printed = run(rest).map_err(|why| format!("${{{inner}}}: {why}"))?;
                self.add(printed.trim_end_matches(['\r', '\n']), Origin::Command);
                Ok(())
            }
            _ => {
                let known = nearest(kind, KINDS.iter().copied());
                let hint = known.map_or_else(
                    || format!("known are {}", KINDS.join(", ")),
                    |near| format!("did you mean {near}?"),
                );
                Err(format!(
                    "${{{inner}}}: there are no variables of the kind {kind}; {hint}"
                ))
            }
        }
    }

    fn variable(&mut self, text: &str, scope: &Scope<'_>) -> Result<(), String> {
        let begin = [":-", ":?"].iter().filter_map(|mark| text.find(mark)).min();
        let (name, otherwise) = match begin {
            Some(at) => (&text[..at], Some((&text[at..at + 2], &text[at + 2..]))),
            None => (text, None),
        };
        let is_name =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '(' | ')');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!("${{{text}}} names no variable"));
        }
        let value = (scope.variable)(name);
        match (value, otherwise) {
            (Some(value), None) => self.add(&value, Origin::Variable(name.to_owned())),
            (Some(value), Some(_)) if !value.is_empty() => {
                self.add(&value, Origin::Variable(name.to_owned()));
            }
            (_, Some((":-", default))) => self.add(default, Origin::Default(name.to_owned())),
            (_, Some((_, ""))) | (None, None) => {
                return Err(format!("the variable {name} is not set"));
            }
            (_, Some((_, message))) => {
                return Err(format!("the variable {name} is not set: {message}"));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str, scope: &Scope<'_>) -> Result<(), String> {
        if !scope.files {
            return Err(format!(
                "${{file:{path}}} would read a file; --expand file allows it"
            ));
        }
        let path = match (path.strip_prefix("~/"), scope.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => scope.folder.join(path),
        };
        let read = read(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        self.add(read.trim_end_matches(['\r', '\n']), Origin::File(path));
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, String> {
    use std::io::Read;
    // To open a pipe would wait for whoever writes into it.
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("is no file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = file.take(FILE_BYTES + 1).read_to_string(&mut text);
    match read {
        Ok(bytes) if bytes as u64 > FILE_BYTES => Err("is larger than 64 KiB".to_owned()),
        Ok(_) => Ok(text),
        Err(error) => Err(error.to_string()),
    }
}

/// The folders that have names.
fn folder(name: &str, scope: &Scope<'_>) -> Result<Option<String>, String> {
    let shown = |path: &Path| Some(path.display().to_string());
    Ok(match name {
        "workspaceFolder" | "cwd" => shown(scope.project),
        "workspaceFolderBasename" => {
            let name = scope.project.file_name().unwrap_or_default();
            Some(name.to_string_lossy().into_owned())
        }
        "configDir" => shown(scope.folder),
        "userHome" => {
            let home = scope
                .home
                .ok_or_else(|| "${userHome}: no home folder is known".to_owned())?;
            shown(home)
        }
        "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str, bare: bool) -> Result<Expanded, String> {
        let scope = Scope {
            variable: &|name| match name {
                "HOST" => Some("a.example".to_owned()),
                "EMPTY" => Some(String::new()),
                "TRICK" => Some("${HOST} $$".to_owned()),
                "A-B.c(x)" => Some("odd".to_owned()),
                "ZERO" => Some("a\0b".to_owned()),
                "BIG" => Some("x".repeat(BYTES)),
                _ => None,
            },
            input: &|id| match id {
                "token" => Ok("typed".to_owned()),
                _ => Err(format!("nobody gives {id}")),
            },
            command: Some(&|text| Ok(format!("ran {text}\n"))),
            files: true,
            project: Path::new("/work/shop"),
            folder: Path::new("/work"),
            home: Some(Path::new("/home/ada")),
            bare,
        };
        expand(text, &scope)
    }

    /// The one table of all that can stand in a field.
    #[test]
    fn every_spelling() {
        for (text, want) in [
            ("plain", Ok("plain")),
            ("", Ok("")),
            ("https://${HOST}/mcp", Ok("https://a.example/mcp")),
            ("${env:HOST}", Ok("a.example")),
            ("${HOST:-b}", Ok("a.example")),
            ("${NONE:-b}", Ok("b")),
            ("${NONE:-}", Ok("")),
            ("${NONE:-a:b c}", Ok("a:b c")),
            ("${NONE:-http://x:-y}", Ok("http://x:-y")),
            ("${env:NONE:-b}", Ok("b")),
            ("${EMPTY}", Ok("")),
            ("${EMPTY:-b}", Ok("b")),
            ("${HOST:?say where}", Ok("a.example")),
            ("${A-B.c(x)}", Ok("odd")),
            ("${input:token}", Ok("typed")),
            ("${cmd:pass show x}", Ok("ran pass show x")),
            ("${workspaceFolder}/x", Ok("/work/shop/x")),
            ("${workspaceFolderBasename}", Ok("shop")),
            ("${configDir}", Ok("/work")),
            ("${userHome}", Ok("/home/ada")),
            ("$$", Ok("$")),
            ("$${HOST}", Ok("${HOST}")),
            ("$$$${HOST}", Ok("$${HOST}")),
            ("$HOST", Ok("$HOST")),
            ("a$", Ok("a$")),
            ("$(HOST)", Ok("$(HOST)")),
            ("%HOST%", Ok("%HOST%")),
            ("{env:HOST}", Ok("{env:HOST}")),
            ("{\"a\": 1}", Ok("{\"a\": 1}")),
            ("é${HOST}é", Ok("éa.exampleé")),
            // Once, and no more.
            ("${TRICK}", Ok("${HOST} $$")),
            ("${NONE}", Err("the variable NONE is not set")),
            ("${env:NONE}", Err("the variable NONE is not set")),
            ("${NONE:?}", Err("the variable NONE is not set")),
            (
                "${NONE:?say where}",
                Err("the variable NONE is not set: say where"),
            ),
            (
                "${EMPTY:?say where}",
                Err("the variable EMPTY is not set: say where"),
            ),
            ("${HOST", Err("${ without its }")),
            ("${}", Err("${} names no variable")),
            ("${a b}", Err("${a b} names no variable")),
            ("${input:x}", Err("nobody gives x")),
            (
                "${NONE:-${HOST}}",
                Err("${NONE:-${HOST}: a variable inside a variable is not expanded"),
            ),
            (
                "${evn:HOST}",
                Err("${evn:HOST}: there are no variables of the kind evn; did you mean env?"),
            ),
            (
                "${vault:x}",
                Err(
                    "${vault:x}: there are no variables of the kind vault; known are env, input, file, cmd",
                ),
            ),
            (
                "${ZERO}",
                Err("holds a zero byte once its variables are filled in"),
            ),
            (
                "${BIG}${HOST}",
                Err("is longer than 1 MiB once its variables are filled in"),
            ),
        ] {
            let got = expanded(text, false).map(|expanded| expanded.text);
            assert_eq!(got.as_deref().map_err(String::as_str), want, "{text}");
        }
        let bare = expanded("{env:HOST} {x} ${HOST}", true).map(|expanded| expanded.text);
        assert_eq!(bare.as_deref(), Ok("a.example {x} a.example"));
    }

    #[test]
    fn where_it_comes_from_is_said() {
        let from = expanded("${HOST}${NONE:-x}${input:token}${cmd:x}${userHome}", false)
            .map(|expanded| expanded.from);
        let want = vec![
            Origin::Variable("HOST".to_owned()),
            Origin::Default("NONE".to_owned()),
            Origin::Input("token".to_owned()),
            Origin::Command,
            Origin::Folder("userHome".to_owned()),
        ];
        assert_eq!(from, Ok(want));
    }

    #[test]
    fn files_and_commands_need_leave() {
        let scope = Scope {
            variable: &|_| None,
            input: &|_| Err(String::new()),
            command: None,
            files: false,
            project: Path::new("/"),
            folder: Path::new("/"),
            home: None,
            bare: true,
        };
        for text in ["${file:x}", "{file:x}", "${cmd:x}"] {
            let why = expand(text, &scope).map_err(|why| why.contains("--expand"));
            assert_eq!(why.map(|it| it.text), Err(true), "{text}");
        }
        assert!(expand("${userHome}", &scope).is_err());
    }
}
