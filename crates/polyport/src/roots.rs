//! What the roots that a client names leave of the folders that a server was given: less, or the same, never more. Asks no client;
//! opens nothing.
//!
//! ```
//! use polyport::{model::Root, roots};
//!
//! # let base = std::env::temp_dir().join(format!("polyport-roots-{}", std::process::id()));
//! # std::fs::create_dir_all(base.join("notes/work")).unwrap();
//! # let notes = base.join("notes");
//! # let uri = |path: std::path::PathBuf| format!("file://{}", path.display());
//! // The operator served `notes`; the client says that it works in `notes/work`, and in a folder of its own.
//! let named = [uri(notes.join("work")), uri(base.join("elsewhere"))].map(Root::new);
//! let narrowed = roots::narrow(&[&notes], &named);
//! assert_eq!(narrowed.allowed[0].below.to_str(), Some("work"));
//! assert_eq!(narrowed.left_out.len(), 1);
//! # std::fs::remove_dir_all(&base).unwrap();
//! ```

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use polyport_model::Root;

use crate::percent::{Octet, octets};

/// What is left.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Narrowed {
    /// Where the client may go, in the order of the ceiling; none of them lies in another. Empty means nowhere.
    pub allowed: Vec<Allowed>,
    /// Roots that leave nothing, for the log and for the words of a refusal.
    pub left_out: Vec<LeftOut>,
}

/// A folder that is left.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Allowed {
    /// Which folder of the ceiling it is or lies in.
    pub ceiling: usize,
    /// Its path from there, without links; empty for that folder itself. Open it through the handle of that folder: a path that
    /// is looked up from the root of the system may lead elsewhere by then.
    pub below: PathBuf,
}

/// A root that leaves nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeftOut {
    /// As the client named it.
    pub uri: String,
    /// Why.
    pub why: Why,
}

/// Why a root leaves nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// It is no `file://` URI of this machine: as if it had not been named.
    NotAFile,
    /// Nothing is there, or it cannot be looked at.
    NotThere,
    /// It neither lies in the ceiling nor holds a part of it.
    Outside,
}

/// What `roots` leave of the folders in `ceiling`, on this machine's disk.
///
/// A root inside a folder of the ceiling leaves itself, one that holds such a folder leaves that folder, any other leaves
/// nothing. With no root that is a `file://` URI, the ceiling stays as it is: so hand over an empty list where the client has no
/// roots capability, answers with an error, or does not answer in time.
pub fn narrow<P: AsRef<Path>>(ceiling: &[P], roots: &[Root]) -> Narrowed {
    let ceiling: Vec<_> = ceiling.iter().map(AsRef::as_ref).collect();
    narrow_by(&ceiling, roots, &|path| std::fs::canonicalize(path))
}

/// The same, where `resolve` gives the path without links of what is there. Pure but for it.
pub fn narrow_by(
    ceiling: &[&Path],
    roots: &[Root],
    resolve: &dyn Fn(&Path) -> io::Result<PathBuf>,
) -> Narrowed {
    let mut narrowed = Narrowed::default();
    let mut named = Vec::new();
    for root in roots {
        match path_of(&root.uri) {
            Some(path) => named.push((root, resolve(&path))),
            None => narrowed.leave_out(root, Why::NotAFile),
        }
    }
    let whole = |ceiling| Allowed {
        ceiling,
        below: PathBuf::new(),
    };
    if named.is_empty() {
        narrowed.allowed = (0..ceiling.len()).map(whole).collect();
        return narrowed;
    }
    // A folder that is gone has nothing in it to be left.
    let folders = ceiling.iter().map(|folder| resolve(folder));
    let folders: Vec<_> = folders.map(Result::ok).collect();
    let mut left: Vec<(PathBuf, Allowed)> = Vec::new();
    for (root, path) in named {
        let Ok(path) = path else {
            narrowed.leave_out(root, Why::NotThere);
            continue;
        };
        let before = left.len();
        for (index, folder) in folders.iter().enumerate() {
            let Some(folder) = folder else {
                continue;
            };
            if let Ok(below) = path.strip_prefix(folder) {
                let below = below.to_owned();
                left.push((
                    path.clone(),
                    Allowed {
                        ceiling: index,
                        below,
                    },
                ));
            } else if folder.starts_with(&path) {
                left.push((folder.clone(), whole(index)));
            }
        }
        if left.len() == before {
            narrowed.leave_out(root, Why::Outside);
        }
    }
    narrowed.allowed = outermost(left);
    narrowed
}

/// In the order of the ceiling, without what lies in another. (One folder named twice has two names, and keeps both.)
fn outermost(mut left: Vec<(PathBuf, Allowed)>) -> Vec<Allowed> {
    left.sort_by(|(_, a), (_, b)| (a.ceiling, &a.below).cmp(&(b.ceiling, &b.below)));
    left.dedup();
    let is_inner = |(path, allowed): &(PathBuf, Allowed)| {
        let holds = |(other, of): &(PathBuf, Allowed)| {
            of.ceiling == allowed.ceiling && path != other && path.starts_with(other)
        };
        left.iter().any(holds)
    };
    let outer: Vec<_> = left.iter().map(|one| !is_inner(one)).collect();
    let kept = left
        .into_iter()
        .zip(outer)
        .filter(|(_, is_outer)| *is_outer);
    kept.map(|((_, allowed), _)| allowed).collect()
}

impl Narrowed {
    fn leave_out(&mut self, root: &Root, why: Why) {
        self.left_out.push(LeftOut {
            uri: root.uri.clone(),
            why,
        });
    }
}

/// The absolute path that a `file://` URI of this machine names, decoded once; `.` and `..` are still in it. Nothing where it names
/// another host, has a query or fragment, or hides a separator or NUL in an encoding.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let scheme = uri.get(..7)?;
    if !scheme.eq_ignore_ascii_case("file://") || uri.contains(['?', '#']) {
        return None;
    }
    let (host, path) = uri[7..].split_at(uri[7..].find('/')?);
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return None;
    }
    let octet = |octet| match octet {
        Octet::Plain(byte) => Some(byte),
        Octet::Escaped(b'/') => None,
        Octet::Escaped(b'\\') if cfg!(windows) => None,
        Octet::Escaped(byte) => Some(byte),
        Octet::Broken => None,
    };
    let bytes: Vec<u8> = octets(path).map(octet).collect::<Option<_>>()?;
    (!bytes.contains(&0)).then_some(())?;
    Some(PathBuf::from(os_text(bytes)?))
}

fn os_text(bytes: Vec<u8>) -> Option<OsString> {
    #[cfg(unix)]
    {
        Some(std::os::unix::ffi::OsStringExt::from_vec(bytes))
    }
    #[cfg(not(unix))]
    {
        // `file:///C:/x` is `C:/x`.
        let text = String::from_utf8(bytes).ok()?;
        let has_drive =
            matches!(text.as_bytes(), [b'/', letter, b':', ..] if letter.is_ascii_alphabetic());
        Some(text[usize::from(has_drive)..].into())
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Links, and what is not there.
    fn resolve(path: &Path) -> io::Result<PathBuf> {
        let mut real = PathBuf::from("/");
        for part in path.components().skip(1) {
            match part.as_os_str().to_str().unwrap() {
                ".." => _ = real.pop(),
                "none" => return Err(io::ErrorKind::NotFound.into()),
                "to-etc" => real = "/etc".into(),
                "to-notes" => real = "/data/notes".into(),
                name => real.push(name),
            }
        }
        Ok(real)
    }

    fn narrowed(ceiling: &[&str], roots: &[&str]) -> Narrowed {
        let ceiling: Vec<_> = ceiling.iter().map(Path::new).collect();
        let roots: Vec<_> = roots.iter().map(|uri| Root::new(*uri)).collect();
        narrow_by(&ceiling, &roots, &resolve)
    }

    /// What is left, as the number of the folder and the path from there.
    fn shown(narrowed: &Narrowed) -> Vec<String> {
        let show = |allowed: &Allowed| format!("{}:{}", allowed.ceiling, allowed.below.display());
        narrowed.allowed.iter().map(show).collect()
    }

    // req: D-16
    #[test]
    fn d_16_roots_only_narrow() {
        let (notes, docs) = ("/data/notes", "/data/docs");
        for (ceiling, roots, want) in [
            (&[notes, docs][..], &[][..], &["0:", "1:"][..]),
            (&[notes], &["file:///data/notes"], &["0:"]),
            (&[notes], &["file:///data/notes/work"], &["0:work"]),
            (&[notes], &["file:///data/notes/work/.."], &["0:"]),
            (&[notes], &["file:///data"], &["0:"]),
            (&[notes], &["file:///"], &["0:"]),
            (&[notes, docs], &["file:///data"], &["0:", "1:"]),
            (
                &[notes, docs],
                &["file:///data/docs/a", "file:///data/notes"],
                &["0:", "1:a"],
            ),
            (
                &[notes],
                &["file:///data/notes/b", "file:///data/notes/a"],
                &["0:a", "0:b"],
            ),
            (
                &[notes],
                &["file:///data/notes/a/b", "file:///data/notes/a"],
                &["0:a"],
            ),
            (&[notes], &["file:///data/notes2"], &[]),
            (&[notes], &["file:///data/note"], &[]),
            (&[notes], &["file:///data/notes/../docs"], &[]),
            (&[notes], &["file:///data/notes/%2e%2e/docs"], &[]),
            (&[notes], &["file:///etc"], &[]),
            (&[notes], &["file:///data/notes/to-etc"], &[]),
            (&[notes], &["file:///home/to-notes/a"], &["0:a"]),
            (&["/home/to-notes"], &["file:///data/notes/a"], &["0:a"]),
            (&[notes], &["file:///none"], &[]),
            (
                &[notes],
                &["file:///none", "file:///data/notes/a"],
                &["0:a"],
            ),
            (&[notes, "/none"], &["file:///"], &["0:"]),
            (&[notes, "/none"], &[], &["0:", "1:"]),
            (&[notes], &["https://x/data/notes"], &["0:"]),
            (&[notes], &["https://x", "file:///data/notes/a"], &["0:a"]),
            (
                &[notes, "/data/notes/in"],
                &["file:///data/notes/in/x"],
                &["0:in/x", "1:x"],
            ),
            (&[notes, notes], &["file:///data/notes/a"], &["0:a", "1:a"]),
            (&[], &["file:///data/notes"], &[]),
            (&[], &[], &[]),
        ] {
            let narrowed = narrowed(ceiling, roots);
            assert_eq!(shown(&narrowed), want, "{ceiling:?} {roots:?}");
        }
    }

    #[test]
    fn d_16_what_leaves_nothing_is_told_with_its_reason() {
        let narrowed = narrowed(
            &["/data/notes"],
            &[
                "https://x",
                "file:///none",
                "file:///etc",
                "file:///data/notes",
            ],
        );
        let whys: Vec<_> = narrowed
            .left_out
            .iter()
            .map(|out| (out.uri.as_str(), out.why))
            .collect();
        assert_eq!(
            whys,
            [
                ("https://x", Why::NotAFile),
                ("file:///none", Why::NotThere),
                ("file:///etc", Why::Outside)
            ]
        );
    }

    #[test]
    fn v_510_only_uris_of_this_machine_are_paths() {
        for (uri, want) in [
            ("file:///a/b", Some("/a/b")),
            ("FILE:///a", Some("/a")),
            ("file://localhost/a", Some("/a")),
            ("file:///caf%C3%A9%20x", Some("/café x")),
            ("file:///a%252e", Some("/a%2e")),
            ("file:///", Some("/")),
            ("file://host/a", None),
            ("file:/a", None),
            ("file://", None),
            ("file:", None),
            ("", None),
            ("é", None),
            ("/a", None),
            ("https://x/a", None),
            ("file:///a?b", None),
            ("file:///a#b", None),
            ("file:///a%2Fb", None),
            ("file:///a%2fb", None),
            ("file:///a%00", None),
            ("file:///a\0", None),
            ("file:///a%", None),
            ("file:///a%4", None),
            ("file:///a%zz", None),
            ("file:///a%+1", None),
        ] {
            assert_eq!(path_of(uri).as_deref(), want.map(Path::new), "{uri:?}");
        }
    }

    fn folder() -> impl Strategy<Value = String> {
        let name = proptest::sample::select(vec!["a", "b", "to-etc", "none", ".."]);
        proptest::collection::vec(name, 0..4).prop_map(|names| format!("/{}", names.join("/")))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever is named: what is left lies in the ceiling, and in a root where there is one.
        #[test]
        fn d_16_never_more(ceiling in proptest::collection::vec(folder(), 0..4), roots in proptest::collection::vec(folder(), 0..4)) {
            let ceiling: Vec<_> = ceiling.iter().map(String::as_str).collect();
            let uris: Vec<_> = roots.iter().map(|root| format!("file://{root}")).collect();
            let uris: Vec<_> = uris.iter().map(String::as_str).collect();
            let narrowed = narrowed(&ceiling, &uris);
            for allowed in &narrowed.allowed {
                let folder = Path::new(ceiling[allowed.ceiling]);
                let is_plain = allowed.below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
                prop_assert!(is_plain);
                if roots.is_empty() {
                    continue;
                }
                let real = resolve(folder).unwrap().join(&allowed.below);
                let is_named = roots.iter().any(|root| resolve(Path::new(root)).is_ok_and(|root| real.starts_with(root)));
                prop_assert!(is_named, "{:?}", real);
            }
        }
    }
}
