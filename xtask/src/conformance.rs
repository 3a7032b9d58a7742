//! `cargo xtask conformance`: the official suite, pinned, against `conformance-server`, the same behind `polyport serve`, and
//! `conformance-client`. Owns the verdict, not the scenarios.
//!
//! A scenario passes when it has no check with FAILURE or WARNING and its exit status is 0. What may fail stands in
//! `conformance/expected-failures.toml` and, through the gateway, in `conformance/gateway-exceptions.toml`, and these lists can only
//! shrink: a listed scenario that passes is a failure.

mod verdict;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::node::{self, Lack};
use crate::run::{self, Group};
use crate::tally::{Outcome, Tally};
use crate::tree;
use verdict::{Verdict, read_checks, verdict};

/// The revisions that the suite has server scenarios for and that begin with Streamable HTTP.
const REVISIONS: &[&str] = &["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Those in which the server is tried behind the gateway, too: the newest of each era. `docs/revisions-gateway.md` has the others.
const THROUGH: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The scenarios of an extension, by the beginning of their names, and the revision in which they are run.
const EXTENSION: (&str, &str) = ("2026-07-28", "tasks-");

const PACKAGE: &str = "polyport-conformance";
const SERVER: &str = "conformance-server";
const CLIENT: &str = "conformance-client";
const GATEWAY_PACKAGE: &str = "polyport-cli";
const GATEWAY: &str = "polyport";
const EXPECTED: &str = "conformance/expected-failures.toml";
const EXPECTED_THROUGH: &str = "conformance/gateway-exceptions.toml";
/// Client scenarios about OAuth, which the client does not have yet.
const OAUTH: &str = "auth/";
const SCENARIO: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(20);
const BUILD: Duration = Duration::from_secs(1800);

/// Per revision: scenario and reason.
type Expected = BTreeMap<String, BTreeMap<String, String>>;

/// What a run needs.
struct Bench {
    root: PathBuf,
    node: PathBuf,
    suite: PathBuf,
    url: String,
    gateway: String,
    client: PathBuf,
    expected: Expected,
    expected_through: Expected,
}

/// Who is tested.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Side {
    Server,
    /// The server again, behind the gateway.
    Gateway,
    Client,
}

impl Side {
    const ALL: [Self; 3] = [Self::Server, Self::Gateway, Self::Client];

    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Gateway => "gateway",
            Self::Client => "client",
        }
    }

    /// What the suite takes it for.
    fn role(self) -> &'static str {
        match self {
            Self::Server | Self::Gateway => "server",
            Self::Client => "client",
        }
    }

    fn is_tried(self, revision: &str) -> bool {
        self != Self::Gateway || THROUGH.contains(&revision)
    }

    /// Where it stands what of it may fail.
    fn list(self) -> &'static str {
        match self {
            Self::Gateway => EXPECTED_THROUGH,
            _ => EXPECTED,
        }
    }
}

/// Runs the suite.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    match prepare(arguments) {
        Ok(Ok(plan)) => plan.run(),
        Ok(Err(reason)) => Outcome::Skipped(reason),
        Err(reason) => Outcome::Broken(reason),
    }
}

struct Plan {
    bench: Bench,
    revisions: Vec<String>,
    only: Option<String>,
    jobs: usize,
    servers: [Group; 2],
}

/// Everything up to a running server; the inner error is a reason to skip.
fn prepare(arguments: &[String]) -> Result<Result<Plan, String>, String> {
    let mut args = Args::new(arguments);
    let only = args.value("--scenario")?;
    let jobs = args.number("--jobs", 2)?.clamp(1, 16);
    let mut revisions = args.words()?;
    if let Some(unknown) = revisions
        .iter()
        .find(|name| !REVISIONS.contains(&name.as_str()))
    {
        return Err(format!("`{unknown}` is none of {}", REVISIONS.join(", ")));
    }
    if revisions.is_empty() {
        revisions = REVISIONS.iter().map(|name| (*name).to_owned()).collect();
    }
    let root = tree::root();
    let expected = read_expected(&root, EXPECTED)?;
    let expected_through = read_expected(&root, EXPECTED_THROUGH)?;
    let (node, suite) = match install(&root) {
        Ok(found) => found,
        Err(Lack::Missing(reason)) => return Ok(Err(reason)),
        Err(Lack::Failed(reason)) => return Err(reason),
    };
    build(&root)?;
    let folder = run::target(&root).join("debug");
    let (server, url) = start(&root, &folder.join(SERVER), &[])?;
    let (through, gateway) = start(&root, &folder.join(GATEWAY), &["serve", &url])?;
    let bench = Bench {
        root,
        node,
        suite,
        url,
        gateway,
        client: folder.join(CLIENT),
        expected,
        expected_through,
    };
    Ok(Ok(Plan {
        bench,
        revisions,
        only,
        jobs: usize::try_from(jobs).unwrap_or(1),
        servers: [server, through],
    }))
}

fn read_expected(root: &Path, name: &str) -> Result<Expected, String> {
    let path = root.join(name);
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let expected: Expected =
        toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    match expected
        .keys()
        .find(|name| !REVISIONS.contains(&name.as_str()))
    {
        Some(unknown) => Err(format!("{}: unknown revision {unknown}", path.display())),
        None => Ok(expected),
    }
}

/// Node and the suite's entry file.
fn install(root: &Path) -> Result<(PathBuf, PathBuf), Lack> {
    let node = node::ensure(root)?;
    let to = node::home(root).join("conformance");
    let log = root.join("target/ci/conformance-install.log");
    node::install(&root.join("conformance/suite"), &to, &log)?;
    let suite = to.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    Ok((node, suite))
}

fn build(root: &Path) -> Result<(), String> {
    let mut command = run::cargo(root);
    command.args(["build", "--locked", "--bins"]);
    command.args(["--package", PACKAGE, "--package", GATEWAY_PACKAGE]);
    let log = root.join("target/ci/conformance-build.log");
    let built = run::logged(&mut command, &log, BUILD)?;
    if built.ok {
        Ok(())
    } else {
        Err(built.complaint("building server and client"))
    }
}

/// Starts a server on a free port and waits until it accepts connections.
fn start(root: &Path, binary: &Path, arguments: &[&str]) -> Result<(Group, String), String> {
    let port = free_port()?;
    let name = binary.file_name().unwrap_or_default().to_string_lossy();
    let log = root.join(format!("target/ci/conformance-{name}.log"));
    tree::write(&log, b"")?;
    let file = fs::File::create(&log)
        .map_err(|error| format!("cannot write {}: {error}", log.display()))?;
    let mut command = run::command(binary, root);
    command.args(arguments);
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    let mut server = Group::spawn(command.stdout(Stdio::null()).stderr(file))?;
    let until = Instant::now() + START;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        let ended = server.ended();
        if ended.is_some() || Instant::now() >= until {
            let said = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!(
                "{name} does not listen on port {port} ({ended:?}); it said:\n{said}"
            ));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok((server, format!("http://127.0.0.1:{port}/mcp")))
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16, String> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no free port on loopback: {error}"))
}

impl Plan {
    fn run(mut self) -> Outcome {
        let mut sum = Tally::default();
        let mut expected = 0;
        if let Err(reason) = self.check_scenario() {
            return Outcome::Broken(reason);
        }
        for revision in &self.revisions {
            match self.run_revision(revision) {
                Ok((tally, known)) => {
                    println!("  {revision}: {tally}, {known} expected failures");
                    sum += tally;
                    expected += known;
                }
                Err(reason) => return Outcome::Broken(reason),
            }
        }
        for (server, name) in self.servers.iter_mut().zip([SERVER, GATEWAY]) {
            if let Some(status) = server.ended() {
                println!("  {name} did not live to the end: {status}");
                sum.failed += 1;
            }
        }
        let Tally { passed, failed, .. } = sum;
        println!("conformance: {passed} passed, {failed} failed, {expected} expected failures");
        Outcome::Done(sum)
    }

    /// A scenario that no revision has would pass as nothing.
    fn check_scenario(&self) -> Result<(), String> {
        let Some(only) = &self.only else {
            return Ok(());
        };
        for revision in &self.revisions {
            let known = self.bench.scenarios(revision)?;
            if known.iter().any(|(_, name)| name == only) {
                return Ok(());
            }
        }
        Err(format!(
            "no scenario `{only}` in {}",
            self.revisions.join(", ")
        ))
    }

    /// Counts of one revision, and how many failed as expected.
    fn run_revision(&self, revision: &str) -> Result<(Tally, usize), String> {
        let known = self.bench.scenarios(revision)?;
        let mut tally = Tally::default();
        for side in [Side::Server, Side::Gateway] {
            let listed = self.bench.listed(side, revision);
            for name in listed.into_iter().flat_map(BTreeMap::keys) {
                let is_of = |of: Side| of.list() == side.list();
                if !known.iter().any(|(of, known)| is_of(*of) && known == name) {
                    let list = side.list();
                    println!("    {name} is in {list}, but no such scenario is tried");
                    tally.failed += 1;
                }
            }
        }
        let wanted = |(_, name): &Scenario| self.only.as_ref().is_none_or(|only| only == name);
        let queue: Mutex<VecDeque<Scenario>> =
            Mutex::new(known.into_iter().filter(wanted).collect());
        let verdicts = Mutex::new(BTreeMap::new());
        thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    while let Some((side, name)) = take(&queue) {
                        let verdict = self.bench.judge(revision, side, &name);
                        let mut verdicts = verdicts.lock().unwrap_or_else(|dead| dead.into_inner());
                        verdicts.insert((side, name), verdict);
                    }
                });
            }
        });
        let mut expected = 0;
        for ((side, name), verdict) in verdicts.into_inner().unwrap_or_default() {
            let listed = self.bench.listed(side, revision);
            let reason = listed.and_then(|listed| listed.get(&name));
            match (verdict, reason) {
                (Verdict::Passed, None) => tally.passed += 1,
                (Verdict::Passed, Some(_)) => {
                    let list = side.list();
                    println!("    {name} passes: remove it from {list} [{revision}]");
                    tally.failed += 1;
                }
                (Verdict::Failed(_), Some(_)) => expected += 1,
                (Verdict::Failed(why), None) => {
                    let side = side.name();
                    println!("    {side}: {name} failed\n{why}");
                    tally.failed += 1;
                }
                (Verdict::Unused, _) => tally.skipped += 1,
            }
        }
        Ok((tally, expected))
    }
}

/// Whom it tests, and its name.
type Scenario = (Side, String);

fn take(queue: &Mutex<VecDeque<Scenario>>) -> Option<Scenario> {
    let mut queue = queue.lock().unwrap_or_else(|dead| dead.into_inner());
    queue.pop_front()
}

impl Bench {
    /// A revision's scenarios, and those of the extension that is tested with it.
    fn scenarios(&self, revision: &str) -> Result<Vec<Scenario>, String> {
        let mut all = Vec::new();
        let sides = Side::ALL.into_iter();
        for side in sides.filter(|side| side.is_tried(revision)) {
            let names = self.list(side, &["--spec-version", revision])?;
            let names = names.into_iter().filter(|name| !name.starts_with(OAUTH));
            all.extend(names.map(|name| (side, name)));
        }
        let (with, beginning) = EXTENSION;
        if revision == with {
            let mut more = self.list(Side::Server, &[])?;
            more.retain(|name| name.starts_with(beginning));
            if more.is_empty() {
                return Err(format!("the suite lists no scenario `{beginning}…`"));
            }
            for side in [Side::Server, Side::Gateway] {
                all.extend(more.iter().map(|name| (side, name.clone())));
            }
        }
        Ok(all)
    }

    /// What may fail.
    fn listed(&self, side: Side, revision: &str) -> Option<&BTreeMap<String, String>> {
        let expected = match side {
            Side::Gateway => &self.expected_through,
            Side::Server | Side::Client => &self.expected,
        };
        expected.get(revision)
    }

    /// What the suite lists: lines `  - NAME …`.
    fn list(&self, side: Side, arguments: &[&str]) -> Result<Vec<String>, String> {
        let mut command = run::command(&self.node, &self.root);
        command.arg(&self.suite).arg("list");
        command.arg(format!("--{}", side.role())).args(arguments);
        let text = run::output(&mut command)?;
        let names = text.lines().filter_map(|line| line.strip_prefix("  - "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        let names: Vec<String> = names.map(str::to_owned).collect();
        if names.is_empty() {
            let side = side.role();
            return Err(format!(
                "the suite lists no {side} scenario {arguments:?}:\n{text}"
            ));
        }
        Ok(names)
    }

    fn judge(&self, revision: &str, side: Side, scenario: &str) -> Verdict {
        let folder = self
            .root
            .join("target/conformance")
            .join(revision)
            .join(side.name())
            .join(scenario);
        let _ = fs::remove_dir_all(&folder);
        let mut command = run::command(&self.node, &self.root);
        command.arg(&self.suite).arg(side.role());
        match side {
            Side::Server => command.args(["--url", &self.url]),
            Side::Gateway => command.args(["--url", &self.gateway]),
            Side::Client => command.arg("--command").arg(&self.client),
        };
        command.args(["--scenario", scenario]);
        command
            .args(["--spec-version", revision, "-o"])
            .arg(&folder);
        if scenario.starts_with(EXTENSION.1) {
            // It belongs to no revision by itself.
            command.arg("--force");
        }
        match run::logged(&mut command, &folder.join("log.txt"), SCENARIO) {
            Err(reason) => Verdict::Failed(reason),
            Ok(finished) => match read_checks(&folder) {
                Some(checks) => verdict(&checks, finished.ok, &finished.how),
                None => Verdict::Failed(finished.complaint("      no checks.json")),
            },
        }
    }
}
