//! What the answer to a probe tells of the era of a server (2026-07-28, basic/versioning and basic/transports/stdio). Not how long
//! an answer is waited for.

use polyport_model::{
    CODE_HEADER_MISMATCH, CODE_MISSING_CLIENT_CAPABILITY, CODE_UNSUPPORTED_VERSION, DiscoverResult,
    RpcError, UnsupportedVersionData,
};
use polyport_wire::Raw;

use crate::revision::{Era, Revision, Revisions};

/// What has been found out.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It speaks this revision of the modern era; what it said of itself, if it did.
    Modern(Revision, Option<Box<DiscoverResult>>),
    /// It begins with a handshake.
    Legacy,
    /// It speaks none of our revisions, but these.
    Stranger(Vec<String>),
}

/// Judges the answer to `server/discover`: a result, or an error object. No answer at all is the legacy era.
///
/// Only an error that the modern era defines is its sign; every other one is what a server says to a method it does not know.
pub fn judge(answer: Result<&Raw, &Raw>, ours: Revisions) -> Verdict {
    match answer {
        Ok(result) => match result.decode::<DiscoverResult>() {
            Ok(found) => choose(
                found.supported_versions.clone().as_slice(),
                Some(Box::new(found)),
                ours,
            ),
            Err(_) => Verdict::Legacy,
        },
        Err(error) => match error.decode::<RpcError>() {
            Ok(error) => judge_error(&error, ours),
            Err(_) => Verdict::Legacy,
        },
    }
}

fn judge_error(error: &RpcError, ours: Revisions) -> Verdict {
    match error.code {
        CODE_HEADER_MISMATCH | CODE_MISSING_CLIENT_CAPABILITY => {
            match ours.only(Era::Modern).iter().next() {
                Some(newest) => Verdict::Modern(newest, None),
                None => Verdict::Stranger(Vec::new()),
            }
        }
        CODE_UNSUPPORTED_VERSION => {
            let data = error.data.as_ref();
            match data.and_then(|data| data.decode::<UnsupportedVersionData>().ok()) {
                Some(data) => choose(&data.supported, None, ours),
                None => Verdict::Legacy,
            }
        }
        _ => Verdict::Legacy,
    }
}

/// The newest that both speak, the modern era first.
fn choose(theirs: &[String], found: Option<Box<DiscoverResult>>, ours: Revisions) -> Verdict {
    let both = |era| {
        ours.only(era)
            .iter()
            .find(|r| theirs.iter().any(|name| name == r.name()))
    };
    if let Some(revision) = both(Era::Modern) {
        return Verdict::Modern(revision, found);
    }
    if both(Era::Legacy).is_some() {
        return Verdict::Legacy;
    }
    Verdict::Stranger(theirs.to_vec())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn seen(answer: Result<&'static str, &'static str>, ours: Revisions) -> String {
        let raw = |text| Raw::from_static(text);
        let (ok, err) = (answer.map(raw).ok(), answer.map_err(raw).err());
        let answer = ok.as_ref().ok_or_else(|| err.as_ref().unwrap());
        match judge(answer, ours) {
            Verdict::Modern(revision, found) => format!("{revision} {}", found.is_some()),
            Verdict::Legacy => "legacy".to_owned(),
            Verdict::Stranger(theirs) => format!("none of {}", theirs.join(" ")),
        }
    }

    // req: S-ERA
    #[test]
    fn only_what_the_modern_era_defines_is_its_sign() {
        let discovered = r#"{"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{},"resultType":"complete"}"#;
        let rows = [
            (Ok(discovered), "2026-07-28 true"),
            (
                Ok(r#"{"supportedVersions":["2025-11-25"],"capabilities":{}}"#),
                "legacy",
            ),
            (
                Ok(r#"{"supportedVersions":["2031-01-01"],"capabilities":{}}"#),
                "none of 2031-01-01",
            ),
            (Ok(r#"{"tools":[]}"#), "legacy"),
            (Ok("{}"), "legacy"),
            (
                Err(r#"{"code":-32601,"message":"no such method"}"#),
                "legacy",
            ),
            (Err(r#"{"code":-32602,"message":"bad"}"#), "legacy"),
            (
                Err(r#"{"code":-32600,"message":"not initialized"}"#),
                "legacy",
            ),
            (Err(r#"{"code":-32000,"message":"no session"}"#), "legacy"),
            (Err(r#"{"code":"-32022"}"#), "legacy"),
            (Err("7"), "legacy"),
            (
                Err(r#"{"code":-32020,"message":"headers"}"#),
                "2026-07-28 false",
            ),
            (
                Err(r#"{"code":-32021,"message":"capability"}"#),
                "2026-07-28 false",
            ),
            (Err(r#"{"code":-32022,"message":"version"}"#), "legacy"),
            (
                Err(r#"{"code":-32022,"message":"version","data":{"supported":"2026-07-28"}}"#),
                "legacy",
            ),
            (
                Err(
                    r#"{"code":-32022,"message":"v","data":{"supported":["2026-07-28"],"requested":"x"}}"#,
                ),
                "2026-07-28 false",
            ),
            (
                Err(
                    r#"{"code":-32022,"message":"v","data":{"supported":["2025-06-18"],"requested":"x"}}"#,
                ),
                "legacy",
            ),
            (
                Err(
                    r#"{"code":-32022,"message":"v","data":{"supported":["2030-01-01"],"requested":"x"}}"#,
                ),
                "none of 2030-01-01",
            ),
        ];
        for (answer, want) in rows {
            assert_eq!(seen(answer, Revisions::ALL), want, "{answer:?}");
        }
        let legacy = Revisions::of(Era::Legacy);
        assert_eq!(seen(Ok(discovered), legacy), "legacy");
    }
}
