//! The committed figures of time, `bench/latency.toml`: reading, writing, and which of new ones are worse. Measures nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Deserialize;

/// The whole file. Times are of one machine; ratios are what is compared.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Ratios {
    /// On what it was measured.
    pub with: BTreeMap<String, String>,
    /// Medians of a whole run of a program; with `-ours` behind its name, what of it is not the server's.
    pub milliseconds: BTreeMap<String, f64>,
    /// Processor time of a client for one call.
    pub microseconds: BTreeMap<String, f64>,
    /// Ours by those of the driver, or of a program that does nothing, of the same run.
    pub ratios: BTreeMap<String, f64>,
}

/// How much larger than the committed one a ratio may be: other machines, and what else they do.
pub const WORSE: f64 = 1.25;
/// What a client may cost for one call by what a driver of loads costs.
pub const MOST: f64 = 2.5;
/// Milliseconds that a call from the shell may take with the server that is built in.
pub const MOST_BUILT_IN: f64 = 10.0;
/// Milliseconds that a call from the shell may take beyond the time of its server.
pub const MOST_BEYOND: f64 = 15.0;

const HEAD: &str = "\
# What a call takes from the shell, and what a client costs by a driver of loads (bench/src/bin/driver.rs), both of one run:
# `cargo xtask latency`. Nothing of it is judged by the gate. Times are of the machine named here; ratios are compared.
# Whoever means a change runs `cargo xtask latency --write` on a quiet machine and says in the commit why.
";

impl Ratios {
    /// Where they are.
    pub fn file() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("latency.toml")
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// What does not fit, and where.
    pub fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut out = format!("{HEAD}\n[with]\n");
        for (name, value) in &self.with {
            let _ = writeln!(out, "{name} = {value:?}");
        }
        for (head, all) in [
            ("milliseconds", &self.milliseconds),
            ("microseconds", &self.microseconds),
            ("ratios", &self.ratios),
        ] {
            let _ = writeln!(out, "\n[{head}]");
            for (name, value) in all {
                let _ = writeln!(out, "{name} = {value:.2}");
            }
        }
        out
    }

    /// What is wrong with these: each ratio by the committed one, and what is beyond its bound. A sentence each.
    pub fn complaints(&self, committed: &Self) -> Vec<String> {
        let beyond = self.milliseconds.iter().filter_map(|(name, time)| {
            let most = match name.strip_suffix("-ours")? {
                "call-demo" => MOST_BUILT_IN,
                _ => MOST_BEYOND,
            };
            (*time > most).then(|| format!("{name}: {time:.2} ms, and {most} is the most"))
        });
        let worse = self.ratios.iter().filter_map(|(name, ratio)| {
            if name.starts_with("client-") && *ratio > MOST {
                return Some(format!("{name}: {ratio:.2}, and {MOST} is the most"));
            }
            match committed.ratios.get(name) {
                None => Some(format!(
                    "{name}: not committed: cargo xtask latency --write"
                )),
                Some(known) if *ratio > known * WORSE => {
                    Some(format!("{name}: worse than the committed {known:.2}"))
                }
                Some(_) => None,
            }
        });
        let gone = committed.ratios.keys().filter_map(|name| {
            let is_gone = !self.ratios.contains_key(name);
            is_gone.then(|| format!("{name}: committed, and no longer measured"))
        });
        beyond.chain(worse).chain(gone).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Ratios;

    fn ratios() -> Ratios {
        let map = |name: &str, value| [(name.to_owned(), value)].into();
        Ratios {
            with: [("machine".to_owned(), "a \"b\"".to_owned())].into(),
            milliseconds: map("demo", 7.25),
            microseconds: map("client-stdio-modern", 20.5),
            ratios: [("client-a".to_owned(), 2.2), ("call-b".to_owned(), 4.0)].into(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Ratios::read(&ratios().text()).unwrap(), ratios());
        assert!(Ratios::read("[with]").is_err());
    }

    #[test]
    fn the_committed_file_is_readable_and_holds_its_own_bounds() {
        let text = std::fs::read_to_string(Ratios::file()).unwrap();
        let committed = Ratios::read(&text).unwrap();
        assert!(committed.ratios.len() >= 10);
        assert_eq!(committed.complaints(&committed), Vec::<String>::new());
    }

    #[test]
    fn a_quarter_worse_or_beyond_a_bound_is_told() {
        let committed = ratios();
        for (name, found, complaints) in [
            ("client-a", 2.2, 0),
            ("client-a", 1.0, 0),
            ("client-a", 2.49, 0),
            ("client-a", 2.51, 1),
            ("call-b", 4.9, 0),
            ("call-b", 5.1, 1),
            ("call-c", 1.0, 1),
        ] {
            let mut ours = ratios();
            ours.ratios.insert(name.to_owned(), found);
            let told = ours.complaints(&committed);
            assert_eq!(told.len(), complaints, "{name} {found}: {told:?}");
        }
        for (name, found, complaints) in [
            ("call-demo-ours", 9.9, 0),
            ("call-demo-ours", 10.1, 1),
            ("call-b-ours", 14.9, 0),
            ("call-b-ours", 15.1, 1),
            ("call-b", 90.0, 0),
        ] {
            let mut ours = ratios();
            ours.milliseconds.insert(name.to_owned(), found);
            let told = ours.complaints(&committed);
            assert_eq!(told.len(), complaints, "{name} {found}: {told:?}");
        }
        let mut fewer = ratios();
        fewer.ratios.remove("call-b");
        assert_eq!(fewer.complaints(&committed).len(), 1);
    }
}
