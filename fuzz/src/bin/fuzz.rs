//! Runs the checks of this crate: under libFuzzer when built by `cargo xtask fuzz`, else over the files it is given. Owns no check.
#![cfg_attr(feature = "libfuzzer", no_main)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]

use polyport_fuzz::TARGETS;

/// The check of this name.
fn check(name: &str) -> Result<fn(&[u8]), String> {
    let found = TARGETS.iter().find(|(target, _)| *target == name);
    found.map(|(_, check)| *check).ok_or_else(|| {
        let known: Vec<&str> = TARGETS.iter().map(|(target, _)| *target).collect();
        format!("`{name}` is none of {}", known.join(", "))
    })
}

#[cfg(feature = "libfuzzer")]
mod under_libfuzzer {
    use std::sync::LazyLock;

    /// libFuzzer owns the arguments, so the name comes by the environment.
    static CHECK: LazyLock<fn(&[u8])> = LazyLock::new(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        super::check(&name).unwrap_or_else(|error| {
            eprintln!("FUZZ_TARGET: {error}");
            std::process::exit(2)
        })
    });

    libfuzzer_sys::fuzz_target!(
        init: {
            LazyLock::force(&CHECK);
        },
        |data: &[u8]| {
            (*CHECK)(data);
        }
    );
}

/// `fuzz` lists the targets; `fuzz TARGET FILE…` runs one over files, so that a finding can be seen without libFuzzer.
#[cfg(not(feature = "libfuzzer"))]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        for (target, _) in TARGETS {
            println!("{target}");
        }
        return ExitCode::SUCCESS;
    };
    let result = check(&name).and_then(|check| {
        for file in arguments {
            let data = std::fs::read(&file).map_err(|error| format!("{file}: {error}"))?;
            println!("{file}: {} bytes", data.len());
            check(&data);
        }
        Ok(())
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::from(2)
        }
    }
}
