//! `bench-client [--era modern|legacy] SECONDS URL` or `… SECONDS -- COMMAND…`: calls `echo` one after the other through the SDK, and
//! prints how many calls that were. What it costs is measured from outside.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its purpose"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use polyport::client::{Connect, Target};
use polyport::{Client, Command, Era, Raw, Revisions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments).await {
        Ok(calls) => {
            println!("{{\"calls\":{calls}}}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &[String]) -> Result<u64, Box<dyn std::error::Error>> {
    let usage = "usage: bench-client [--era modern|legacy] SECONDS (URL | -- COMMAND…)";
    let (speaks, arguments) = match arguments {
        [flag, era, rest @ ..] if flag == "--era" => {
            let era = match era.as_str() {
                "modern" => Era::Modern,
                "legacy" => Era::Legacy,
                _ => return Err(usage.into()),
            };
            (Revisions::of(era), rest)
        }
        all => (Revisions::ALL, all),
    };
    let (seconds, connect) = match arguments {
        [seconds, dashes, program, rest @ ..] if dashes == "--" => {
            (seconds, Connect::command(Command::new(program).args(rest)))
        }
        [seconds, url] => (seconds, Connect::http(Target::new(url)?)),
        _ => return Err(usage.into()),
    };
    let length = Duration::from_secs_f64(seconds.parse()?);
    let client = connect.speaks(speaks).connect().await?;
    let calls = calls(&client, length).await?;
    client.close().await;
    Ok(calls)
}

async fn calls(client: &Client, length: Duration) -> Result<u64, Box<dyn std::error::Error>> {
    let text = "abcdefghij".repeat(10);
    let arguments = Raw::encode(&BTreeMap::from([("text", text)]))?;
    let begun = Instant::now();
    let mut calls = 0;
    while begun.elapsed() < length {
        let result = client.call_tool("echo", &arguments).await?;
        if result.is_error == Some(true) || result.content.len() != 1 {
            return Err("echo does not answer".into());
        }
        calls += 1;
    }
    Ok(calls)
}
