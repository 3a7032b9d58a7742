//! `--sample-cmd`: what a server asks of the client's model is asked of a command. It gets the conversation as text on its standard input,
//! and what it prints is the answer.

use std::process::Stdio;
use std::time::Duration;

use polyport::client::Connect;
use polyport::model::{Blocks, Content, CreateMessageParams, CreateMessageResult, RpcError};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::answers::Answers;
use crate::failure::Failure;

/// How long a command may take for one answer.
const LONGEST: Duration = Duration::from_secs(600);
/// What is read of it.
const BYTES: u64 = 4 << 20;
/// The code of a client that could not do it.
const FAILED: i32 = -32603;

/// A connection whose server may ask `command`.
pub(crate) fn by(command: String, answers: &Answers, connect: Connect) -> Connect {
    let answers = answers.clone();
    connect.on_sample(move |asked| {
        let (command, answers) = (command.clone(), answers.clone());
        async move {
            let text = conversation(&asked);
            let answered = timeout(LONGEST, answer(&command, text)).await;
            let answered = answered.unwrap_or_else(|_| Err("it took too long".to_owned()));
            answered.map_err(|why| {
                answers.fail(Failure::unexpected(format!("--sample-cmd: {why}")));
                // What went wrong here is nothing for the server.
                RpcError::new(FAILED, "the client's model gave no answer")
            })
        }
    })
}

async fn answer(command: &str, text: String) -> Result<CreateMessageResult, String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("it cannot be run: {error}"))?;
    let mut group = Group::of(&child);
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let asks = async move {
        if let Some(mut input) = input {
            // It may answer without having read everything.
            let _ = input.write_all(text.as_bytes()).await;
        }
    };
    let hears = async move {
        let mut said = Vec::new();
        match output {
            Some(output) => output
                .take(BYTES + 1)
                .read_to_end(&mut said)
                .await
                .map(|_| said),
            None => Ok(said),
        }
    };
    let ((), said) = tokio::join!(asks, hears);
    let said = said.map_err(|error| format!("it cannot be read: {error}"))?;
    if said.len() as u64 > BYTES {
        return Err("it printed more than 4 MiB".to_owned());
    }
    let ended = child.wait().await.map_err(|error| error.to_string())?;
    // Its number may be another's now.
    group.0 = None;
    if !ended.success() {
        return Err(format!("it failed ({ended})"));
    }
    let said = String::from_utf8(said).map_err(|_| "it printed no text".to_owned())?;
    Ok(CreateMessageResult::new(
        "command",
        Content::text(said.trim_end()),
    ))
}

/// What the command has started ends with it when nobody waits for its answer any more.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// What is asked, as a person would read it. One message stands by itself.
fn conversation(asked: &CreateMessageParams) -> String {
    let mut parts: Vec<String> = asked.system_prompt.iter().cloned().collect();
    for message in &asked.messages {
        let text = words(&message.content);
        parts.push(if asked.messages.len() == 1 {
            text
        } else {
            format!("{}: {text}", message.role)
        });
    }
    let mut text = parts.join("\n\n");
    text.push('\n');
    text
}

fn words(blocks: &Blocks) -> String {
    let blocks = blocks.as_slice().iter().map(|block| match block {
        Content::Text(text) => text.text.clone(),
        _ => "(something that is no text)".to_owned(),
    });
    blocks.collect::<Vec<_>>().join("\n")
}
