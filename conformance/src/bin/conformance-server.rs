//! `conformance-server --listen ADDRESS`: serves the fixtures over HTTP until it is killed. Says on stderr where.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use polyport::Stop;
use polyport::http::{Config, Endpoint, bind};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match serve(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            say(&format!("conformance-server: {reason}"));
            ExitCode::from(2)
        }
    }
}

async fn serve(arguments: &[String]) -> Result<(), String> {
    let [flag, address] = arguments else {
        return Err("usage: conformance-server --listen 127.0.0.1:PORT".to_owned());
    };
    if flag != "--listen" {
        return Err(format!(
            "unknown option {flag}: the only one is --listen 127.0.0.1:PORT"
        ));
    }
    let address: SocketAddr = address
        .parse()
        .map_err(|_| format!("{address} is not an address such as 127.0.0.1:8001"))?;
    let endpoint = Endpoint::new(
        polyport_conformance::server().into_service(),
        Config::default(),
    );
    let bound = bind(endpoint, address, false)
        .await
        .map_err(|error| error.to_string())?;
    say(&format!("listening on {}", bound.url()));
    bound.serve(Stop::never()).await;
    Ok(())
}

fn say(line: &str) {
    // Nobody may be there to read it, and that is no reason to end.
    let _ = writeln!(std::io::stderr(), "{line}");
}
