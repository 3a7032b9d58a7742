//! The way that a path goes on the disk: each link on it, and the file to which they lead. Where any of them changes, the file may be
//! another one.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::super::place::Place;

/// Links that are followed; systems follow about as many.
const LINKS: usize = 40;

/// The paths, as the system reports changes of them, of the links on the way to a place, and of what is at its end or would be there. A
/// way that leads out of the folder ends at the link that leads out.
pub(super) fn paths_of(place: &Place<'_>) -> Vec<PathBuf> {
    let folder = place.folder();
    let mut paths = Vec::new();
    let mut ahead: Vec<OsString> = names(place.below());
    let mut here = PathBuf::new();
    while let Some(name) = ahead.pop() {
        if name == ".." {
            if !here.pop() {
                return paths;
            }
            continue;
        }
        let next = here.join(&name);
        let is_link = |metadata: cap_std::fs::Metadata| metadata.is_symlink();
        if !folder.dir().symlink_metadata(&next).is_ok_and(is_link) {
            here = next;
            continue;
        }
        paths.push(folder.path().join(&next));
        let target = match folder.dir().read_link_contents(&next) {
            Ok(target) if target.is_relative() && paths.len() < LINKS => target,
            // It leads outside, or in circles.
            _ => return paths,
        };
        ahead.extend(names(&target));
    }
    if !here.as_os_str().is_empty() {
        paths.push(folder.path().join(here));
    }
    paths
}

/// The steps of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let steps = path.components().rev().filter_map(|step| match step {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    steps.collect()
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::super::{Folders, spot::Spot};
    use super::*;

    // req: BR-199
    #[test]
    fn br_199_every_link_on_the_way_is_on_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("v1/deep")).unwrap();
        std::fs::write(root.join("v1/cfg"), "").unwrap();
        for (link, to) in [
            ("data", "v1"),
            ("cfg", "data/cfg"),
            ("v1/deep/up", "../../cfg"),
            ("gone", "data/none/x"),
            ("out", "../out"),
            ("absolute", "/etc/hostname"),
            ("circle", "circle"),
        ] {
            std::os::unix::fs::symlink(to, root.join(link)).unwrap();
        }
        let folders = Folders::open([&root]).unwrap();
        for (path, want) in [
            ("v1/cfg", vec!["v1/cfg"]),
            ("data/cfg", vec!["data", "v1/cfg"]),
            ("cfg", vec!["cfg", "data", "v1/cfg"]),
            (
                "data/deep/up",
                vec!["data", "v1/deep/up", "cfg", "data", "v1/cfg"],
            ),
            ("gone", vec!["gone", "data", "v1/none/x"]),
            ("none/x", vec!["none/x"]),
            ("out", vec!["out"]),
            ("absolute", vec!["absolute"]),
        ] {
            let place = Spot::of_path(&folders, path).unwrap().place().unwrap();
            let want: Vec<_> = want.into_iter().map(|path| root.join(path)).collect();
            assert_eq!(paths_of(&place), want, "{path}");
        }
        let place = Spot::of_path(&folders, "circle").unwrap().place().unwrap();
        assert_eq!(paths_of(&place).len(), LINKS, "an end there is");
    }
}
