//! `icount [--write]`: what one message costs on each path, in instructions and allocations, against the committed figures.
//!
//! Instructions: valgrind runs this program itself, with `--run PATH ROUNDS`, twice for each path; what both runs do once drops
//! out of the difference. Allocations: from the program `paths` beside it.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its purpose"
)]

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use polyport_bench::figures::{Figure, Figures, TOLERANCE};
use polyport_bench::paths::{AS_CHEAP, LINEAR, PATHS, Path};

/// Rounds of the shorter run: buffers have grown by then.
const FEW: u32 = 50;
/// What stands beside a call may cost it this part more: another table of tools hashes otherwise.
const BESIDE: u64 = 200;
/// Runs under valgrind at once.
const JOBS: usize = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => compare(),
        ["--write"] => write(),
        ["--run", name, rounds] => work(name, rounds),
        _ => Err("usage: icount [--write]".to_owned()),
    };
    done.unwrap_or_else(|reason| {
        eprintln!("icount: {reason}");
        ExitCode::from(2)
    })
}

/// The work that is counted.
fn work(name: &str, rounds: &str) -> Result<ExitCode, String> {
    let path = PATHS.iter().find(|path| path.name == name);
    let path = path.ok_or_else(|| format!("there is no path {name}"))?;
    let rounds = rounds
        .parse()
        .map_err(|error| format!("{rounds}: {error}"))?;
    std::hint::black_box(path.run(rounds));
    Ok(ExitCode::SUCCESS)
}

fn write() -> Result<ExitCode, String> {
    let figures = Figures {
        tolerance: TOLERANCE,
        with: with(),
        paths: count(&folder()?)?,
    };
    let names: Vec<&str> = PATHS.iter().map(|path| path.name).collect();
    let file = Figures::file();
    std::fs::write(&file, figures.text(&names))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    for (name, figure) in &figures.paths {
        println!(
            "{name:<28} {:>10} {:>8.2}",
            figure.instructions, figure.allocations
        );
    }
    println!("icount: {} figures written", figures.paths.len());
    Ok(ExitCode::SUCCESS)
}

fn compare() -> Result<ExitCode, String> {
    let file = Figures::file();
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let committed = Figures::read(&text)?;
    let folder = folder()?;
    let found = count(&folder)?;
    let (mut passed, mut failed) = (0, 0);
    println!("{:<28} instructions     off  allocations", "path");
    for path in PATHS {
        let figure = found[path.name];
        let (instructions, allocations) = (
            committed.holds(path.name, figure.instructions),
            committed.holds_allocations(path.name, figure.allocations),
        );
        let off = committed.off(path.name, figure.instructions);
        println!(
            "{:<28} {:>12} {:>7}  {:>11.2}{}",
            path.name,
            figure.instructions,
            off.map_or_else(|| "?".to_owned(), |off| format!("{off:+.2} %")),
            figure.allocations,
            complaint(
                path,
                committed.paths.get(path.name),
                instructions,
                allocations
            ),
        );
        for holds in [instructions, allocations] {
            *(if holds { &mut passed } else { &mut failed }) += 1;
        }
    }
    for (beside, plain) in AS_CHEAP {
        let [cost, bare] = [beside, plain].map(|name| found[*name].instructions);
        let holds = cost <= bare + bare / BESIDE;
        if !holds {
            println!("{beside}: costs {cost}, and {plain} without all that {bare}");
        }
        *(if holds { &mut passed } else { &mut failed }) += 1;
    }
    for (many, times, few) in LINEAR {
        let [cost, part] = [many, few].map(|name| found[*name].instructions);
        // A tenth more, since tables grow by doubling.
        let holds = cost <= (part * times) + part * times / 10;
        if !holds {
            println!("{many}: costs {cost}, more than {times} times {few} ({part})");
        }
        *(if holds { &mut passed } else { &mut failed }) += 1;
    }
    for name in committed
        .paths
        .keys()
        .filter(|name| !found.contains_key(*name))
    {
        println!("{name}: committed, but there is no such path any more");
        failed += 1;
    }
    if failed > 0 {
        let with = with();
        if with != committed.with {
            println!(
                "note: the figures were made with {:?}, here is {with:?}",
                committed.with
            );
        }
        println!(
            "Where instructions go: callgrind_annotate {}/PATH.out. A change that is meant: cargo xtask icount --write",
            folder.display()
        );
    }
    println!("icount: {passed} passed, {failed} failed, 0 skipped");
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn complaint(
    path: &Path,
    committed: Option<&Figure>,
    instructions: bool,
    allocations: bool,
) -> String {
    let Some(committed) = committed else {
        return "   not committed: cargo xtask icount --write".to_owned();
    };
    let mut text = String::new();
    if !instructions {
        text += &format!("   committed: {} instructions", committed.instructions);
    }
    if !allocations {
        text += &format!("   committed: {:.2} allocations", committed.allocations);
    }
    if !text.is_empty() {
        text += &format!(" ({})", path.name);
    }
    text
}

/// Where the profiles of the longer runs stay.
fn folder() -> Result<PathBuf, String> {
    let program = program()?;
    let folder = program.with_file_name("counts");
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder)
}

fn program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))
}

fn count(folder: &FilePath) -> Result<BTreeMap<String, Figure>, String> {
    let allocations = allocations()?;
    let instructions = instructions(folder)?;
    let figure = |path: &Path| {
        let allocations = *allocations
            .get(path.name)
            .ok_or_else(|| format!("`paths` does not know {}: build both anew", path.name))?;
        let instructions = instructions[path.name];
        Ok((
            path.name.to_owned(),
            Figure {
                instructions,
                allocations,
            },
        ))
    };
    PATHS.iter().map(figure).collect()
}

fn allocations() -> Result<BTreeMap<String, f64>, String> {
    let text = output(&mut Command::new(program()?.with_file_name("paths")))?.0;
    let read = |line: &str| -> Option<(String, f64)> {
        let mut words = line.split(' ');
        let name = words.next()?.to_owned();
        let (blocks, rounds): (f64, f64) =
            (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some((name, blocks / rounds))
    };
    text.lines()
        .map(|line| read(line).ok_or_else(|| format!("`paths` says {line:?}")))
        .collect()
}

/// Of every path, several at a time.
fn instructions(folder: &FilePath) -> Result<BTreeMap<&'static str, u64>, String> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Ok(BTreeMap::new())));
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some(path) = PATHS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let each = each(path, folder);
                    let mut done = done.lock().expect("nobody panics with it");
                    match (&mut *done, each) {
                        (Ok(map), Ok(each)) => _ = map.insert(path.name, each),
                        (Ok(_), Err(reason)) => *done = Err(reason),
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    done.into_inner().expect("nobody panics with it")
}

/// Instructions of one round.
fn each(path: &Path, folder: &FilePath) -> Result<u64, String> {
    let begin = FEW.min(path.rounds);
    let few = collected(path, begin, folder)?;
    let many = collected(path, begin + path.rounds, folder)?;
    Ok(many.saturating_sub(few) / u64::from(path.rounds))
}

/// Instructions of a whole run. The profile of the last run stays.
fn collected(path: &Path, rounds: u32, folder: &FilePath) -> Result<u64, String> {
    let profile = folder.join(format!("{}.out", path.name));
    let mut command = Command::new("valgrind");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program()?)
        .args(["--run", path.name, &rounds.to_string()]);
    let (_, said) = output(&mut command)?;
    let count = said
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse().ok());
    count.ok_or_else(|| format!("valgrind tells no count:\n{said}"))
}

/// What the counts depend on besides us.
fn with() -> BTreeMap<String, String> {
    let first = |program: &str, argument: &str| {
        let text = output(Command::new(program).arg(argument)).map(|(text, _)| text);
        let text = text.unwrap_or_default();
        text.lines().next().unwrap_or("?").trim().to_owned()
    };
    [
        ("machine", std::env::consts::ARCH.to_owned()),
        ("libc", first("getconf", "GNU_LIBC_VERSION")),
        ("rustc", first("rustc", "--version")),
        ("valgrind", first("valgrind", "--version")),
    ]
    .map(|(name, version)| (name.to_owned(), version))
    .into()
}

/// Standard output and standard error of a program that has to work.
fn output(command: &mut Command) -> Result<(String, String), String> {
    let done = command
        .output()
        .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    let [said, complained] =
        [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if done.status.success() {
        Ok((said, complained))
    } else {
        Err(format!("{command:?}: {}\n{complained}", done.status))
    }
}
