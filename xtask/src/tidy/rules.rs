//! The form of `xtask/tidy.toml` and of the part of `deny.toml` that tidy holds. Owns no check.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// `xtask/tidy.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    pub(super) crates: BTreeMap<String, CrateRule>,
    pub(super) revisions: Revisions,
    pub(super) lines: Lines,
    pub(super) words: Words,
    pub(super) paths: Paths,
    pub(super) knobs: Knobs,
    pub(super) secrets: Secrets,
    pub(super) corpora: Corpora,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrateRule {
    pub(super) uses: Vec<String>,
    #[serde(default)]
    pub(super) dev: Vec<String>,
    pub(super) budget: Option<usize>,
    #[serde(default)]
    pub(super) lean: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revisions {
    pub(super) names: Vec<String>,
    pub(super) variant: String,
    pub(super) allowed: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lines {
    pub(super) warn: usize,
    pub(super) fail: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub(super) unfinished: Vec<String>,
    pub(super) hosts: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paths {
    pub(super) absolute: Vec<String>,
    pub(super) neighbour: String,
    pub(super) neighbour_allowed: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Knobs {
    pub(super) suffixes: Vec<String>,
    pub(super) crates: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Secrets {
    pub(super) suffixes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Corpora {
    pub(super) folder: String,
    pub(super) bytes: u64,
}

/// The part of `deny.toml` that tidy holds without cargo-deny being there.
#[derive(Debug, Deserialize)]
pub(super) struct Deny {
    pub(super) licenses: Licences,
    pub(super) bans: Bans,
}

#[derive(Debug, Deserialize)]
pub(super) struct Licences {
    pub(super) allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Bans {
    #[serde(default)]
    pub(super) skip: Vec<Skip>,
}

/// One version that may stand beside another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Skip {
    /// `name@version`.
    #[serde(rename = "crate")]
    pub(super) package: String,
    pub(super) reason: String,
}

impl Rules {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        toml_file(path)
    }
}

impl Deny {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        toml_file(path)
    }
}

/// Reads a TOML file into its form; the error names the file.
pub(super) fn toml_file<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    toml::from_str(&text).map_err(|error| format!("{name}: {error}"))
}
