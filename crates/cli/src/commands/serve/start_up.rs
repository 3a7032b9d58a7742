//! What is said on standard error when serving begins: what is served, what it costs a model, where, and how to give it to a host.

use std::path::Path;

use polyport::{Revisions, Server};
use polyport_backends::files::Folders;
use polyport_backends::files::serve::{Access, count_resources};

use super::entry::Entry;
use crate::ui::{self, count, thousands};

/// Columns of the widest line; only what is meant to be copied is longer.
const WIDTH: usize = 100;
/// Columns for what a back-end serves.
const WHAT: usize = 28;
/// Folders that are listed by name.
const NAMED: usize = 20;

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
    entry: Entry,
    backends: Vec<Backend>,
    /// Tools, prompts, fixed resources, and bytes of the definitions of tools so far.
    before: [usize; 4],
}

/// One line of it.
#[derive(Debug, Default)]
struct Backend {
    kind: &'static str,
    what: String,
    is_writable: bool,
    /// It is somebody else's: what it offers is known when a client comes.
    is_other: bool,
    /// The names with which paths begin where there are several folders, and how they were named.
    folders: Vec<(String, String)>,
    resources: Option<(usize, bool)>,
    tools: usize,
    prompts: usize,
    bytes: usize,
}

impl StartUp {
    /// With nothing served yet.
    pub(super) fn new(entry: Entry) -> Self {
        Self {
            entry,
            backends: Vec::new(),
            before: [0; 4],
        }
    }

    /// The next back-end.
    pub(super) fn will_add(&mut self, kind: &'static str, what: &str) {
        self.backends.push(Backend {
            kind,
            what: what.to_owned(),
            ..Backend::default()
        });
    }

    /// The next is a server of somebody else.
    pub(super) fn will_add_other(&mut self, kind: &'static str, what: &str) {
        self.will_add(kind, what);
        if let Some(last) = self.backends.last_mut() {
            last.is_other = true;
        }
    }

    /// The next back-end is made of folders, which were named by these paths.
    pub(super) fn will_add_folders(&mut self, folders: &Folders, named: &[&Path], access: Access) {
        let what = match named {
            [only] => ui::path(only),
            several => count(several.len(), "folder"),
        };
        self.will_add("files", &what);
        if let Some(last) = self.backends.last_mut() {
            last.is_writable = access == Access::Write;
            last.resources = count_resources(folders);
            let names = folders.iter().map(|folder| folder.name().to_owned());
            last.folders = names.zip(named.iter().map(|path| ui::path(path))).collect();
        }
    }

    /// The server with that back-end in it.
    pub(super) fn added(&mut self, server: Server) -> Server {
        let (tools, prompts, resources) = server.counts();
        let bytes = server
            .tool_definitions()
            .iter()
            .map(|tool| tool.as_bytes().len())
            .sum();
        let before = std::mem::replace(&mut self.before, [tools, prompts, resources, bytes]);
        if let Some(last) = self.backends.last_mut() {
            last.tools = tools - before[0];
            last.prompts = prompts - before[1];
            last.bytes = bytes - before[3];
            if resources > before[2] {
                last.resources = Some((resources - before[2], false));
            }
        }
        server
    }

    /// Whether clients may change something.
    pub(super) fn is_writable(&self) -> bool {
        self.backends.iter().any(|backend| backend.is_writable)
    }

    /// Says it.
    pub(super) fn say(&self, reached: &Reached<'_>, speaks: Revisions, why: &str) {
        ui::note(&self.text(reached, speaks, why));
    }

    fn text(&self, reached: &Reached<'_>, speaks: Revisions, why: &str) -> String {
        let mut lines = vec![format!(
            "polyport {}  serving {} as one MCP server",
            env!("CARGO_PKG_VERSION"),
            count(self.backends.len(), "back-end"),
        )];
        self.table(&mut lines);
        lines.extend(self.backends.iter().filter_map(Backend::writes));
        lines.push(match reached {
            Reached::Stdio => format!("  stdio   ({why})"),
            Reached::Http(url) => format!("  http    {url}  ({why})"),
        });
        let revisions: Vec<_> = speaks.iter().map(|r| r.name()).collect();
        lines.push(format!("  speaks  {}", revisions.join(", ")));
        lines.push(String::new());
        lines.push(
            "For an AI host that starts it itself (in VS Code, \"servers\" instead of \"mcpServers\"):".to_owned(),
        );
        lines.push(self.entry.command().to_string());
        if let Reached::Http(url) = reached {
            lines.push("For one that connects to it while it runs:".to_owned());
            lines.push(self.entry.url(url).to_string());
        }
        lines.join("\n") + "\n"
    }

    fn table(&self, lines: &mut Vec<String>) {
        let rows: Vec<_> = self.backends.iter().map(Backend::cells).collect();
        let width = |column: usize| {
            let widths = rows.iter().map(|row| row[column].chars().count());
            widths.max().unwrap_or(0)
        };
        for (backend, [what, tools, tokens, rest]) in self.backends.iter().zip(&rows) {
            let line = format!(
                "  {:<6}  {what:<what_width$}  {access:<9}  {tools:>tools_width$}  {tokens:>tokens_width$}  {rest}",
                backend.kind,
                access = match backend {
                    Backend { is_other: true, .. } => "",
                    Backend {
                        is_writable: true, ..
                    } => "writable",
                    _ => "read-only",
                },
                what_width = width(0),
                tools_width = width(1),
                tokens_width = width(2),
            );
            lines.push(line.trim_end().to_owned());
            backend.list_folders(lines);
        }
        if self
            .backends
            .iter()
            .filter(|backend| !backend.is_other)
            .count()
            > 1
        {
            let sum = |of: fn(&Backend) -> usize| self.backends.iter().map(of).sum();
            lines.push(format!(
                "  {}, {} in all",
                count(sum(|b| b.tools), "tool"),
                tokens(sum(|b| b.bytes))
            ));
        }
    }
}

impl Backend {
    fn cells(&self) -> [String; 4] {
        if self.is_other {
            return [
                ui::tail(&self.what, WHAT),
                String::new(),
                String::new(),
                String::new(),
            ];
        }
        let mut rest = Vec::new();
        if let Some((n, more)) = self.resources {
            let more = if more { "+" } else { "" };
            let s = if n == 1 { "" } else { "s" };
            rest.push(format!("{}{more} resource{s}", thousands(n)));
        }
        if self.prompts > 0 {
            rest.push(count(self.prompts, "prompt"));
        }
        [
            ui::tail(&self.what, WHAT),
            count(self.tools, "tool"),
            tokens(self.bytes),
            rest.join("  "),
        ]
    }

    /// Where clients may change what.
    fn writes(&self) -> Option<String> {
        let (place, whose) = match self.folders.len() {
            1 => (ui::tail(&self.what, WHAT), "its"),
            _ => (self.what.clone(), "their"),
        };
        let kept = format!("deletions are kept in {whose} .polyport-trash");
        self.is_writable
            .then(|| format!("  writes  open in {place} (--write); {kept}"))
    }

    fn list_folders(&self, lines: &mut Vec<String>) {
        if self.folders.len() < 2 {
            return;
        }
        let shown = self.folders.iter().take(NAMED);
        let names: Vec<_> = shown
            .clone()
            .map(|(name, _)| format!("{}/", ui::tail(name, 30)))
            .collect();
        let width = names
            .iter()
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0);
        for (name, (_, path)) in names.iter().zip(shown) {
            let path = ui::tail(path, WIDTH - 12 - width);
            lines.push(format!("          {name:<width$}  {path}"));
        }
        if self.folders.len() > NAMED {
            lines.push(format!("          and {} more", self.folders.len() - NAMED));
        }
    }
}

/// Bytes divided by four: close enough for English and JSON, and marked as the guess it is (D-41).
fn tokens(bytes: usize) -> String {
    format!("~{} tokens", thousands(bytes / 4))
}
