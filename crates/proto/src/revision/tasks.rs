//! A task as both codecs write it: what their forms share, and the words in which they differ.

use polyport_model::TaskStatus;
use polyport_wire::write;

use crate::outcome::task::{Task, TaskEnd};
use crate::text::iso;

/// The keys of one form.
pub(super) struct Words {
    pub(super) ttl: &'static str,
    pub(super) poll: &'static str,
}

/// Appends the members that both forms have, without braces.
pub(super) fn write(task: &Task, status: TaskStatus, words: &Words, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"taskId\":");
    write::string(out, task.id());
    out.extend_from_slice(b",\"status\":\"");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b'"');
    if let Some(TaskEnd::Failed(error)) = task.end() {
        out.extend_from_slice(b",\"statusMessage\":");
        write::string(out, &error.message);
    }
    let Words { ttl, poll } = words;
    let times = format!(
        ",\"createdAt\":\"{}\",\"lastUpdatedAt\":\"{}\",\"{ttl}\":{},\"{poll}\":{}",
        iso(task.created()),
        iso(task.updated()),
        task.ttl(),
        task.poll()
    );
    out.extend_from_slice(times.as_bytes());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use polyport_wire::Raw;

    use super::*;
    use crate::outcome::{Code, Question, RpcError};
    use crate::revision::Revision;

    fn written(task: &Task, revision: Revision) -> serde_json::Value {
        let mut out = b"{".to_vec();
        super::super::seal::task(task, revision, true, &mut out);
        out.push(b'}');
        serde_json::from_slice(&out).unwrap()
    }

    fn question(key: &str) -> Question {
        Question {
            key: key.to_owned(),
            method: "elicitation/create",
            params: Some(Raw::from_static("{\"message\":\"m\"}")),
            is_passed_on: false,
        }
    }

    #[test]
    fn a_task_works_asks_and_ends_once() {
        let ends = [
            (TaskEnd::Result(Raw::from_static("{}")), "completed"),
            (
                TaskEnd::Failed(RpcError::new(Code::Internal, "m")),
                "failed",
            ),
            (TaskEnd::Cancelled, "cancelled"),
        ];
        for (end, word) in ends {
            let mut task = Task::new("t", 1_000, 60_000, 500);
            assert_eq!(task.status().as_str(), "working");
            assert!(task.asks(vec![question("a"), question("b")], 2_000));
            assert_eq!(task.status().as_str(), "input_required");
            assert!(!task.asks(vec![question("a"), question("b")], 2_500));
            assert!(task.asks(vec![], 3_000));
            assert_eq!(task.status().as_str(), "working");
            assert!(task.ends(end, 4_000));
            assert_eq!(task.status().as_str(), word);
            for later in [
                TaskEnd::Cancelled,
                TaskEnd::Result(Raw::from_static("{\"a\":1}")),
            ] {
                assert!(!task.ends(later, 5_000));
            }
            assert!(!task.asks(vec![question("c")], 5_000));
            assert_eq!(task.status().as_str(), word);
            assert_eq!(
                written(&task, Revision::LATEST)["lastUpdatedAt"],
                "1970-01-01T00:00:04.000Z"
            );
        }
    }

    #[test]
    fn each_form_has_its_own_words() {
        let mut task = Task::new("t", 0, 60_000, 500);
        task.asks(vec![question("a")], 0);
        let modern = written(&task, Revision::LATEST);
        assert_eq!(modern["inputRequests"]["a"]["method"], "elicitation/create");
        assert_eq!(
            (&modern["ttlMs"], &modern["pollIntervalMs"]),
            (&60_000.into(), &500.into())
        );
        assert!(modern.get("ttl").is_none());
        let core = written(&task, Revision::LATEST_LEGACY);
        assert_eq!(
            (&core["ttl"], &core["pollInterval"]),
            (&60_000.into(), &500.into())
        );
        assert!(core.get("inputRequests").is_none() && core.get("ttlMs").is_none());
    }

    #[test]
    fn a_result_that_tells_of_a_failure_is_completed_or_failed() {
        for (result, core) in [
            (r#"{"content":[],"isError":true}"#, "failed"),
            (r#"{"content":[],"isError":false}"#, "completed"),
            (r#"{"structuredContent":{"isError":true}}"#, "completed"),
        ] {
            let mut task = Task::new("t", 0, 1, 1);
            task.ends(TaskEnd::Result(Raw::from_static(result)), 0);
            assert_eq!(written(&task, Revision::LATEST)["status"], "completed");
            assert_eq!(
                written(&task, Revision::LATEST_LEGACY)["status"],
                core,
                "{result}"
            );
        }
    }
}
