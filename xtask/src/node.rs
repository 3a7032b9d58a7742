//! Packages from npm, exactly as a committed lock file says, and a Node that is new enough to run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{run, tree};

/// The official suite and the Inspector do not load in an older one.
const WANTED: u32 = 22;

/// A whole install over a slow line.
const INSTALL: Duration = Duration::from_secs(600);

/// Why something from npm is not to be had.
#[derive(Debug)]
pub(crate) enum Lack {
    /// This machine has no npm.
    Missing(String),
    /// It has, and it failed.
    Failed(String),
}

/// Where everything that is installed for tests lies; ignored by git, kept by `cargo clean`.
pub(crate) fn home(root: &Path) -> PathBuf {
    root.join(".peers")
}

/// A Node of at least version 22: the one on the path, or one that npm brings (the peers share it).
pub(crate) fn ensure(root: &Path) -> Result<PathBuf, Lack> {
    let to = home(root).join("node22");
    let package = format!("node-linux-{}", architecture());
    let node = to.join("node_modules").join(package).join("bin/node");
    let there = [PathBuf::from("node"), node.clone()];
    if let Some(found) = there.into_iter().find(|node| is_new_enough(node)) {
        return Ok(found);
    }
    let log = root.join("target/ci/node-install.log");
    install(&root.join("peers/node22"), &to, &log)?;
    if is_new_enough(&node) {
        return Ok(node);
    }
    let node = node.display();
    Err(Lack::Missing(format!(
        "needs Node {WANTED} or newer; the one here is older, and {node} does not run"
    )))
}

/// `npm ci` of the folder `from` (package.json and its lock) into `to`, once per lock. Scripts of packages do not run. Another
/// of our commands that installs at the same time is waited for.
pub(crate) fn install(from: &Path, to: &Path, log: &Path) -> Result<(), Lack> {
    let _one_at_a_time = lock(to).map_err(Lack::Failed)?;
    let copy =
        |name: &str| tree::copy_if_changed(&from.join(name), &to.join(name)).map_err(Lack::Failed);
    let is_new = copy("package.json")? | copy("package-lock.json")?;
    let done = to.join("complete");
    if !is_new && done.is_file() {
        return Ok(());
    }
    let _ = fs::remove_file(&done);
    if run::version("npm", "--version").is_none() {
        return Err(Lack::Missing("npm is not here".to_owned()));
    }
    let mut command = run::command("npm", to);
    command.args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    let finished = run::logged(&mut command, log, INSTALL).map_err(Lack::Failed)?;
    if !finished.ok {
        return Err(Lack::Failed(finished.complaint("npm ci")));
    }
    tree::write(&done, b"").map_err(Lack::Failed)
}

/// Held until the file is dropped.
fn lock(to: &Path) -> Result<fs::File, String> {
    let path = to.with_extension("lock");
    tree::write(&path, b"")?;
    let file = fs::File::open(&path).and_then(|file| file.lock().map(|()| file));
    file.map_err(|error| format!("cannot lock {}: {error}", path.display()))
}

fn is_new_enough(node: &Path) -> bool {
    let version = run::version(node, "--version");
    let major = version.as_deref().and_then(|version| {
        let version = version.strip_prefix('v')?;
        version.split('.').next()?.parse::<u32>().ok()
    });
    major.is_some_and(|major| major >= WANTED)
}

/// As npm names it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    }
}
