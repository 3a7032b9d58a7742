//! What there is to know of a server that a host has: its entry there, and where the host itself says what it makes of it. The table is data.

use polyport_config::{Host, Os};

use super::report::{Check, Report};
use crate::configured;
use crate::failure::Failure;
use crate::ui;

/// How one looks into a host.
struct Help {
    /// The host.
    id: &'static str,
    /// Where it logs what happens with its servers; `{name}` is the server's. The first that fits the system.
    logs: &'static [(Option<Os>, &'static str)],
    /// Where it lists its servers.
    list: &'static str,
    /// Do its makers document it so?
    is_confirmed: bool,
}

const HELP: &[Help] = &[
    Help {
        id: "claude-code",
        logs: &[(None, "claude --debug prints them")],
        list: "claude mcp list, or /mcp inside it",
        is_confirmed: true,
    },
    Help {
        id: "claude-desktop",
        logs: &[
            (
                Some(Os::Mac),
                "~/Library/Logs/Claude/mcp-server-{name}.log, and mcp.log beside it",
            ),
            (
                Some(Os::Windows),
                "%APPDATA%\\Claude\\logs\\mcp-server-{name}.log, and mcp.log beside it",
            ),
            (
                None,
                "~/.config/Claude/logs/mcp-server-{name}.log (not confirmed)",
            ),
        ],
        list: "Settings, Developer",
        is_confirmed: true,
    },
    Help {
        id: "cursor",
        logs: &[(None, "the Output panel, MCP Logs in its list")],
        list: "Settings, the page of MCP",
        is_confirmed: true,
    },
    Help {
        id: "vscode",
        logs: &[(
            None,
            "the command MCP: List Servers, then the server, then Show Output",
        )],
        list: "the command MCP: List Servers",
        is_confirmed: true,
    },
    Help {
        id: "codex",
        logs: &[(None, "~/.codex/log/codex-tui.log")],
        list: "codex mcp list, or /mcp inside it",
        is_confirmed: true,
    },
    Help {
        id: "gemini",
        logs: &[(None, "gemini --debug prints them")],
        list: "gemini mcp list, or /mcp inside it",
        is_confirmed: true,
    },
    Help {
        id: "windsurf",
        logs: &[(None, "the Output panel, Windsurf in its list")],
        list: "the page of MCP servers in its settings",
        is_confirmed: false,
    },
    Help {
        id: "zed",
        logs: &[
            (Some(Os::Mac), "~/Library/Logs/Zed/Zed.log"),
            (Some(Os::Windows), "%LOCALAPPDATA%\\Zed\\logs\\Zed.log"),
            (None, "~/.local/share/zed/logs/Zed.log"),
        ],
        list: "the settings of its agent panel",
        is_confirmed: true,
    },
    Help {
        id: "opencode",
        logs: &[(None, "~/.local/share/opencode/log/, the newest file")],
        list: "opencode mcp list",
        is_confirmed: true,
    },
    Help {
        id: "inspector",
        logs: &[(None, "the terminal it was started from, and its page")],
        list: "its page",
        is_confirmed: false,
    },
];

/// Looks at the entry.
///
/// # Errors
/// Nobody reads.
pub(super) fn entry(report: &mut Report, host: &'static Host, name: &str) -> Result<(), Failure> {
    // What is wrong with it is said where the server is read.
    let Ok(found) = configured::in_host(host, name) else {
        return Ok(());
    };
    let what = format!("{} has it", host.name);
    let detail = format!("{}:{}", ui::path(&found.file), found.entry.line);
    report.add(if found.entry.enabled {
        Check::ok("host.entry", what, detail)
    } else {
        Check::warn("host.entry", what, format!("{detail}, switched off"))
            .remedy(format!("switch it on in {}", host.name))
    })?;
    for doubt in &found.entry.doubts {
        let why = format!("{}: {}", doubt.field, doubt.why);
        let check = Check::warn("host.values", format!("{} takes it", host.name), why);
        report.add(check.remedy(doubt.hint.clone().unwrap_or_default()))?;
    }
    Ok(())
}

/// Says where the host keeps its logs, and how its list is seen.
///
/// # Errors
/// Nobody reads.
pub(super) fn help(report: &mut Report, host: &'static Host, name: &str) -> Result<(), Failure> {
    let Some(help) = HELP.iter().find(|help| help.id == host.id) else {
        return Ok(());
    };
    let (logs, list) = help.on(Os::HERE, name);
    report.add(Check::ok(
        "host.logs",
        format!("logs of {}", host.name),
        logs,
    ))?;
    report.add(Check::ok("host.list", "its list of servers", list))
}

impl Help {
    fn on(&self, os: Os, name: &str) -> (String, String) {
        let fits = |(on, _): &&(Option<Os>, &str)| on.is_none_or(|on| on == os);
        let logs = self.logs.iter().find(fits).map_or("", |(_, logs)| *logs);
        let note = if self.is_confirmed {
            ""
        } else {
            " (not confirmed)"
        };
        let logs = logs.replace("{name}", name);
        (format!("{logs}{note}"), format!("{}{note}", self.list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyport_config::HOSTS;

    // req: D-26
    #[test]
    fn d_26_of_each_host_it_is_known_where_it_logs() {
        for host in HOSTS.iter().filter(|host| !host.files.is_empty()) {
            let help = HELP.iter().find(|help| help.id == host.id);
            let help = help.unwrap_or_else(|| panic!("{}", host.id));
            for os in [Os::Linux, Os::Mac, Os::Windows] {
                let (logs, list) = help.on(os, "shop");
                assert!(!logs.is_empty() && !list.is_empty(), "{} {os:?}", host.id);
                assert!(!logs.contains('{'), "{logs}");
            }
        }
    }
}
