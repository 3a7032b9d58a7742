//! How one scenario of the suite has ended, by the checks that it left.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::tree;

/// Checks shown of one scenario.
const SHOWN: usize = 8;

/// How one scenario ended.
pub(super) enum Verdict {
    Passed,
    /// And what the checks say.
    Failed(String),
    /// No check of it applied.
    Unused,
}

/// Every check below a folder; `None` when no scenario came so far.
pub(super) fn read_checks(folder: &Path) -> Option<Vec<Value>> {
    let mut checks = Vec::new();
    let mut seen = false;
    for path in tree::files(folder) {
        if path.ends_with("checks.json") {
            let text = fs::read_to_string(&path).ok()?;
            checks.extend(serde_json::from_str::<Vec<Value>>(&text).ok()?);
            seen = true;
        }
    }
    seen.then_some(checks)
}

pub(super) fn verdict(checks: &[Value], exit_ok: bool, how: &str) -> Verdict {
    let status = |check: &Value| check["status"].as_str().unwrap_or_default().to_owned();
    let mut complaints = Vec::new();
    let mut used = false;
    for check in checks {
        let id = check["id"].as_str().unwrap_or_default();
        let status = status(check);
        if matches!(status.as_str(), "FAILURE" | "WARNING") {
            let why = check["errorMessage"]
                .as_str()
                .or_else(|| check["description"].as_str());
            let why: String = why.unwrap_or_default().chars().take(300).collect();
            complaints.push(format!("      {status} {id}: {}", why.replace('\n', " ")));
        }
        // Each scenario carries this one, so it alone does not show that the scenario found what it tests.
        used |= !matches!(status.as_str(), "SKIPPED" | "INFO") && !id.starts_with("wire-schema-");
    }
    if complaints.is_empty() && !exit_ok {
        complaints.push(format!("      the suite: {how}"));
    }
    let more = complaints.len().saturating_sub(SHOWN);
    if more > 0 {
        complaints.truncate(SHOWN);
        complaints.push(format!("      and {more} more, in target/conformance"));
    }
    if !complaints.is_empty() {
        Verdict::Failed(complaints.join("\n"))
    } else if used {
        Verdict::Passed
    } else {
        Verdict::Unused
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, verdict};
    use serde_json::json;

    #[test]
    fn checks_and_exit_status_decide() {
        let cases = [
            (json!([{"id": "a", "status": "SUCCESS"}]), true, "passed"),
            (json!([{"id": "a", "status": "SUCCESS"}]), false, "failed"),
            (
                json!([{"id": "a", "status": "SUCCESS"}, {"id": "b", "status": "WARNING"}]),
                true,
                "failed",
            ),
            (
                json!([{"id": "a", "status": "FAILURE", "errorMessage": "x"}]),
                true,
                "failed",
            ),
            (
                json!([{"id": "a", "status": "SKIPPED"}, {"id": "wire-schema-valid", "status": "SUCCESS"}]),
                true,
                "unused",
            ),
            (json!([]), true, "unused"),
        ];
        for (checks, exit_ok, expect) in cases {
            let checks = checks.as_array().cloned().unwrap_or_default();
            let found = match verdict(&checks, exit_ok, "exit 1") {
                Verdict::Passed => "passed",
                Verdict::Failed(_) => "failed",
                Verdict::Unused => "unused",
            };
            assert_eq!(found, expect, "{checks:?}");
        }
    }
}
