//! What `.gitignore` files leave out, read through the confined folders only: nothing outside them has a say.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    rc::Rc,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::place::Place;

/// Larger files of rules are not read: compiling them would cost more than the walk.
const LARGEST: u64 = 64 * 1024;

/// Rules read from one file; the rest is left.
const MOST: usize = 2_000;

/// The rules in force in one directory: its own before those above it.
#[derive(Clone, Default)]
pub(crate) struct Ignores(Option<Rc<Layer>>);

struct Layer {
    directory: PathBuf,
    rules: Gitignore,
    above: Ignores,
}

impl Ignores {
    /// Those of all directories above `place` in its folder. That one of them ignores `place` itself does not count:
    /// whoever names a directory wants it.
    pub(crate) fn above(place: &Place<'_>) -> Self {
        let mut ignores = Self::default();
        let mut above: Vec<_> = place.below().ancestors().skip(1).collect();
        above.reverse();
        for directory in above {
            ignores = ignores.enter(&place.at(directory));
        }
        ignores
    }

    /// Those in force inside `place`.
    #[must_use]
    pub(crate) fn enter(&self, place: &Place<'_>) -> Self {
        match read(place) {
            Some(rules) => {
                let layer = Layer {
                    directory: place.below().to_owned(),
                    rules,
                    above: self.clone(),
                };
                Self(Some(Rc::new(layer)))
            }
            None => self.clone(),
        }
    }

    /// `below` is a path in the same folder.
    pub(crate) fn exclude(&self, below: &Path, is_directory: bool) -> bool {
        let mut ignores = self;
        while let Some(layer) = &ignores.0 {
            if let Ok(path) = below.strip_prefix(&layer.directory) {
                match layer.rules.matched(path, is_directory) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            ignores = &layer.above;
        }
        false
    }
}

/// The rules in this directory, if it has a file of them that is readable text. As with git, a bad rule is no error.
fn read(place: &Place<'_>) -> Option<Gitignore> {
    let (file, metadata) = place.join(".gitignore".as_ref()).open_file().ok()?;
    if metadata.len() > LARGEST {
        return None;
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(".");
    for rule in text.trim_start_matches('\u{feff}').lines().take(MOST) {
        let _ = builder.add_line(None, rule);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
