//! `latency [--write] POLYPORT`: what a call takes from the shell with this program, and what our client costs for each call beside the
//! what a driver of loads costs; against the committed figures, by ratio. Everything is seen from outside, and in turns.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its purpose"
)]

mod cost;
mod wall;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use polyport_bench::ratios::Ratios;
use wall::{Listening, median};

/// Runs of each program whose time is taken.
const RUNS: usize = 41;
/// Runs of each client whose cost is taken.
const ROUNDS: usize = 7;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        [polyport] => measure(polyport).and_then(|found| compare(&found)),
        ["--write", polyport] => measure(polyport).and_then(|found| write(&found)),
        _ => Err("usage: latency [--write] POLYPORT".to_owned()),
    };
    done.unwrap_or_else(|reason| {
        eprintln!("latency: {reason}");
        ExitCode::from(2)
    })
}

fn measure(polyport: &str) -> Result<Ratios, String> {
    let mut found = Ratios {
        with: with(),
        ..Ratios::default()
    };
    shell(polyport, &mut found)?;
    clients(&mut found)?;
    Ok(found)
}

/// Whole runs of the program, by one that does nothing.
fn shell(polyport: &str, found: &mut Ratios) -> Result<(), String> {
    let served = Listening::new(&[polyport, "serve", "demo", "--listen", "{address}"])?;
    let [http, socket] = [("http", "mcp"), ("ws", "ws")]
        .map(|(scheme, path)| format!("{scheme}://{}/{path}", served.address));
    let server = sibling("bench-server")?;
    let server = server.to_str().ok_or("its path is no text")?;
    let driver = sibling("bench-driver")?;
    let driver = driver.to_str().ok_or("its path is no text")?;
    let mut rows = vec![
        ("nothing", vec!["/bin/true"]),
        ("call-demo", vec![polyport, "call", "demo"]),
    ];
    for (name, era, target) in [
        ("call-http-modern", "modern", &http),
        ("call-http-legacy", "legacy", &http),
        ("call-socket-modern", "modern", &socket),
        ("call-socket-legacy", "legacy", &socket),
    ] {
        rows.push((name, vec![polyport, "call", "--era", era, target]));
    }
    for (name, era) in [
        ("call-child-modern", &["--era", "modern"][..]),
        ("call-child-legacy", &["--era", "legacy"]),
        // The first run has found out which that is.
        ("call-child-known", &[]),
    ] {
        let child = ["--", server, "stdio", "--"];
        rows.push((name, [&[polyport, "call"], era, &child].concat()));
    }
    for (_, words) in rows.iter_mut().skip(1) {
        words.extend(["add", "a=2", "b=3"]);
    }
    // What a child takes by itself, from its start to its end: asked the same by the least of all clients.
    for (name, era) in [("driver-modern", "modern"), ("driver-legacy", "legacy")] {
        rows.push((name, vec![driver, "--era", era, "0", "--", server, "stdio"]));
    }
    let medians = turns(&rows, &served)?;
    let nothing = medians["nothing"].taken;
    for (name, _) in &rows {
        let run = &medians[name];
        found.milliseconds.insert((*name).to_owned(), run.taken);
        let theirs = match *name {
            "call-child-modern" | "call-child-known" => medians["driver-modern"].taken - nothing,
            "call-child-legacy" => medians["driver-legacy"].taken - nothing,
            _ => run.theirs,
        };
        if name.starts_with("call-") {
            let ours = run.taken - theirs;
            found.milliseconds.insert(format!("{name}-ours"), ours);
            found.ratios.insert((*name).to_owned(), ours / nothing);
        }
    }
    Ok(())
}

/// One program: how long a run of it takes, and how long the server beside it works for it, in milliseconds.
struct Run {
    taken: f64,
    theirs: f64,
}

/// The medians of programs that run one after the other, over and over: whatever else the machine does meets all of them.
fn turns<'a>(
    rows: &[(&'a str, Vec<&str>)],
    served: &Listening,
) -> Result<BTreeMap<&'a str, Run>, String> {
    for (_, words) in rows {
        // Once for nothing: what is read from the disk is there then, and what is to be known of the server.
        wall::of(words)?;
    }
    let mut all: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for _ in 0..RUNS {
        for (name, words) in rows {
            let before = served.used();
            let taken = wall::of(words)?;
            let (times, theirs) = all.entry(name).or_default();
            times.push(taken);
            theirs.push(served.used() - before);
        }
    }
    let run = |(taken, theirs)| Run {
        taken: median(taken),
        theirs: median(theirs),
    };
    Ok(all
        .into_iter()
        .map(|(name, both)| (name, run(both)))
        .collect())
}

/// Calls of one client after the other, by what they cost a driver of loads.
fn clients(found: &mut Ratios) -> Result<(), String> {
    let [ours, driver, server] = ["bench-client", "bench-driver", "bench-server"].map(sibling);
    let (ours, driver, server) = (ours?, driver?, server?);
    let server = server.to_str().ok_or("its path is no text")?;
    let served = Listening::new(&[server, "http", "{port}", "session"])?;
    let url = format!("http://{}/mcp", served.address);
    let (lines, http) = (["--", server, "stdio"], [&*url]);
    for (name, era, target) in [
        ("client-stdio-modern", "modern", &lines[..]),
        ("client-stdio-legacy", "legacy", &lines),
        ("client-http-modern", "modern", &http),
        ("client-http-legacy", "legacy", &http),
    ] {
        // Whatever else the machine does only adds to what is seen.
        let (mut cost, mut theirs) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            theirs = theirs.min(cost::each(&driver, era, target)?);
            cost = cost.min(cost::each(&ours, era, target)?);
        }
        found.microseconds.insert(name.to_owned(), cost);
        found.ratios.insert(name.to_owned(), cost / theirs);
    }
    Ok(())
}

fn compare(found: &Ratios) -> Result<ExitCode, String> {
    let file = Ratios::file();
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let committed = Ratios::read(&text)?;
    show(found);
    let complaints = found.complaints(&committed);
    for complaint in &complaints {
        println!("{complaint}");
    }
    let failed = complaints.len();
    println!(
        "latency: {} passed, {failed} failed, 0 skipped",
        found.ratios.len().saturating_sub(failed)
    );
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn write(found: &Ratios) -> Result<ExitCode, String> {
    show(found);
    let file = Ratios::file();
    std::fs::write(&file, found.text())
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    println!("latency: {} ratios written", found.ratios.len());
    Ok(ExitCode::SUCCESS)
}

fn show(found: &Ratios) {
    for (name, ratio) in &found.ratios {
        let ours = found.milliseconds.get(&format!("{name}-ours"));
        let time = match (found.microseconds.get(name), found.milliseconds.get(name)) {
            (Some(cost), _) => format!("{cost:8.1} us of a processor"),
            (None, Some(time)) => {
                let ours = ours.unwrap_or(time);
                format!("{time:8.2} ms, {ours:.2} of them ours")
            }
            (None, None) => String::new(),
        };
        println!("{name:<22} {ratio:6.2}  {time}");
    }
}

/// A program that was built with this one.
fn sibling(name: &str) -> Result<PathBuf, String> {
    let ours = std::env::current_exe().map_err(|error| format!("where are we? {error}"))?;
    let path = ours.with_file_name(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(format!("{} is not built", Path::new(name).display()))
}

fn with() -> BTreeMap<String, String> {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("?", |(_, name)| name);
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned());
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    [
        ("processor", processor.to_owned()),
        ("processors", processors.to_string()),
        ("rustc", rustc.unwrap_or_else(|_| "?".to_owned())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
