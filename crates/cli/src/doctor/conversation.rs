//! Checks of what is said once a server answers: its revision, its lists against what it declares, and how long an answer takes.

use std::time::{Duration, Instant};

use polyport::client::List;
use polyport::{Client, ClientError, Code, Era, Raw, Revision};
use serde_json::Value;

use super::report::{Check, Report, time};
use super::{failed, lint};
use crate::failure::Failure;
use crate::limit::Limit;
use crate::reach::Manner;
use crate::server::LONGER;
use crate::{exit, ui};

/// How long all lists may take together, however many pages they have; longer where one request may.
const LISTS: Duration = Duration::from_secs(120);
/// How long is waited for a list that was not declared.
const UNDECLARED: Duration = Duration::from_secs(2);
/// Round trips.
const PINGS: usize = 3;
/// A round trip that takes longer is felt.
const SLOW: Duration = Duration::from_secs(1);

/// Looks at a server that answers, in the time that is left. Do messages travel with headers?
///
/// # Errors
/// Nobody reads.
pub(super) async fn examine(
    report: &mut Report,
    client: &Client,
    manner: &Manner,
    has_headers: bool,
) -> Result<(), Failure> {
    let limit = Limit::begin(report.in_time(manner).timeout);
    let looking = async { Ok(look(report, client, manner, has_headers).await) };
    match limit.within(client, looking).await {
        Ok(looked) => looked,
        Err(late) => give_up(report, late, manner),
    }
}

/// No time is left in the middle of it. It speaks MCP: what is to be done is about the request that is open.
fn give_up(report: &mut Report, late: ClientError, manner: &Manner) -> Result<(), Failure> {
    let ClientError::TimedOut(mut late) = late else {
        return Ok(());
    };
    let Some((id, name)) = report.next() else {
        return Ok(());
    };
    late.after = manner.timeout.unwrap_or(late.after);
    let open = late.standing.iter().find_map(|now| now.open.first());
    let remedy = match open {
        Some(open) => format!("answer {}; {LONGER}", open.method),
        None => LONGER.to_owned(),
    };
    let late = failed(&ClientError::TimedOut(late));
    report.give_up(Check::of(id, format!("time for {name}"), &late).remedy(remedy))
}

async fn look(
    report: &mut Report,
    client: &Client,
    manner: &Manner,
    has_headers: bool,
) -> Result<(), Failure> {
    revision(report, client)?;
    let most = manner.timeout.map_or(LISTS, |timeout| timeout.max(LISTS));
    let listed = tokio::time::timeout(most, lists(report, client)).await;
    let Ok(tools) = listed else {
        let detail = format!("not done after {} s", most.as_secs());
        let check = Check::fail(exit::TIMED_OUT, "lists", "lists answer", detail);
        return report.add(check.remedy("end the pages: the last one has no nextCursor"));
    };
    let Some(tools) = tools? else {
        return Ok(());
    };
    ping(report, client).await?;
    lint::examine(report, &tools, client.opened().revision, has_headers)
}

fn revision(report: &mut Report, client: &Client) -> Result<(), Failure> {
    let opened = client.opened();
    let who = opened.server.as_ref().map_or_else(
        || "a server without a name".to_owned(),
        |server| format!("{} {}", server.display_name(), server.version),
    );
    let spoken = opened.revision.name();
    report.add(match opened.revision.profile().era {
        Era::Modern => Check::ok("revision", format!("speaks {spoken}"), who),
        Era::Legacy => {
            let newest = Revision::LATEST.name();
            let detail = format!("{who}; legacy era, the newest is {newest}");
            Check::warn("revision", format!("speaks {spoken}"), detail)
                .why("It works with hosts of today.")
                .remedy("a newer SDK, when there is time for it")
        }
    })
}

/// Asks for all lists. Gives the tools, or nothing where a list fails.
async fn lists(report: &mut Report, client: &Client) -> Result<Option<Vec<Raw>>, Failure> {
    let offered = &client.opened().capabilities;
    let (tools, resources, prompts) = (
        offered.tools.is_some(),
        offered.resources.is_some(),
        offered.prompts.is_some(),
    );
    let mut counts = Vec::new();
    let mut listed = Vec::new();
    for (list, method, kind, is_declared) in [
        (List::Tools, "tools/list", "tool", tools),
        (List::Resources, "resources/list", "resource", resources),
        (
            List::Templates,
            "resources/templates/list",
            "template",
            resources,
        ),
        (List::Prompts, "prompts/list", "prompt", prompts),
    ] {
        if !is_declared {
            undeclared(report, client, method, &format!("{kind}s")).await?;
            continue;
        }
        match client.entries(list).await {
            Ok(entries) => {
                counts.push(ui::count(entries.len(), kind));
                if list == List::Tools {
                    listed = entries;
                }
            }
            // Many a server has resources and has never heard of templates.
            Err(ClientError::Refused(refused))
                if list == List::Templates && refused.code == Code::MethodNotFound.number() =>
            {
                counts.push("no templates".to_owned());
            }
            Err(error) => {
                let what = format!("{method} answers");
                report.add(match error {
                    ClientError::Gone { .. } | ClientError::Closed => ended("lists", what, &error),
                    ClientError::TimedOut(_) => Check::of("lists", what, &failed(&error)),
                    _ => Check::of("lists", what, &failed(&error))
                        .remedy(format!("answer {method}, or do not declare {kind}s")),
                })?;
                return Ok(None);
            }
        }
    }
    let what = "lists answer as declared";
    report.add(if counts.is_empty() {
        let check = Check::warn("lists", what, "it declares no tools, resources or prompts");
        check.remedy("declare what it has in its capabilities: hosts ask for nothing else")
    } else {
        Check::ok("lists", what, counts.join(", "))
    })?;
    Ok(Some(listed))
}

/// Has it something that it does not declare?
async fn undeclared(
    report: &mut Report,
    client: &Client,
    method: &str,
    what: &str,
) -> Result<(), Failure> {
    let asked = client.request_raw(method, "{}", None);
    let Ok(Ok(answer)) = tokio::time::timeout(UNDECLARED, asked).await else {
        return Ok(());
    };
    let answer: Value = answer.decode().unwrap_or_default();
    let lists = answer.as_object().into_iter().flatten();
    let count = lists
        .filter_map(|(_, list)| Some(list.as_array()?.len()))
        .sum::<usize>();
    if count == 0 {
        return Ok(());
    }
    let detail = format!("{method} has {count}, and its capabilities say nothing of {what}");
    let check = Check::warn("undeclared", "what it has is declared", detail);
    report.add(
        check
            .why("Hosts do not ask for what is not declared.")
            .remedy(format!("declare {what}")),
    )
}

async fn ping(report: &mut Report, client: &Client) -> Result<(), Failure> {
    let mut times = Vec::new();
    for _ in 0..PINGS {
        let begun = Instant::now();
        if let Err(error) = client.ping().await {
            let what = "a ping is answered";
            let check = Check::of("ping", what, &failed(&error));
            return report.add(match error {
                ClientError::Gone { .. } | ClientError::Closed => {
                    ended("ping", what.to_owned(), &error)
                }
                ClientError::Refused(_) => {
                    check.remedy("answer ping with {}: hosts ask it whether the server is there")
                }
                _ => check,
            });
        }
        times.push(begun.elapsed());
    }
    times.sort();
    let median = times[PINGS / 2];
    let (what, detail) = ("a ping is answered", time(median));
    report.add(if median > SLOW {
        let check = Check::warn("ping", what, detail);
        check
            .why("Each call takes at least as long.")
            .remedy("is the machine busy, or far away?")
    } else {
        Check::ok("ping", what, detail)
    })
}

/// It has ended in the middle of it.
fn ended(id: &'static str, what: String, error: &ClientError) -> Check {
    let check = Check::fail(4, id, what, error.to_string())
        .remedy("find out what ends it: --frames shows the message that does");
    match error {
        ClientError::Gone { said, .. } if !said.is_empty() => check.why(format!(
            "It said last on stderr:\n    {}",
            said.join("\n    ")
        )),
        _ => check,
    }
}
