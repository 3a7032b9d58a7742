//! What is said on standard error when serving begins: what is served, where, what it costs a model, and how to give it to a host.

use polyport::{Revisions, Server};
use serde_json::json;

use crate::ui::{self, thousands};

/// How a client reaches the server.
pub(super) enum Reached<'a> {
    /// On standard input and output.
    Stdio,
    /// At this URL.
    Http(&'a str),
}

/// The block of text.
#[derive(Debug)]
pub(super) struct StartUp {
    words: Vec<String>,
    lines: Vec<[String; 4]>,
    tools: usize,
    bytes: usize,
}

impl StartUp {
    pub(super) fn new(words: &[String]) -> Self {
        Self {
            words: words.to_vec(),
            lines: Vec::new(),
            tools: 0,
            bytes: 0,
        }
    }

    /// One back-end; the counts are those before and after it was added.
    pub(super) fn add(
        &mut self,
        kind: &str,
        what: &str,
        before: (usize, usize, usize),
        after: (usize, usize, usize),
    ) {
        let prompts = match after.1 - before.1 {
            0 => String::new(),
            n => format!("{n} prompts"),
        };
        self.lines.push([
            kind.to_owned(),
            what.to_owned(),
            format!("{} tools", after.0 - before.0),
            prompts,
        ]);
    }

    /// What the tools weigh in a model's context.
    pub(super) fn measure(&mut self, server: &Server) {
        self.tools = server.counts().0;
        self.bytes = server
            .tool_definitions()
            .map(|tool| tool.as_bytes().len())
            .sum();
    }

    /// Says it.
    pub(super) fn say(&self, reached: &Reached<'_>, speaks: Revisions, why: &str) {
        ui::say(&self.text(reached, speaks, why));
    }

    fn text(&self, reached: &Reached<'_>, speaks: Revisions, why: &str) -> String {
        let mut text = format!(
            "polyport {}  serving {} back-end{} as one MCP server\n",
            env!("CARGO_PKG_VERSION"),
            self.lines.len(),
            if self.lines.len() == 1 { "" } else { "s" }
        );
        let width = self
            .lines
            .iter()
            .map(|line| line[1].chars().count())
            .max()
            .unwrap_or(0);
        for [kind, what, tools, prompts] in &self.lines {
            let pad = " ".repeat(width - what.chars().count());
            text.push_str(
                format!("  {kind:<6}  {what}{pad}  read-only  {tools:>8}  {prompts}").trim_end(),
            );
            text.push('\n');
        }
        // Bytes divided by four: close enough for English and JSON, and honest about being a guess.
        let tokens = thousands(self.bytes / 4);
        text.push_str(&format!(
            "  {} tools, ~{tokens} tokens of definitions\n",
            self.tools
        ));
        let revisions: Vec<_> = speaks.iter().map(|r| r.name()).collect();
        let (transport, host) = match reached {
            Reached::Stdio => ("stdio".to_owned(), self.command_entry()),
            Reached::Http(url) => (
                format!("http    {url}"),
                json!({"mcpServers": {self.name(): {"type": "http", "url": url}}}),
            ),
        };
        text.push_str(&format!(
            "  {transport}  ({why})\n  speaks  {}\n",
            revisions.join(", ")
        ));
        text.push_str(&format!(
            "Give it to an AI host (Claude, Cursor, VS Code, …):\n  {host}\n"
        ));
        text
    }

    fn command_entry(&self) -> serde_json::Value {
        let program = std::env::current_exe()
            .map_or_else(|_| "polyport".to_owned(), |path| path.display().to_string());
        let mut arguments = vec!["serve".to_owned()];
        arguments.extend(self.words.iter().map(|word| absolute(word)));
        json!({"mcpServers": {self.name(): {"command": program, "args": arguments}}})
    }

    /// A name for the entry: that of the first back-end.
    fn name(&self) -> String {
        let first = self.words.first().map_or("polyport", String::as_str);
        let name = std::path::Path::new(&absolute(first))
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| "polyport".to_owned())
    }
}

/// A host starts it in another folder.
fn absolute(word: &str) -> String {
    if word == "demo" {
        return word.to_owned();
    }
    std::fs::canonicalize(word).map_or_else(|_| word.to_owned(), |path| path.display().to_string())
}
