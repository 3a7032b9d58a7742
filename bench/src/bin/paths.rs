//! `paths`: counts the allocations of each path, exactly. A program of its own, since counting costs instructions too.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::alloc::System;

use polyport_bench::paths::{PATHS, Path};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Rounds over which buffers that grow once in a while are spread.
const ROUNDS: u32 = 100;

fn main() {
    for path in PATHS {
        // What is made once for the whole process is made by now.
        count(path, 1);
        let rounds = ROUNDS.min(path.rounds);
        let more = count(path, rounds + 1) - count(path, 1);
        println!("{} {more} {rounds}", path.name);
    }
}

/// Blocks asked of the allocator, new ones and grown ones, by an opening and so many rounds.
fn count(path: &Path, rounds: u32) -> usize {
    let region = Region::new(ALLOCATOR);
    std::hint::black_box(path.run(rounds));
    let change = region.change();
    change.allocations + change.reallocations
}
