//! The working folders: opened once, named, and the only way to the disk. Not what a path text means in them.

use std::{
    collections::HashSet,
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use cap_std::{ambient_authority, fs::Dir};
use polyport::roots::Allowed;

use super::{
    FilesError, FolderError, Limits,
    lexical::{self, Lexical, Rules},
    names,
    turns::Turns,
    uri,
};

/// Folders that the sentence about the working folders names one by one.
const NAMED: usize = 20;

/// A folder to be opened.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FolderSpec {
    /// The name that stands first in paths when there are several folders; the last part of the path if not given.
    pub name: Option<String>,
    /// Where it is.
    pub path: PathBuf,
}

impl<P: Into<PathBuf>> From<P> for FolderSpec {
    fn from(path: P) -> Self {
        Self {
            name: None,
            path: path.into(),
        }
    }
}

/// One working folder. The open handle is the confinement: what it cannot reach, nobody can.
#[derive(Debug)]
pub struct Folder {
    name: String,
    path: PathBuf,
    /// The components by which an absolute path is known to lie inside: of the canonical path, and of the one given.
    prefixes: Vec<Vec<Vec<u8>>>,
    dir: Dir,
    /// The served folder in which it is, where roots of a client narrow that.
    top: Option<Top>,
    /// That another one is at its path was said.
    is_warned: AtomicBool,
}

/// A served folder above what is left of it.
#[derive(Debug)]
struct Top {
    path: PathBuf,
    dir: Dir,
    below: PathBuf,
}

impl Folder {
    /// The name, unique among the folders.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The canonical absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The served folder that it is or in which it is: its path, and the way down from it.
    pub(crate) fn top(&self) -> (&Path, &Dir, &Path) {
        match &self.top {
            Some(top) => (&top.path, &top.dir, &top.below),
            None => (&self.path, &self.dir, Path::new("")),
        }
    }

    /// Whether it was removed from the disk. (One that was only moved goes on where it is now, and the log says so.)
    pub(crate) fn is_gone(&self) -> bool {
        let is_elsewhere = self.is_elsewhere();
        // Some disks count no names at all, so that its path has a say too.
        let is_gone = is_elsewhere && self.has_no_name();
        let is_moved = is_elsewhere && !is_gone;
        if self.is_warned.swap(is_moved, Ordering::Relaxed) != is_moved && is_moved {
            tracing::warn!(
                path = %self.path.display(),
                "a served folder was moved: what is served is still that one, wherever it is now, and not what is at its path; start \
                 anew to serve that"
            );
        }
        is_gone
    }

    /// Whether something else, or nothing, is at its path.
    fn is_elsewhere(&self) -> bool {
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            use std::os::unix::fs::MetadataExt as _;
            let own = self.dir.dir_metadata();
            own.is_ok_and(|own| {
                !std::fs::metadata(&self.path)
                    .is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino()))
            })
        }
        #[cfg(not(unix))]
        {
            false
        }
    }

    fn has_no_name(&self) -> bool {
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            self.dir.dir_metadata().is_ok_and(|own| own.nlink() == 0)
        }
        #[cfg(not(unix))]
        {
            false
        }
    }

    fn open(spec: &FolderSpec, taken: &HashSet<String>) -> Result<Self, FolderError> {
        let refuse = |source| FolderError::from_io(spec.path.clone(), source);
        let path = std::fs::canonicalize(&spec.path).map_err(refuse)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(refuse)?;
        // A handle may be had without the right to list, and then the first call would fail instead of the start.
        dir.entries().map_err(refuse)?;
        let name = match &spec.name {
            Some(name) => name.clone(),
            None => free_name(&path, taken),
        };
        if !is_name(&name) {
            return Err(FolderError::BadName { name });
        }
        if taken.contains(&name) {
            return Err(FolderError::Duplicate { name });
        }
        let given = std::path::absolute(&spec.path).unwrap_or_else(|_| path.clone());
        let mut prefixes: Vec<_> = [&path, &given]
            .into_iter()
            .filter_map(|path| components(path))
            .collect();
        prefixes.dedup();
        Ok(Self {
            name,
            path,
            prefixes,
            dir,
            top: None,
            is_warned: AtomicBool::new(false),
        })
    }

    /// The directory `below` it as a folder.
    fn narrowed(&self, below: &Path, taken: &HashSet<String>) -> io::Result<Self> {
        let path = self.path.join(below);
        let (name, dir) = if below.as_os_str().is_empty() {
            (self.name.clone(), self.dir.try_clone()?)
        } else if names::has_ours(below) {
            return Err(io::ErrorKind::NotFound.into());
        } else {
            (free_name(&path, taken), self.dir.open_dir(below)?)
        };
        let mut prefixes = self.prefixes.clone();
        let parts = below.iter().map(|part| part.as_encoded_bytes().to_vec());
        let parts: Vec<_> = parts.collect();
        prefixes
            .iter_mut()
            .for_each(|prefix| prefix.extend(parts.iter().cloned()));
        let top = Top {
            path: self.path.clone(),
            dir: self.dir.try_clone()?,
            below: below.to_owned(),
        };
        Ok(Self {
            name,
            path,
            prefixes,
            dir,
            top: Some(top),
            is_warned: AtomicBool::new(false),
        })
    }

    /// What is left of an absolute path below this folder, and how many components lie above.
    pub(crate) fn below<'a>(&self, parts: &'a [Vec<u8>]) -> Option<(usize, &'a [Vec<u8>])> {
        self.prefixes
            .iter()
            .filter(|prefix| {
                prefix.len() <= parts.len()
                    && prefix
                        .iter()
                        .zip(parts)
                        .all(|(a, b)| Rules::HERE.same(a, b))
            })
            .map(|prefix| (prefix.len(), &parts[prefix.len()..]))
            .max_by_key(|(depth, _)| *depth)
    }
}

/// Any number of working folders; with none, nothing can be reached.
pub struct Folders {
    folders: Vec<Folder>,
    limits: Limits,
    turns: Arc<Turns>,
    /// The paths of what is served, where roots of a client narrow that.
    served: Option<String>,
}

impl Folders {
    /// Opens the folders, in this order. Names that were not given are made unique; given ones must be.
    pub fn open<S: Into<FolderSpec>>(
        specs: impl IntoIterator<Item = S>,
    ) -> Result<Self, FolderError> {
        let mut folders: Vec<Folder> = Vec::new();
        let mut taken = HashSet::new();
        for spec in specs {
            let folder = Folder::open(&spec.into(), &taken)?;
            taken.insert(folder.name.clone());
            folders.push(folder);
        }
        Ok(Self {
            folders,
            limits: Limits::default(),
            turns: Arc::default(),
            served: None,
        })
    }

    /// The same folders under other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What lies at these places of the folders, as folders of their own, opened through theirs: their names and what is not shown stay
    /// as they are. None: these are all of them.
    pub(crate) fn narrowed(&self, allowed: &[Allowed]) -> Option<Self> {
        let is_all = allowed.len() == self.folders.len()
            && allowed
                .iter()
                .all(|allowed| allowed.below.as_os_str().is_empty());
        if is_all {
            return None;
        }
        let mut folders: Vec<Folder> = Vec::new();
        let mut taken = HashSet::new();
        for Allowed { ceiling, below } in allowed {
            // One that is gone by now leaves nothing.
            let folder = self
                .folders
                .get(*ceiling)
                .and_then(|folder| folder.narrowed(below, &taken).ok());
            if let Some(folder) = folder {
                taken.insert(folder.name.clone());
                folders.push(folder);
            }
        }
        let paths = self.folders.iter().take(NAMED);
        let paths: Vec<_> = paths
            .map(|folder| folder.path.display().to_string())
            .collect();
        Some(Self {
            folders,
            limits: self.limits.clone(),
            turns: self.turns.clone(),
            served: Some(paths.join(", ")),
        })
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Who changes what at the moment.
    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The folders in the order they were given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Folder> {
        self.folders.iter()
    }

    /// Whether paths start with the name of a folder.
    pub(crate) fn are_several(&self) -> bool {
        self.folders.len() > 1
    }

    pub(crate) fn folder(&self, index: usize) -> &Folder {
        &self.folders[index]
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.folders.iter().position(|folder| folder.name == name)
    }

    /// The one answer for what is not there and for what is not allowed.
    pub(crate) fn missing(&self, path: &str) -> FilesError {
        if self.folders.is_empty() {
            return match &self.served {
                Some(served) if !served.is_empty() => FilesError::NoRoots {
                    served: served.clone(),
                },
                _ => FilesError::NoFolders,
            };
        }
        FilesError::Missing {
            path: path.into(),
            folders: self.sentence(),
        }
    }

    /// Whether a `file:` URI names something in one of the folders, by its text alone.
    pub(crate) fn covers(&self, uri: &str) -> bool {
        let bytes = uri::to_bytes(uri).ok();
        match bytes.and_then(|bytes| lexical::parse(&bytes, Rules::HERE).ok()) {
            Some(Lexical::Absolute(parts)) => self
                .folders
                .iter()
                .any(|folder| folder.below(&parts).is_some()),
            _ => false,
        }
    }

    /// Which folders there are and how paths are written.
    pub(crate) fn sentence(&self) -> String {
        if let [only] = self.folders.as_slice() {
            return format!(
                "The working folder is {}; give paths relative to it.",
                only.path.display()
            );
        }
        let mut names: Vec<_> = (self.folders.iter().take(NAMED))
            .map(|folder| format!("{} ({})", folder.name, folder.path.display()))
            .collect();
        if self.folders.len() > NAMED {
            names.push(format!("{} more", self.folders.len() - NAMED));
        }
        format!(
            "The working folders are {}; start paths with one of these names.",
            names.join(", ")
        )
    }
}

impl fmt::Debug for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(
                self.folders
                    .iter()
                    .map(|folder| (&folder.name, &folder.path)),
            )
            .finish()
    }
}

fn components(path: &Path) -> Option<Vec<Vec<u8>>> {
    match lexical::parse(path.as_os_str().as_encoded_bytes(), Rules::HERE) {
        Ok(Lexical::Absolute(parts)) => Some(parts),
        _ => None,
    }
}

/// The last part of the path, made fit to be a name, with a number when another folder has it.
fn free_name(path: &Path, taken: &HashSet<String>) -> String {
    let last = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let fit: String = (last.chars().take(60))
        .map(|character| {
            if is_name(&format!("a{character}")) {
                character
            } else {
                '_'
            }
        })
        .collect();
    let base = if is_name(&fit) { fit } else { "root".into() };
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    std::iter::once(base.clone())
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .unwrap_or(base)
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.chars().count())
        && name.trim() == name
        && !matches!(name, "." | "..")
        && name.chars().all(|character| {
            super::show::is_visible(character) && !"/\\:\u{fffd}".contains(character)
        })
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_moved_is_served_where_it_is_and_known_to_be_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let (here, there) = (dir.path().join("here"), dir.path().join("there"));
        std::fs::create_dir(&here).unwrap();
        let folders = Folders::open([&here]).unwrap();
        let folder = folders.folder(0);
        let state = || (folder.is_gone(), folder.is_warned.load(Ordering::Relaxed));
        assert_eq!(state(), (false, false));
        std::fs::rename(&here, &there).unwrap();
        assert_eq!(state(), (false, true), "nothing is at its path");
        std::fs::create_dir(&here).unwrap();
        std::fs::write(there.join("a.txt"), "old").unwrap();
        assert_eq!(state(), (false, true), "another one is at its path");
        assert_eq!(folder.dir().read_to_string("a.txt").unwrap(), "old");
        std::fs::remove_dir(&here).unwrap();
        std::fs::rename(&there, &here).unwrap();
        assert_eq!(state(), (false, false), "it is back");
        std::fs::remove_dir_all(&here).unwrap();
        assert_eq!(state(), (true, false), "it is gone");
        std::fs::create_dir(&here).unwrap();
        assert!(folder.is_gone(), "a new one at its path is another one");
    }
}
