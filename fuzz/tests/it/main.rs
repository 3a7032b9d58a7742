//! Replays the seeds, whole, cut short and damaged, through the checks that a fuzzer calls.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use polyport_fuzz::TARGETS;

#[test]
fn message_seeds_hold() {
    replay("message");
}

#[test]
fn lines_seeds_hold() {
    replay("lines");
}

#[test]
fn sse_seeds_hold() {
    replay("sse");
}

#[test]
fn headers_seeds_hold() {
    replay("headers");
}

#[test]
fn classify_seeds_hold() {
    replay("classify");
}

#[test]
fn uri_template_seeds_hold() {
    replay("uri_template");
}

#[test]
fn challenge_seeds_hold() {
    replay("challenge");
}

#[test]
fn cursor_seeds_hold() {
    replay("cursor");
}

#[test]
fn peer_seeds_hold() {
    replay("peer");
}

#[test]
fn driver_seeds_hold() {
    replay("driver");
}

#[test]
fn bus_seeds_hold() {
    replay("bus");
}

#[test]
fn state_seeds_hold() {
    replay("state");
}

#[test]
fn form_seeds_hold() {
    replay("form");
}

#[test]
fn answer_seeds_hold() {
    replay("answer");
}

#[test]
fn replay_seeds_hold() {
    replay("replay");
}

#[test]
fn word_seeds_hold() {
    replay("word");
}

#[test]
fn host_file_seeds_hold() {
    replay("host_file");
}

#[test]
fn target_seeds_hold() {
    replay("target");
}

#[test]
fn coding_seeds_hold() {
    replay("coding");
}

#[test]
fn socket_seeds_hold() {
    replay("socket");
}

#[test]
fn names_seeds_hold() {
    replay("names");
}

#[test]
fn arguments_seeds_hold() {
    replay("arguments");
}

#[test]
fn shown_seeds_hold() {
    replay("shown");
}

#[test]
fn every_check_has_a_folder_of_seeds() {
    let mut names: Vec<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut folders: Vec<_> = fs::read_dir(corpus())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    folders.sort();
    assert_eq!(names, folders);
}

/// Checks every seed; beginnings of it; and it with bytes changed to some that matter.
fn replay(name: &str) {
    let (_, check) = TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    let held = |path: &Path, data: &[u8]| {
        let shown = String::from_utf8_lossy(data);
        assert!(
            catch_unwind(|| check(data)).is_ok(),
            "{} as {shown:?}",
            path.display()
        );
    };
    let seeds = seeds(name);
    assert!(seeds.len() >= 15, "{name} has too few seeds");
    for path in seeds {
        let seed = fs::read(&path).unwrap();
        assert!(
            seed.len() <= 4096,
            "{} is too long for a seed",
            path.display()
        );
        held(&path, &seed);
        let places = if SLOW.contains(&name) { 5 } else { 100 };
        for at in (0..seed.len()).step_by(seed.len() / places + 1) {
            held(&path, &seed[..at]);
            let mut damaged = seed.clone();
            for byte in *b"\"\\\n\r{]: 0\0\x80\xff" {
                damaged[at] = byte;
                held(&path, &damaged);
            }
        }
    }
}

/// Checks that do much for each input: they get fewer inputs.
const SLOW: [&str; 4] = ["coding", "driver", "socket", "state"];

fn seeds(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(corpus().join(name)).unwrap();
    let mut seeds: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    seeds
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}
