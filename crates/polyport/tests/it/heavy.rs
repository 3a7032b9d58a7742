//! What a message of very many small values costs: memory, in a process of its own, and time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use polyport::http::{Config, endpoint};
use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{Server, serde_json};

/// Rows of any kind.
#[derive(Deserialize, JsonSchema)]
struct Rows<R> {
    rows: Vec<R>,
}

fn server() -> Server {
    Server::new("heavy", "1")
        .tool("numbers", "Counts.", |_cx, given: Rows<Vec<i64>>| async move {
            Ok(given.rows.len().to_string())
        })
        .tool("texts", "Counts.", |_cx, given: Rows<Vec<String>>| async move {
            Ok(given.rows.len().to_string())
        })
        .tool("records", "Counts.", |_cx, given: Rows<BTreeMap<String, i64>>| async move {
            Ok(given.rows.len().to_string())
        })
        .tool("anything", "Counts.", |_cx, given: Rows<serde_json::Value>| async move {
            Ok(given.rows.len().to_string())
        })
}

/// Rows of this many values each; the very last value is of another type where `wrong`.
fn rows(kind: &str, rows: usize, wrong: bool) -> String {
    let mut text = String::from("[");
    for row in 0..rows {
        text.push_str(match (row, kind) {
            (0, "records") => "{",
            (0, _) => "[",
            (_, "records") => ",{",
            (_, _) => ",[",
        });
        for n in 0..50_000 {
            let comma = if n == 0 { "" } else { "," };
            let done = match kind {
                "texts" => write!(text, "{comma}\"{:x}\"", n % 4_096),
                "records" => write!(text, "{comma}\"{n:x}\":0"),
                _ => write!(text, "{comma}0"),
            };
            done.unwrap();
        }
        if wrong && row + 1 == rows {
            text.push_str(",{}");
        }
        text.push(if kind == "records" { '}' } else { ']' });
    }
    text + "]"
}

/// The most memory that this process has had.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kib.trim().parse::<usize>().unwrap() << 10
}

/// The variable that says which case is measured.
const CASE: &str = "POLYPORT_HEAVY_CASE";

/// Measures one case for the test below, which runs it in a process of its own and reads what it prints.
#[allow(clippy::print_stdout, reason = "it reports to another process")]
#[tokio::test]
async fn one_heavy_call() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let (tool, given) = case.split_once(' ').unwrap();
    let (rows_given, wrong) = given.split_once(' ').unwrap();
    let rows = rows(tool, rows_given.parse().unwrap(), wrong == "true");
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"rows":{rows}}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    drop(rows);
    let length = body.len();
    let request = http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool)
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let endpoint = endpoint(server(), Config::default()).await.unwrap();
    // From here on the peak is counted anew.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak();
    let response = endpoint.handle(request).await;
    let status = response.status().as_u16();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    let is_error = text.windows(14).any(|w| w == b"\"isError\":true");
    let times = (peak() - before) as f64 / length as f64;
    println!("\nmeasured {status} {is_error} {times:.2}");
}

// req: V-403
#[test]
fn v_403_many_small_values_cost_a_small_multiple_of_their_text() {
    for (case, status, is_error) in [
        ("numbers 10 false", 200, false),
        ("texts 4 false", 200, false),
        ("records 3 false", 200, false),
        // What does not fit is not worded at any price.
        ("numbers 10 true", 200, true),
        ("texts 5 true", 200, true),
        // A value without a type takes thirty times its text: there the number of values is the bound.
        ("anything 21 false", 400, false),
    ] {
        let begun = Instant::now();
        let ran = Command::new(std::env::current_exe().unwrap())
            .args(["heavy::one_heavy_call", "--exact", "--nocapture"])
            .env(CASE, case)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        let line = said.lines().find_map(|line| line.strip_prefix("measured "));
        let line = line.unwrap_or_else(|| panic!("{case}: {said}"));
        let (answer, times) = line.rsplit_once(' ').unwrap();
        assert_eq!(answer, format!("{status} {is_error}"), "{case}");
        assert!(
            times.parse::<f64>().unwrap() < 12.0,
            "{case}: {times} times"
        );
        assert!(begun.elapsed() < Duration::from_secs(30), "{case}");
    }
}
