//! Looks at a server step by step, and says what is wrong with it and what to do. `report` owns what is said, `wire` what is heard on the
//! way, each other file one group of checks.

mod address;
mod conversation;
mod hosts;
mod lint;
mod program;
mod report;
mod through;
mod wire;

use std::sync::Arc;

use polyport::{Client, ClientError};
use polyport_config::Host;

use crate::answers::Answers;
use crate::failure::Failure;
use crate::limit::Limit;
use crate::reach::{Aimed, Manner, Reached};
use crate::server;

pub(crate) use report::Report;
use report::{Check, Step};
pub(crate) use through::Ways;
use wire::Wire;

/// What is asked of every server.
const TALK: [Step; 5] = [
    ("answer", "initialize"),
    ("revision", "revision"),
    ("lists", "list"),
    ("ping", "ping"),
    ("lint", "lint"),
];

/// Looks at a server, and at the entry of a host if one names it; not for longer than is said in all.
///
/// # Errors
/// Nothing that a server does: an option that is wrong, or nobody reads what is said.
pub(crate) async fn examine(
    report: &mut Report,
    aimed: Aimed,
    manner: &Manner,
    host: Option<(&'static Host, String)>,
) -> Result<(), Failure> {
    let named = host.as_ref().map(|(host, name)| (*host, name.as_str()));
    let limit = Limit::begin(manner.timeout);
    let wire = Arc::<Wire>::default();
    let looking = look(report, aimed, manner, &wire, named);
    match limit.holds(None, looking).await {
        Ok(looked) => looked?,
        Err(late) => give_up(report, &late, &wire)?,
    }
    report.skip_the_rest()?;
    match named {
        Some((host, name)) => hosts::help(report, host, name),
        None => Ok(()),
    }
}

/// No time is left for the step that comes next.
fn give_up(report: &mut Report, late: &ClientError, wire: &Wire) -> Result<(), Failure> {
    match (report.next(), late) {
        (Some(("start", _)), ClientError::TimedOut(of)) if of.program.is_some() => {
            let check = program::given_up(report, late, wire)?;
            report.give_up(check)
        }
        (Some((id, name)), _) => {
            let check = Check::of(id, format!("time for {name}"), &failed(late));
            report.give_up(check)
        }
        // Only the end of the connection was waited for.
        (None, _) => Ok(()),
    }
}

async fn look(
    report: &mut Report,
    aimed: Aimed,
    manner: &Manner,
    wire: &Arc<Wire>,
    named: Option<(&'static Host, &str)>,
) -> Result<(), Failure> {
    if let Some((host, name)) = named {
        hosts::entry(report, host, name)?;
    }
    match aimed.reached {
        Err(failure) => {
            report.add(Check::of("named", "the server is known", &failure))?;
            report.plan(&[("look", "all that would be looked at")]);
        }
        Ok(Reached::Command(command)) => {
            report.plan(&program::STEPS);
            report.plan(&TALK);
            program::examine(report, command, manner, wire, named.is_some()).await?;
        }
        Ok(Reached::Remote(remote)) => {
            report.plan(&address::STEPS);
            report.plan(&TALK);
            address::examine(report, remote, manner).await?;
        }
        Ok(inside @ Reached::Inside(_)) => {
            report.plan(&TALK);
            match open(inside, manner, wire).await? {
                Err(error) => {
                    report.add(Check::of("answer", "it answers", &failed(&error)))?;
                }
                Ok(client) => {
                    report.add(Check::ok("answer", "it answers", "built in"))?;
                    conversation::examine(report, &client, manner, false).await?;
                    client.close().await;
                }
            }
        }
    }
    Ok(())
}

/// Opens the conversation; all of it is heard by `wire`.
///
/// # Errors
/// Options that are wrong. That of the server is inside.
async fn open(
    reached: Reached,
    manner: &Manner,
    wire: &Arc<Wire>,
) -> Result<Result<Client, ClientError>, Failure> {
    let hears = Arc::clone(wire);
    let connect = manner.heard_by(reached.connect()?, move |speaker, text| {
        hears.hear(speaker, text);
    })?;
    // Servers hide from a client what it says that it cannot answer: the doctor sees what ls does.
    let connect = Answers::default().on(connect, None);
    Ok(connect.connect().await)
}

/// A client's error, with what to do about it.
fn failed(error: &ClientError) -> Failure {
    server::failure(error, "the server")
}
