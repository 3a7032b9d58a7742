//! What systems do differently when files are changed: renaming without replacing, links that are not followed, permissions.
//! Each takes an open directory and one name in it, so nothing here can leave a folder.

use std::{ffi::OsStr, io};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};

/// Moves an entry to a name that must be free. A directory goes with all that is in it; a link is moved, not followed.
pub(crate) fn rename_new(from: &Dir, name: &OsStr, to: &Dir, new: &OsStr) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::{
            fs::{RenameFlags, renameat_with},
            io::Errno,
        };
        match renameat_with(from, name, to, new, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            // Not every disk knows how.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    rename_new_in_steps(from, name, to, new)
}

/// The same where no single step does it: each step fails if the name is taken in the meantime.
fn rename_new_in_steps(from: &Dir, name: &OsStr, to: &Dir, new: &OsStr) -> io::Result<()> {
    if !from.symlink_metadata(name)?.is_dir() {
        from.hard_link(name, to, new)?;
        return from.remove_file(name);
    }
    if cfg!(windows) {
        return from.rename(name, to, new);
    }
    // A directory may only take the place of an empty one.
    to.create_dir(new)?;
    from.rename(name, to, new).inspect_err(|_| {
        let _ = to.remove_dir(new);
    })
}

/// Opens a directory in a directory, and nothing that a link leads to.
pub(crate) fn open_dir(parent: &Dir, name: &OsStr) -> io::Result<Dir> {
    #[cfg(unix)]
    {
        use rustix::fs::{Mode, OFlags, openat};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(parent, name, flags, Mode::empty())?;
        Ok(Dir::from_std_file(opened.into()))
    }
    #[cfg(not(unix))]
    {
        if parent.symlink_metadata(name)?.is_symlink() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        parent.open_dir(name)
    }
}

/// Options to open an ordinary file for reading: nothing waits for a pipe's writer, should one have been swapped in.
pub(crate) fn reading(follow: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        use rustix::fs::OFlags;
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        if !follow {
            flags |= OFlags::NOFOLLOW;
        }
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = follow;
    options
}

/// Options to make a new file: for everyone, as far as the account's mask lets it, or for its owner alone.
pub(crate) fn making(for_everyone: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        options.mode(if for_everyone { 0o666 } else { 0o600 });
    }
    #[cfg(not(unix))]
    let _ = for_everyone;
    options
}

/// Makes a directory that only its owner can look into.
pub(crate) fn make_own_dir(parent: &Dir, name: &OsStr) -> io::Result<()> {
    let mut options = cap_std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use cap_std::fs::DirBuilderExt as _;
        options.mode(0o700);
    }
    parent.create_dir_with(name, &options)
}

/// Whether the account may change the contents of an existing file. (A rename over it would not ask.)
pub(crate) fn may_write(parent: &Dir, name: &OsStr, metadata: &Metadata) -> bool {
    if metadata.permissions().readonly() {
        return false;
    }
    #[cfg(unix)]
    {
        use rustix::{
            fs::{Access, AtFlags, accessat},
            io::Errno,
        };
        let refused = accessat(parent, name, Access::WRITE_OK, AtFlags::EACCESS);
        !matches!(refused, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
    }
    #[cfg(not(unix))]
    {
        let _ = (parent, name);
        true
    }
}

/// Whether the account may change which entries a directory has.
pub(crate) fn may_change_entries(dir: &Dir) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, AtFlags, accessat};
        accessat(dir, ".", Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }
    #[cfg(not(unix))]
    {
        let _ = dir;
        true
    }
}

/// Gives a file the permissions of another, and if asked its owner where the account may do that.
pub(crate) fn liken(file: &File, other: &Metadata, owner_too: bool) -> io::Result<()> {
    #[cfg(unix)]
    {
        use cap_std::fs::{MetadataExt as _, PermissionsExt as _};
        use rustix::fs::{Gid, Uid, fchown};
        let own = file.metadata()?;
        if owner_too && (own.uid(), own.gid()) != (other.uid(), other.gid()) {
            let _ = fchown(
                file,
                Some(Uid::from_raw(other.uid())),
                Some(Gid::from_raw(other.gid())),
            );
        }
        let mode = other.permissions().mode() & 0o777;
        file.set_permissions(cap_std::fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = owner_too;
        file.set_permissions(other.permissions())
    }
}

/// Gives a file the time of its last change that another has, where that is possible.
pub(crate) fn date(file: &File, other: &Metadata) {
    let own = file.try_clone().map(File::into_std);
    if let (Ok(own), Ok(time)) = (own, other.modified()) {
        let _ = own.set_modified(time.into_std());
    }
}

/// Gives a directory the permissions of another.
pub(crate) fn liken_dir(parent: &Dir, name: &OsStr, other: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        let mode = other.permissions().mode() & 0o777;
        parent.set_permissions(name, cap_std::fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = (parent, name, other);
        Ok(())
    }
}

/// Lets the owner look into a directory and empty it.
pub(crate) fn unlock_dir(parent: &Dir, name: &OsStr) -> io::Result<()> {
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        parent.set_permissions(name, cap_std::fs::Permissions::from_mode(0o700))
    }
    #[cfg(not(unix))]
    {
        let _ = (parent, name);
        Ok(())
    }
}

/// What tells one state of a file from a later one.
pub(crate) fn state(metadata: &Metadata) -> (u64, u64, u64, Option<std::time::SystemTime>) {
    #[cfg(unix)]
    let (device, inode) = {
        use cap_std::fs::MetadataExt as _;
        (metadata.dev(), metadata.ino())
    };
    #[cfg(not(unix))]
    let (device, inode) = (0, 0);
    let modified = metadata.modified().ok().map(|time| time.into_std());
    (device, inode, metadata.len(), modified)
}

/// Other names that the same file has.
pub(crate) fn other_names(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        metadata.nlink().saturating_sub(1)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        0
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs, path::Path};

    use cap_std::ambient_authority;

    use super::*;

    type Rename = fn(&Dir, &OsStr, &Dir, &OsStr) -> io::Result<()>;

    fn fill(at: &Path) -> Dir {
        fs::create_dir_all(at.join("dir/inner")).unwrap();
        fs::create_dir(at.join("empty")).unwrap();
        fs::write(at.join("dir/inner/x"), "x").unwrap();
        fs::write(at.join("file"), "file").unwrap();
        fs::write(at.join("other"), "other").unwrap();
        std::os::unix::fs::symlink("file", at.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", at.join("dead")).unwrap();
        Dir::open_ambient_dir(at, ambient_authority()).unwrap()
    }

    #[test]
    fn both_ways_to_rename_take_free_names_only() {
        for rename in [rename_new as Rename, rename_new_in_steps] {
            let base = tempfile::tempdir().unwrap();
            let dir = fill(base.path());
            let free = |name: &str| base.path().join(name).symlink_metadata().is_err();
            for from in ["file", "dir", "link", "dead"] {
                for taken in ["other", "empty", "dead", "link", from] {
                    let refused = rename(&dir, from.as_ref(), &dir, taken.as_ref());
                    assert!(refused.is_err(), "{from} {taken}");
                }
                rename(&dir, from.as_ref(), &dir, "new".as_ref()).unwrap();
                assert!(free(from) && !free("new"), "{from}");
                rename(&dir, "new".as_ref(), &dir, from.as_ref()).unwrap();
            }
            assert!(rename(&dir, "none".as_ref(), &dir, "new".as_ref()).is_err());
            let inside = dir.open_dir("dir").unwrap();
            let refused = rename(&dir, "dir".as_ref(), &inside, "self".as_ref());
            assert!(refused.is_err() && free("dir/self"));
            assert_eq!(
                fs::read_to_string(base.path().join("other")).unwrap(),
                "other"
            );
            assert_eq!(
                fs::read_to_string(base.path().join("dir/inner/x")).unwrap(),
                "x"
            );
            assert!(base.path().join("empty").is_dir() && free("new"));
        }
    }

    #[test]
    fn v_901_directories_are_not_opened_through_links() {
        let base = tempfile::tempdir().unwrap();
        let dir = fill(base.path());
        std::os::unix::fs::symlink("dir", base.path().join("to-dir")).unwrap();
        assert!(open_dir(&dir, "dir".as_ref()).is_ok());
        for name in ["to-dir", "file", "link", "none"] {
            assert!(open_dir(&dir, name.as_ref()).is_err(), "{name}");
        }
    }
}
