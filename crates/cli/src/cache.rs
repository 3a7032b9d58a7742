//! Small files in the user's cache folder, which only their user reads and writes. That one cannot be read or written is no failure of
//! anything; what somebody else may have put there is not read.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use polyport_rt::random;
use rustix::fs::OFlags;
use rustix::process::geteuid;

/// One of these files.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    folder: Option<PathBuf>,
    name: &'static str,
    /// Bytes that it may have.
    most: u64,
}

impl Kept {
    /// The file of that name, with at most so many bytes.
    pub(crate) fn at(name: &'static str, most: u64) -> Self {
        Self {
            folder: folder(),
            name,
            most,
        }
    }

    /// What is in it.
    ///
    /// # Errors
    /// It is not there, is too long, is no file, or others may have written it.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        let folder = self.folder.as_deref().ok_or(ErrorKind::NotFound)?;
        check_folder(folder)?;
        // A link would lead elsewhere, and a pipe would wait.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(folder.join(self.name))?;
        let about = file.metadata()?;
        let is_ours = about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0;
        if !about.is_file() || !is_ours || about.len() > self.most {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut text = Vec::new();
        file.take(self.most).read_to_end(&mut text)?;
        Ok(text)
    }

    /// Writes it whole or not at all: another of us may be reading it.
    ///
    /// # Errors
    /// It is too long, or the folder is not there, not ours, or cannot be written to.
    pub(crate) fn write(&self, text: &[u8]) -> io::Result<()> {
        if text.len() as u64 > self.most {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let folder = self.folder.as_deref().ok_or(ErrorKind::NotFound)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        check_folder(folder)?;
        let mut chance = [0; 8];
        random::fill(&mut chance).map_err(|_| ErrorKind::Other)?;
        let chance = u64::from_ne_bytes(chance);
        let beside = folder.join(format!("{}.{chance:016x}.tmp", self.name));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)
            .and_then(|mut file| file.write_all(text))
            .and_then(|()| fs::rename(&beside, folder.join(self.name)));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

/// A folder into which nobody else puts files.
fn check_folder(folder: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(folder)?;
    let is_ours = about.uid() == geteuid().as_raw() && about.mode() & 0o022 == 0;
    if about.is_dir() && is_ours {
        Ok(())
    } else {
        Err(ErrorKind::PermissionDenied.into())
    }
}

fn folder() -> Option<PathBuf> {
    let named = |name: &str| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then_some(folder)
    };
    let in_home = if cfg!(target_os = "macos") {
        "Library/Caches"
    } else {
        ".cache"
    };
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(in_home)))?;
    Some(cache.join("polyport"))
}

#[cfg(test)]
pub(crate) fn kept_in(folder: &Path, most: u64) -> Kept {
    Kept {
        folder: Some(folder.to_owned()),
        name: "kept.json",
        most,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    // req: D-42
    #[test]
    fn d_42_only_its_user_reads_it_and_only_what_is_his_is_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/polyport");
        let kept = kept_in(&folder, 8);
        let path = folder.join("kept.json");
        assert_eq!(kept.read().unwrap_err().kind(), ErrorKind::NotFound);
        kept.write(b"{\"a\":1}").unwrap();
        assert_eq!(kept.read().unwrap(), b"{\"a\":1}");
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        assert!(kept.write(b"{\"a\":100}").is_err());

        // What others may read or write, a link, a pipe and what is too long are not read, and writing replaces them.
        let elsewhere = place.path().join("elsewhere");
        let planted: [(&str, &dyn Fn()); 5] = [
            ("readable", &|| {
                fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            }),
            ("a link", &|| {
                fs::write(&elsewhere, "{}").unwrap();
                fs::set_permissions(&elsewhere, Permissions::from_mode(0o600)).unwrap();
                fs::remove_file(&path).unwrap();
                symlink(&elsewhere, &path).unwrap();
            }),
            ("a link to nothing", &|| {
                fs::remove_file(&path).unwrap();
                symlink(place.path().join("nothing"), &path).unwrap();
            }),
            ("a pipe", &|| {
                fs::remove_file(&path).unwrap();
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
            }),
            ("too long", &|| fs::write(&path, "[1,2,3,4,5]").unwrap()),
        ];
        for (name, plant) in planted {
            plant();
            assert!(kept.read().is_err(), "{name}");
            kept.write(b"{}").unwrap();
            assert_eq!(kept.read().unwrap(), b"{}", "{name}");
            assert_eq!(mode(&path), 0o600, "{name}");
        }
        assert_eq!(fs::read(&elsewhere).unwrap(), b"{}");
        assert!(!place.path().join("nothing").exists());

        // Nor is anything read in a folder to which others write, or put there.
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        assert!(kept.read().is_err() && kept.write(b"{}").is_err());
        let linked = place.path().join("linked");
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        symlink(&folder, &linked).unwrap();
        assert!(kept_in(&linked, 8).read().is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left");
    }
}
