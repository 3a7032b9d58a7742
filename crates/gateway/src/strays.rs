//! Rules for a server that name what it does not have: a slip of the keyboard hides nothing, and says nothing either.

use globset::Glob;
use polyport::schema::nearest;

use crate::seen::Seen;

/// A rule that names nothing of what its server offers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stray {
    /// Which rule: `rename`, `describe`, `allow` or `deny`.
    pub rule: &'static str,
    /// What it names.
    pub named: String,
    /// What of the server was perhaps meant.
    pub near: Option<String>,
}

impl Seen {
    /// The rules that name nothing of all that a server offers. A pattern of what is not to be seen may be for what comes later: of those,
    /// only names are held against it.
    pub fn strays(&self, offered: &[&str]) -> Vec<Stray> {
        let mut strays = Vec::new();
        let mut look = |rule, named: &str, is_there: bool| {
            if !is_there {
                let near = nearest(named, offered).map(str::to_owned);
                let named = named.to_owned();
                strays.push(Stray { rule, named, near });
            }
        };
        let has = |name: &str| offered.contains(&name);
        for (rule, names) in [("rename", self.renamed()), ("describe", self.redescribed())] {
            for name in names {
                look(rule, name, has(name));
            }
        }
        for pattern in self.allowed() {
            look("allow", pattern, fits(pattern, offered));
        }
        let names = self.denied().iter().filter(|pattern| is_name(pattern));
        for name in names {
            look("deny", name, has(name));
        }
        strays
    }
}

fn fits(pattern: &str, offered: &[&str]) -> bool {
    let glob = Glob::new(pattern).map(|glob| glob.compile_matcher());
    glob.is_ok_and(|glob| offered.iter().any(|name| glob.is_match(name)))
}

/// Is it without any sign of a pattern?
fn is_name(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', '{', '\\'])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: S-GATE-STRAYS
    #[test]
    fn a_rule_for_nothing_is_found_with_what_was_perhaps_meant() {
        let offered = ["read_file", "list_files"];
        for (seen, want) in [
            (Seen::all(), &[][..]),
            (
                Seen::all()
                    .rename("read_file", "cat")
                    .rename("raed_file", "x"),
                &[("rename", "raed_file", Some("read_file"))],
            ),
            (
                Seen::all().describe("colour", "x"),
                &[("describe", "colour", None)],
            ),
            (
                Seen::all()
                    .allow(["read_*", "lst_files", "write_*"])
                    .unwrap(),
                &[
                    ("allow", "lst_files", Some("list_files")),
                    ("allow", "write_*", None),
                ],
            ),
            // A pattern of what is not to be seen is for what may come.
            (
                Seen::all().deny(["*_secret", "list-files"]).unwrap(),
                &[("deny", "list-files", Some("list_files"))],
            ),
        ] {
            let strays = seen.strays(&offered);
            let strays: Vec<_> = strays
                .iter()
                .map(|stray| (stray.rule, &*stray.named, stray.near.as_deref()))
                .collect();
            assert_eq!(strays, want);
        }
    }
}
