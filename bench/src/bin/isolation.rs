//! `isolation [--minutes N] [--clients N] [--seed N]`: many clients with the same ids and tokens on one server, each with a secret
//! of its own; fails on one foreign byte. The last line is the count.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its purpose"
)]

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polyport::stop;
use polyport_bench::isolation::{Length, listen, run};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match Wanted::read(&words).and_then(isolate) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("isolation: {reason}");
            ExitCode::from(2)
        }
    }
}

/// What the command line asks for.
#[derive(Clone, Copy)]
struct Wanted {
    minutes: u64,
    clients: usize,
    seed: u64,
}

impl Wanted {
    fn read(words: &[String]) -> Result<Self, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut wanted = Self {
            minutes: 10,
            clients: 100,
            seed: now.map_or(1, |now| now.as_secs()),
        };
        for pair in words.chunks(2) {
            let [word, value] = pair else {
                return Err(format!("{} needs a number", pair[0]));
            };
            let number: u64 = (value.parse()).map_err(|_| format!("{word} needs a number"))?;
            match word.as_str() {
                "--minutes" if number > 0 => wanted.minutes = number,
                "--clients" if number > 1 => {
                    wanted.clients = usize::try_from(number).map_err(|e| e.to_string())?;
                }
                "--seed" => wanted.seed = number,
                _ => {
                    return Err(
                        "usage: isolation [--minutes N] [--clients N] [--seed N]".to_owned()
                    );
                }
            }
        }
        Ok(wanted)
    }
}

/// True: nobody saw anything of anybody else.
fn isolate(wanted: Wanted) -> Result<bool, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    let clean = runtime.block_on(async {
        let bound = listen().await.map_err(|error| error.to_string())?;
        let address = bound.address();
        println!(
            "isolation: {} clients, {} min, seed {}, {address}",
            wanted.clients, wanted.minutes, wanted.seed
        );
        let (stopper, stop) = stop::stop();
        let serving = tokio::spawn(bound.serve(stop));
        let length = Length::Time(Duration::from_secs(60 * wanted.minutes));
        let report = run(address, wanted.clients, length, wanted.seed).await;
        stopper.stop();
        let ended = serving.await.map_err(|error| error.to_string())?;
        for fault in report.faults() {
            println!("fault: {fault}");
        }
        let verdict = if report.is_clean() { "ok" } else { "FAILED" };
        println!(
            "isolation: {report}, {} cut at the end: {verdict}",
            ended.cut
        );
        Ok::<_, String>(report.is_clean())
    });
    runtime.shutdown_background();
    clean
}
