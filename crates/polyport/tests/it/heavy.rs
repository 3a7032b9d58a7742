//! What a message of very many small values costs: memory and computing time, in a process of its own.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use polyport::http::{Config, Endpoint, endpoint};
use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{Server, serde_json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

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

/// Rows of 50,000 values each; the very last value is of another type where `wrong`.
fn rows(kind: &str, rows: usize, wrong: bool) -> String {
    rows_of(kind, rows, 50_000, wrong)
}

fn rows_of(kind: &str, rows: usize, values: usize, wrong: bool) -> String {
    let mut text = String::from("[");
    for row in 0..rows {
        text.push_str(match (row, kind) {
            (0, "records") => "{",
            (0, _) => "[",
            (_, "records") => ",{",
            (_, _) => ",[",
        });
        for n in 0..values {
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

/// The most memory that this process has had, since that was last forgotten.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kib.trim().parse::<usize>().unwrap() << 10
}

/// Seconds that this process has spent computing, whoever else did meanwhile.
fn computed() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // What stands before the last bracket is a name (proc(5)); of the rest the 12th and 13th are hundredths in the program and the system.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let spent = fields.split_whitespace().skip(11).take(2);
    spent
        .map(|ticks| ticks.parse::<f64>().unwrap())
        .sum::<f64>()
        / 100.0
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
    let endpoint = endpoint(server(), Config::default()).await.unwrap();
    // The pages of the program itself are no cost of a call: they come in with this one.
    let wrong = wrong == "true";
    handle(&endpoint, request(tool, &rows_of(tool, 1, 100, wrong))).await;
    let rows = rows(tool, rows_given.parse().unwrap(), wrong);
    let length = rows.len();
    let request = request(tool, &rows);
    drop(rows);
    // From here on the peak is counted anew.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let (before, begun) = (peak(), computed());
    let (status, is_error) = handle(&endpoint, request).await;
    // The system counts in steps of some pages, so that what costs next to nothing may seem to give some back.
    let times = peak().saturating_sub(before) as f64 / length as f64;
    let seconds = computed() - begun;
    println!("\nmeasured {status} {is_error} {times:.2} {seconds:.2}");
}

fn request(tool: &str, rows: &str) -> http::Request<Full<Bytes>> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"rows":{rows}}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool)
        .body(Full::new(Bytes::from(body)))
        .unwrap()
}

/// The status of the answer, and whether the tool has failed.
async fn handle(endpoint: &Endpoint, request: http::Request<Full<Bytes>>) -> (u16, bool) {
    let response = endpoint.handle(request).await;
    let status = response.status().as_u16();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    let is_error = text.windows(14).any(|w| w == b"\"isError\":true");
    (status, is_error)
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
        let ran = Command::new(std::env::current_exe().unwrap())
            .args(["heavy::one_heavy_call", "--exact", "--nocapture"])
            .env(CASE, case)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        let line = said.lines().find_map(|line| line.strip_prefix("measured "));
        let line = line.unwrap_or_else(|| panic!("{case}: {said}"));
        let (line, seconds) = line.rsplit_once(' ').unwrap();
        let (answer, times) = line.rsplit_once(' ').unwrap();
        assert_eq!(answer, format!("{status} {is_error}"), "{case}");
        assert!(
            times.parse::<f64>().unwrap() < 12.0,
            "{case}: {times} times"
        );
        assert!(
            seconds.parse::<f64>().unwrap() < 10.0,
            "{case}: {seconds} s"
        );
    }
}
