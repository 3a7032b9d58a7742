//! Checks of a server that is a program: is it there, can it work where it is started, and does it keep its standard output clean?

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use polyport::{ClientError, Command};
use polyport_config::mask;

use super::report::{Check, Report, Step, some};
use super::wire::{Junk, Wire};
use super::{conversation, failed, open, report};
use crate::failure::Failure;
use crate::reach::{Manner, Reached};
use crate::ui;

/// What is looked at before the conversation.
pub(super) const STEPS: [Step; 5] = [
    ("program", "program"),
    ("folder", "working folder"),
    ("environment", "environment"),
    ("start", "start"),
    ("stdout", "stdout"),
];

/// How long is waited for an answer behind a line that is none.
const GRACE: Duration = Duration::from_secs(1);
/// Ends of the names of files that are run by another program.
const SCRIPTS: &[&str] = &[
    "py", "js", "mjs", "cjs", "ts", "mts", "sh", "rb", "jar", "php", "csproj",
];

/// Looks at a program.
///
/// # Errors
/// An option is wrong; nobody reads.
pub(super) async fn examine(
    report: &mut Report,
    command: Command,
    manner: &Manner,
    wire: &Arc<Wire>,
    is_hosts: bool,
) -> Result<(), Failure> {
    if !(program(report, &command)? && folder(report, &command, is_hosts)?) {
        return Ok(());
    }
    let empty = environment(report, &command)?;
    let missing = files(report, &command)?;
    let in_time = report.in_time(manner);
    let opened = tokio::select! {
        opened = open(Reached::Command(command.clone()), &in_time, wire) => opened?,
        // Whatever comes now, hosts are gone.
        () = wire.only_junk(GRACE) => Err(ClientError::TimedOut(GRACE.into())),
    };
    if let Err(ClientError::NotStarted { error, .. }) = &opened {
        let check = Check::fail(4, "start", "process started", error.to_string());
        return report.add(check.remedy(
            "run it by itself; a script needs a first line such as #!/bin/sh, a binary the kind of this machine",
        ));
    }
    let after = wire.first_word();
    let after = after.map(|time| format!("first word after {}", report::time(time)));
    report.add(Check::ok(
        "start",
        "process started",
        after.unwrap_or_default(),
    ))?;
    if let Err(ClientError::Gone { status, said }) = &opened {
        let status = status.map_or_else(
            || "it has closed its output".to_owned(),
            |status| format!("it has ended ({status})"),
        );
        return report.add(gone(status, said, wire.junk()).remedy(lacking(&empty, &missing)));
    }
    if let Some(junk) = wire.junk() {
        report.add(dirty(&junk))?;
        if let Ok(client) = opened {
            client.close().await;
        }
        return Ok(());
    }
    let client = match opened {
        Ok(client) => client,
        Err(error) => {
            report.add(clean())?;
            return report.add(silent(&error));
        }
    };
    report.add(clean())?;
    report.add(Check::ok("answer", "it answers", ""))?;
    survived(report, wire)?;
    conversation::examine(report, &client, manner, false).await?;
    client.close().await;
    match wire.junk() {
        Some(junk) => report.add(dirty(&junk)),
        None => Ok(()),
    }
}

/// Is it there, and can it be run?
fn program(report: &mut Report, command: &Command) -> Result<bool, Failure> {
    let name = command.program().to_string_lossy().into_owned();
    let name = name.rsplit('/').next().unwrap_or_default();
    let what = format!("{name} found");
    let check = match found(command) {
        Ok(path) => {
            report.add(Check::ok("program", what, ui::path(&path)))?;
            return Ok(true);
        }
        Err(Some(path)) => {
            let path = ui::path(&path);
            Check::fail(4, "program", what, format!("{path} cannot be run"))
                .remedy(format!("chmod +x {path}, or name the program that runs it"))
        }
        Err(None) => {
            let is_path = command.program().as_encoded_bytes().contains(&b'/');
            let detail = if is_path {
                format!("there is no {}", ui::path(Path::new(command.program())))
            } else {
                "on no folder of its PATH".to_owned()
            };
            let check = Check::fail(4, "program", what, detail);
            if is_path {
                check.remedy(
                    "name it by its full path; a relative one starts from the working folder",
                )
            } else {
                check
                    .why("Hosts that are started from a desktop often have a shorter PATH than a shell.")
                    .remedy("install it, or name it by its full path (which NAME says it where it works)")
            }
        }
    };
    report.add(check)?;
    Ok(false)
}

/// The program, as the system will find it. An error with a path: that one cannot be run.
fn found(command: &Command) -> Result<PathBuf, Option<PathBuf>> {
    let base = command.works_in().unwrap_or_else(|| Path::new(""));
    let name = Path::new(command.program());
    if command.program().as_encoded_bytes().contains(&b'/') {
        let path = base.join(name);
        return match path.metadata() {
            Ok(about) if about.is_file() && about.permissions().mode() & 0o111 != 0 => Ok(path),
            Ok(_) => Err(Some(path)),
            Err(_) => Err(None),
        };
    }
    let paths = variable(command, "PATH").or_else(|| std::env::var_os("PATH"));
    let mut other = None;
    for folder in std::env::split_paths(&paths.unwrap_or_default()) {
        let path = base.join(folder).join(name);
        match path.metadata() {
            Ok(about) if about.is_file() && about.permissions().mode() & 0o111 != 0 => {
                return Ok(path);
            }
            Ok(about) if about.is_file() => _ = other.get_or_insert(path),
            _ => {}
        }
    }
    Err(other)
}

fn variable(command: &Command, name: &str) -> Option<OsString> {
    let named = command.variables().iter().rev();
    let mut named = named.filter(|(known, _)| known == OsStr::new(name));
    named.next().map(|(_, value)| value.clone())
}

/// Is there a folder where it works?
fn folder(report: &mut Report, command: &Command, is_hosts: bool) -> Result<bool, Failure> {
    let what = "working folder exists";
    let Some(folder) = command.works_in() else {
        let here = std::env::current_dir().unwrap_or_default();
        let here = ui::path(&here);
        let detail = if is_hosts {
            format!("{here}; the entry names none: the host may take another")
        } else {
            here
        };
        report.add(Check::ok("folder", what, detail))?;
        return Ok(true);
    };
    let shown = ui::path(folder);
    let wrong = match folder.metadata() {
        Ok(about) if about.is_dir() => {
            report.add(Check::ok("folder", what, shown))?;
            return Ok(true);
        }
        Ok(_) => format!("{shown} is no folder"),
        Err(error) => format!("{shown}: {error}"),
    };
    let check = Check::fail(2, "folder", what, wrong)
        .why("No program starts in a folder that is not there.");
    report.add(check.remedy("name another one: cwd in its entry, or --cwd FOLDER"))?;
    Ok(false)
}

/// Has each variable a value? Gives the names of those that have none.
fn environment(report: &mut Report, command: &Command) -> Result<Vec<String>, Failure> {
    let what = "variables have values";
    let (mut empty, mut odd, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for (name, _) in command.variables() {
        let name = name.to_string_lossy().into_owned();
        if all.contains(&name) {
            continue;
        }
        let value = variable(command, &name).unwrap_or_default();
        let value = value.to_string_lossy();
        if value.trim().is_empty() {
            empty.push(name.clone());
        } else if stands_for_another(&value) {
            odd.push(name.clone());
        }
        all.push(name);
    }
    if empty.is_empty() && odd.is_empty() {
        let detail = match all.len() {
            0 => "none is named: it gets PATH, HOME and their like".to_owned(),
            _ => some(&all),
        };
        report.add(Check::ok("environment", what, detail))?;
        return Ok(empty);
    }
    let mut wrong = Vec::new();
    for (names, what) in [(&empty, "empty"), (&odd, "still to be filled in")] {
        if !names.is_empty() {
            wrong.push(format!("{what}: {}", some(names)));
        }
    }
    let check = Check::warn("environment", what, wrong.join("; "))
        .why("A server may take an empty value for a wrong one.")
        .remedy("give it a value (-e NAME=VALUE, env in its entry), or leave it out");
    report.add(check)?;
    empty.extend(odd);
    Ok(empty)
}

/// Is it a text that somebody was to replace, or that no host has filled in?
fn stands_for_another(value: &str) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    let is_variable = value.strip_prefix('$').is_some_and(|rest| {
        let rest = rest.trim_start_matches('{').trim_end_matches('}');
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    let is_named = |begin: &str| lower.starts_with(begin);
    is_variable
        || (value.starts_with('<') && value.ends_with('>'))
        || ["your-", "your_", "changeme", "xxxx", "replace-me"]
            .iter()
            .any(|begin| is_named(begin))
}

/// Are the files there that its arguments name? Said only where one is not; gives those.
fn files(report: &mut Report, command: &Command) -> Result<Vec<String>, Failure> {
    let base = command.works_in().unwrap_or_else(|| Path::new(""));
    let mut missing = Vec::new();
    for argument in command.arguments() {
        let text = argument.to_string_lossy();
        let path = Path::new(argument);
        let is_script = path
            .extension()
            .and_then(OsStr::to_str)
            .is_some_and(|end| SCRIPTS.contains(&end));
        let is_plain = !text.starts_with(['-', '@']) && !text.contains("://");
        if is_script && is_plain && !text.contains(char::is_whitespace) && !base.join(path).exists()
        {
            missing.push(mask::text(&text));
        }
    }
    if missing.is_empty() {
        return Ok(missing);
    }
    let detail = format!("not in the working folder: {}", some(&missing));
    let check = Check::warn("files", "files it names exist", detail);
    report.add(check.remedy("name them by their full paths, or the folder by --cwd FOLDER"))?;
    Ok(missing)
}

fn clean() -> Check {
    Check::ok("stdout", "stdout carries only JSON-RPC", "")
}

fn dirty(junk: &Junk) -> Check {
    let detail = format!("line {}: \"{}\"", junk.line, junk.text);
    Check::fail(6, "stdout", "stdout carries only JSON-RPC", detail)
        .why("Hosts such as Claude Desktop drop the connection here.")
        .remedy("log to stderr.")
}

/// It has ended before it answered.
fn gone(status: String, said: &[String], junk: Option<Junk>) -> Check {
    let mut why = Vec::new();
    if said.is_empty() && junk.is_none() {
        why.push("It said nothing, neither on stdout nor on stderr.".to_owned());
    }
    if !said.is_empty() {
        why.push("It said last on stderr:".to_owned());
        why.extend(said.iter().map(|line| format!("    {line}")));
    }
    if let Some(junk) = junk {
        why.push("It said on stdout:".to_owned());
        why.push(format!("    {}", junk.text));
    }
    Check::fail(4, "answer", "it stays and answers", status).why(why.join("\n"))
}

/// What may help a program that has ended.
fn lacking(empty: &[String], missing: &[String]) -> String {
    match (empty, missing) {
        (_, [_, ..]) => format!(
            "name {} by its full path, or the folder by --cwd FOLDER",
            some(missing)
        ),
        ([_, ..], []) => format!("give it what it lacks, perhaps {}: -e NAME=VALUE", some(empty)),
        ([], []) => "run it by itself; what it lacks is given by -e NAME=VALUE, --inherit-env or --cwd FOLDER".to_owned(),
    }
}

/// It runs, and there is no time left for its first answer.
pub(super) fn given_up(
    report: &mut Report,
    late: &ClientError,
    wire: &Wire,
) -> Result<Check, Failure> {
    report.add(Check::ok("start", "process started", ""))?;
    if let Some(junk) = wire.junk() {
        return Ok(dirty(&junk));
    }
    report.add(clean())?;
    Ok(silent(late))
}

/// It runs, and has not answered as it should.
fn silent(error: &ClientError) -> Check {
    let check = Check::of("answer", "it answers", &failed(error));
    let ClientError::TimedOut(late) = error else {
        return check.remedy("it breaks the protocol here: --frames shows each message");
    };
    let mut why = vec!["It runs, and says nothing on stdout.".to_owned()];
    let said = late.program.iter().flat_map(|program| &program.said);
    let said: Vec<String> = said.map(|line| format!("    {line}")).collect();
    if !said.is_empty() {
        why.push("It says on stderr:".to_owned());
        why.extend(said);
    }
    check.why(why.join("\n")).remedy(
        "does it serve MCP over stdio? some need an argument for it; --timeout SECONDS waits longer",
    )
}

/// What came of the question about its era, if it was asked.
fn survived(report: &mut Report, wire: &Wire) -> Result<(), Failure> {
    let what = "it stands an unknown question";
    let (method, waited) = wire.first_question();
    let detail = match waited {
        _ if wire.openings() > 1 => {
            "server/discover has ended it; a fresh one was started".to_owned()
        }
        _ if method == "initialize" => return Ok(()),
        Some(waited) => format!("{method} has no answer after {}", report::time(waited)),
        None => return report.add(Check::ok("survives", what, "")),
    };
    let check = Check::warn("survives", what, detail)
        .why("Clients of both eras ask that first.")
        .remedy("answer unknown methods with -32601");
    report.add(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_stand_for_others() {
        for (value, want) in [
            ("<your token>", true),
            ("${TOKEN}", true),
            ("$TOKEN", true),
            ("YOUR_API_KEY", true),
            ("$", false),
            ("$12.50", false),
            ("a<b>", false),
            ("youra", false),
        ] {
            assert_eq!(stands_for_another(value), want, "{value}");
        }
    }
}
