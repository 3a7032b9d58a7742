//! Writes a file whole or not at all: beside its place, then renamed over it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::file;

/// What a file becomes.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    /// The file, or a link to it.
    pub(crate) file: &'a Path,
    /// What stood there when it was read; nothing: there was none.
    pub(crate) before: Option<&'a str>,
    /// What is to stand there; nothing: it goes.
    pub(crate) after: Option<&'a str>,
    /// Is a new file its user's alone?
    pub(crate) private: bool,
}

impl Change<'_> {
    /// Makes it. Gives the folders that had to be made.
    ///
    /// # Errors
    /// It cannot be written, or is not any more what it was.
    pub(crate) fn make(&self) -> Result<Vec<PathBuf>, Fault> {
        let failed = |error: io::Error| Fault::of(self.file, format!("cannot be written: {error}"));
        let place = self.place()?;
        let folder = place.parent().unwrap_or_else(|| Path::new(".")).to_owned();
        let made = make_folders(&folder).map_err(failed)?;
        let old = fs::metadata(&place).ok();
        if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
            return Err(Fault::of(self.file, "may only be read")
                .hint("give yourself the right to write it, and say it again"));
        }
        let Some(after) = self.after else {
            self.is_still()?;
            fs::remove_file(&place).map_err(failed)?;
            return Ok(made);
        };
        let fresh = folder.join(format!(".polyport-new-{}", std::process::id()));
        let written = self.write(&fresh, after, old.as_ref());
        let written = written.map_err(failed).and_then(|()| self.is_still());
        let renamed = written.and_then(|()| fs::rename(&fresh, &place).map_err(failed));
        if renamed.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        renamed?;
        if let Ok(folder) = File::open(&folder) {
            // Not every system can; the file is whole either way.
            let _ = folder.sync_all();
        }
        Ok(made)
    }

    /// Where the text really stands: a link is followed, and stays.
    fn place(&self) -> Result<PathBuf, Fault> {
        match fs::canonicalize(self.file) {
            Ok(place) => Ok(place),
            Err(_) if self.file.is_symlink() => {
                Err(Fault::of(self.file, "is a link that leads nowhere"))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(self.file.to_owned()),
            Err(error) => Err(Fault::of(self.file, format!("cannot be written: {error}"))),
        }
    }

    fn write(&self, fresh: &Path, text: &str, old: Option<&fs::Metadata>) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // Entries may hold secrets; those of a project are shared with it.
            options.mode(if self.private { 0o600 } else { 0o666 });
        }
        let mut opened = options.open(fresh)?;
        opened.write_all(text.as_bytes())?;
        if let Some(old) = old {
            #[cfg(unix)]
            {
                use std::os::unix::fs::{MetadataExt, fchown};
                let new = opened.metadata()?;
                if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                    fchown(&opened, Some(old.uid()), Some(old.gid()))?;
                }
            }
            opened.set_permissions(old.permissions())?;
        }
        opened.sync_all()
    }

    /// Nobody has written it since it was read.
    fn is_still(&self) -> Result<(), Fault> {
        if file::text(self.file)?.as_deref() == self.before {
            return Ok(());
        }
        Err(
            Fault::of(self.file, "was changed meanwhile, and is left as it is")
                .hint("say it again"),
        )
    }
}

/// Makes the folders that are missing, and gives them, the innermost first.
fn make_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|at| !at.as_os_str().is_empty() && !at.exists())
        .map(Path::to_owned)
        .collect();
    fs::create_dir_all(folder)?;
    Ok(missing)
}
