//! A client in a process of its own: what it trusts, and which proxy it takes, stands in the environment.

use std::process::Stdio;

use polyport_http::client::{Target, open};
use polyport_proto::Revisions;
use tokio::process::Command;
use tokio::time::timeout;

use super::{LONG, facts, patience};

const URL: &str = "POLYPORT_TEST_URL";
const TOLD: &str = "told: ";

/// Are we that process? Then it asks its server, and tells how that went.
#[allow(clippy::print_stdout)] // So it tells.
pub(super) async fn is_here() -> bool {
    let Ok(url) = std::env::var(URL) else {
        return false;
    };
    println!("\n{TOLD}{}", ask(&url).await.replace('\n', " "));
    true
}

async fn ask(url: &str) -> String {
    let opening = open(
        Target::new(url).unwrap(),
        facts(),
        Revisions::ALL,
        patience(),
    );
    let caller = match timeout(LONG, opening).await.unwrap() {
        Ok((caller, _)) => caller,
        Err(error) => return format!("{error:?} {error}"),
    };
    // The second one shows that the connection is kept.
    for _ in 0..2 {
        let answer = timeout(LONG, caller.request("tools/list", "{}")).await;
        if let Err(error) = answer.unwrap() {
            return format!("{error:?} {error}");
        }
    }
    caller.close().await;
    "all is well".to_owned()
}

/// Runs the named test of this program again as that process, and gives back what it has told.
pub(super) async fn run(test: &str, url: &str, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env_clear()
        .env(URL, url)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let done = timeout(LONG * 2, command.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let told = text.lines().find_map(|line| line.strip_prefix(TOLD));
    let told = told.map(str::to_owned);
    told.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&done.stderr)))
}
