//! Where the repository is and what lies in it. Reads files, judges nothing.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are never the project's own text.
const FOREIGN: &[&str] = &[".git", ".peers", "node_modules", "target", "__pycache__"];

/// The repository's root: xtask's own folder is one below it.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("xtask is a folder of the repository")
        .to_path_buf()
}

/// A path of the repository in the form its own files use: relative to the root, `/` between parts.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

/// Every file below `folder`, sorted, without build output and installed packages.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                let name = entry.file_name();
                if !FOREIGN.iter().any(|foreign| name == *foreign) {
                    open.push(entry.path());
                }
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Copies `from` to `to` when the content differs; says whether it did.
pub(crate) fn copy_if_changed(from: &Path, to: &Path) -> Result<bool, String> {
    let new = fs::read(from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
    if fs::read(to).is_ok_and(|old| old == new) {
        return Ok(false);
    }
    write(to, &new)?;
    Ok(true)
}

/// Writes a file and the folders above it.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    fs::write(path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
