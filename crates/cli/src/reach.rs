//! What stands at the other end, once its name is read, and the manner in which it is spoken to; of both, the way there.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use polyport::client::Connect;
use polyport::model::Root;
use polyport::{Command, Era, Patience, Revisions, Server, Speaker};
use polyport_backends::files::serve::{Access, Roots};
use polyport_backends::files::{self, Folders};

use crate::demo;
use crate::failure::Failure;
use crate::frames;
use crate::remote::Remote;
use crate::target::Target;
use crate::typed::Typed;
use crate::ui;
use crate::verdicts::{Forgetting, OnDisk};

/// What stands at the other end.
#[derive(Clone, Debug)]
pub(crate) enum Reached {
    /// A server in this process.
    Inside(Target),
    /// A program that is started.
    Command(Command),
    /// A server at an address.
    Remote(Remote),
}

/// A server as a command line names it.
#[derive(Debug)]
pub(crate) struct Aimed {
    /// What it is; or why that cannot be said.
    pub(crate) reached: Result<Reached, Failure>,
    /// As it was named.
    pub(crate) shown: String,
    /// As it stands in a command line.
    pub(crate) typed: Typed,
    /// The words after it.
    pub(crate) rest: Vec<String>,
}

/// How a server is spoken to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manner {
    pub(crate) era: Option<Speak>,
    pub(crate) no_cache: bool,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) frames: Option<PathBuf>,
    pub(crate) timeout: Option<Duration>,
}

/// One era alone.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Speak {
    Modern,
    Legacy,
}

impl From<polyport_config::Era> for Speak {
    fn from(era: polyport_config::Era) -> Self {
        match era {
            polyport_config::Era::Modern => Self::Modern,
            polyport_config::Era::Legacy => Self::Legacy,
        }
    }
}

impl Reached {
    /// The way there.
    ///
    /// # Errors
    /// There is none: the folder cannot be opened, the address is none.
    pub(crate) fn connect(self) -> Result<Connect, Failure> {
        match self {
            Self::Inside(target) => inside(target),
            Self::Command(command) => match command.works_in() {
                // The system would not tell the folder from the program.
                Some(folder) if !folder.is_dir() => Err(Failure::usage(format!(
                    "there is no folder {} in which the server could work",
                    ui::path(folder)
                ))
                .hint("it is what --cwd, or cwd of its configuration, says")),
                _ => Ok(Connect::command(command)),
            },
            Self::Remote(remote) => remote.connect(),
        }
    }
}

impl Manner {
    /// The same way, in this manner.
    ///
    /// # Errors
    /// A root is no folder; what is said cannot be written down.
    pub(crate) fn on(&self, connect: Connect) -> Result<Connect, Failure> {
        let connect = self.without_ears(connect)?;
        Ok(match &self.frames {
            Some(file) => connect.tap(frames::to(file)?),
            None => connect,
        })
    }

    /// The same with somebody else who hears each message; the server is asked about its era, whatever is known.
    ///
    /// # Errors
    /// As [`on`](Self::on).
    pub(crate) fn heard_by(
        &self,
        connect: Connect,
        ear: impl Fn(Speaker, &[u8]) + Send + Sync + 'static,
    ) -> Result<Connect, Failure> {
        let connect = self.without_ears(connect)?;
        let connect = match self.no_cache {
            true => connect,
            false => connect.no_verdicts(),
        };
        Ok(match &self.frames {
            Some(file) => {
                let write = frames::to(file)?;
                connect.tap(move |speaker, text| {
                    write(speaker, text);
                    ear(speaker, text);
                })
            }
            None => connect.tap(ear),
        })
    }

    fn without_ears(&self, connect: Connect) -> Result<Connect, Failure> {
        let roots = roots(&self.roots)?;
        let connect = connect.speaks(self.revisions()).patience(self.patience());
        let connect = match self.no_cache {
            true => connect.verdicts(Arc::new(Forgetting::of_user())).no_cache(),
            false => connect.verdicts(Arc::new(OnDisk::of_user())),
        };
        Ok(if roots.is_empty() {
            connect
        } else {
            connect.roots(roots)
        })
    }

    fn revisions(&self) -> Revisions {
        match self.era {
            None => Revisions::ALL,
            Some(Speak::Modern) => Revisions::of(Era::Modern),
            Some(Speak::Legacy) => Revisions::of(Era::Legacy),
        }
    }

    /// How long is waited for the steps.
    pub(crate) fn patience(&self) -> Patience {
        let mut patience = Patience::default();
        if let Some(timeout) = self.timeout {
            patience.handshake = timeout;
            patience.request = timeout;
        }
        patience
    }
}

/// What of ours is meant: the built-in server, or a folder.
fn inside(target: Target) -> Result<Connect, Failure> {
    let server = Server::new("polyport", env!("CARGO_PKG_VERSION")).title("Polyport");
    let server = match target {
        Target::Demo => demo::extend(server).instructions(demo::INSTRUCTIONS),
        Target::Folder { named, .. } => {
            let opened = Folders::open([named.as_path()])
                .map_err(|error| Failure::usage(format!("{}: {error}", ui::path(&named))))?;
            let server = files::serve::extend(server, opened, Access::Read, Roots::Legacy);
            server.instructions(Access::Read.instructions())
        }
    };
    Ok(Connect::service(server.into_service()))
}

/// Folders as a server is told of them.
fn roots(folders: &[PathBuf]) -> Result<Vec<Root>, Failure> {
    let root = |folder: &PathBuf| {
        let found = std::fs::canonicalize(folder).and_then(|path| {
            if path.is_dir() {
                Ok(path)
            } else {
                Err(std::io::ErrorKind::NotADirectory.into())
            }
        });
        let path = found
            .map_err(|error| Failure::usage(format!("--root {}: {error}", ui::path(folder))))?;
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        Ok(Root {
            uri: files::uri::from_path(&path),
            name,
            ..Root::default()
        })
    };
    folders.iter().map(root).collect()
}
