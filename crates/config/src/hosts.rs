//! The hosts of MCP servers: where each keeps its configuration and in what shape. Data; how a file is read or written is elsewhere.

use std::path::PathBuf;

use crate::node::Format;
use crate::places::{Os, Places};

/// A program that uses MCP servers.
#[derive(Debug, Eq, PartialEq)]
pub struct Host {
    /// As it is named on a command line.
    pub id: &'static str,
    /// As its makers name it.
    pub name: &'static str,
    /// Its files. The first one for an operating system is where is written unless a scope is named.
    pub files: &'static [HostFile],
    /// How an entry is written.
    pub shape: Shape,
    /// What makes it read its file again.
    pub reload: &'static str,
    /// Does it take a name with a dot in it?
    pub takes_dots: bool,
}

/// One of a host's files.
#[derive(Debug, Eq, PartialEq)]
pub struct HostFile {
    /// For whom.
    pub scope: &'static str,
    /// On which systems; empty means on all.
    pub on: &'static [Os],
    /// Below which folder.
    pub base: Base,
    /// Its path there, and others that are taken where they exist already.
    pub paths: &'static [&'static str],
    /// Under which names its servers are. `*` is the folder of the project.
    pub keys: &'static [&'static str],
    /// Do its makers document it so?
    pub confirmed: bool,
}

/// A folder that paths of files start from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Base {
    /// The project.
    Project,
    /// The user's own folder.
    Home,
    /// Where programs keep their configuration.
    Config,
    /// Codex's own.
    Codex,
    /// Where Claude Code keeps `.claude.json`.
    Claude,
}

/// How a host writes an entry.
#[derive(Debug, Eq, PartialEq)]
pub struct Shape {
    /// JSON or TOML.
    pub format: Format,
    /// What `type` says of a program; nothing: no such member.
    pub program: Option<&'static str>,
    /// Is `command` a list that holds the arguments, too?
    pub list: bool,
    /// The name of the environment.
    pub env: &'static str,
    /// The name of the folder it works in, if it can be said.
    pub cwd: Option<&'static str>,
    /// How an address is said, if that can be.
    pub url: Option<Url>,
}

/// How a host writes an address.
#[derive(Debug, Eq, PartialEq)]
pub struct Url {
    /// The name of the address.
    pub url: &'static str,
    /// What `type` says of it; nothing: no such member.
    pub kind: Option<&'static str>,
    /// The name of the headers.
    pub headers: &'static str,
    /// The name and the `type` of an address of the older HTTP with SSE, if it speaks that.
    pub sse: Option<(&'static str, Option<&'static str>)>,
}

/// `mcpServers`, as most have it.
const COMMON: Shape = Shape {
    format: Format::Json,
    program: None,
    list: false,
    env: "env",
    cwd: None,
    url: Some(ADDRESS),
};

const ADDRESS: Url = Url {
    url: "url",
    kind: None,
    headers: "headers",
    sse: Some(("url", Some("sse"))),
};

const SERVERS: &[&str] = &["mcpServers"];

const fn file(
    scope: &'static str,
    base: Base,
    paths: &'static [&'static str],
    keys: &'static [&'static str],
) -> HostFile {
    HostFile {
        scope,
        on: &[],
        base,
        paths,
        keys,
        confirmed: true,
    }
}

/// Every host that is known.
pub static HOSTS: &[Host] = &[
    Host {
        id: "claude-code",
        name: "Claude Code",
        files: &[
            file("project", Base::Project, &[".mcp.json"], SERVERS),
            file("user", Base::Claude, &[".claude.json"], SERVERS),
            file(
                "local",
                Base::Claude,
                &[".claude.json"],
                &["projects", "*", "mcpServers"],
            ),
        ],
        shape: Shape {
            url: Some(Url {
                kind: Some("http"),
                ..ADDRESS
            }),
            ..COMMON
        },
        reload: "Restart Claude Code",
        takes_dots: true,
    },
    Host {
        id: "claude-desktop",
        name: "Claude Desktop",
        files: &[
            HostFile {
                on: &[Os::Mac],
                ..file(
                    "user",
                    Base::Home,
                    &["Library/Application Support/Claude/claude_desktop_config.json"],
                    SERVERS,
                )
            },
            HostFile {
                on: &[Os::Windows],
                ..file(
                    "user",
                    Base::Config,
                    &["Claude/claude_desktop_config.json"],
                    SERVERS,
                )
            },
            HostFile {
                on: &[Os::Linux],
                confirmed: false,
                ..file(
                    "user",
                    Base::Config,
                    &["Claude/claude_desktop_config.json"],
                    SERVERS,
                )
            },
        ],
        shape: Shape {
            url: None,
            ..COMMON
        },
        reload: "Quit Claude Desktop and start it again",
        takes_dots: true,
    },
    Host {
        id: "cursor",
        name: "Cursor",
        files: &[
            file("project", Base::Project, &[".cursor/mcp.json"], SERVERS),
            file("user", Base::Home, &[".cursor/mcp.json"], SERVERS),
        ],
        shape: Shape {
            // It finds out for itself what is spoken there.
            url: Some(Url {
                sse: Some(("url", None)),
                ..ADDRESS
            }),
            ..COMMON
        },
        reload: "Switch the server on in Cursor's settings",
        takes_dots: true,
    },
    Host {
        id: "vscode",
        name: "VS Code",
        files: &[
            file(
                "project",
                Base::Project,
                &[".vscode/mcp.json"],
                &["servers"],
            ),
            HostFile {
                on: &[Os::Linux, Os::Windows],
                ..file("user", Base::Config, &["Code/User/mcp.json"], &["servers"])
            },
            HostFile {
                on: &[Os::Mac],
                ..file(
                    "user",
                    Base::Home,
                    &["Library/Application Support/Code/User/mcp.json"],
                    &["servers"],
                )
            },
        ],
        shape: Shape {
            program: Some("stdio"),
            cwd: Some("cwd"),
            url: Some(Url {
                kind: Some("http"),
                ..ADDRESS
            }),
            ..COMMON
        },
        reload: "Start the server from VS Code's list of MCP servers",
        takes_dots: true,
    },
    Host {
        id: "codex",
        name: "Codex",
        files: &[
            file("user", Base::Codex, &["config.toml"], &["mcp_servers"]),
            file(
                "project",
                Base::Project,
                &[".codex/config.toml"],
                &["mcp_servers"],
            ),
        ],
        shape: Shape {
            format: Format::Toml,
            cwd: Some("cwd"),
            url: Some(Url {
                headers: "http_headers",
                sse: None,
                ..ADDRESS
            }),
            ..COMMON
        },
        reload: "Restart Codex",
        takes_dots: false,
    },
    Host {
        id: "gemini",
        name: "Gemini CLI",
        files: &[
            file("user", Base::Home, &[".gemini/settings.json"], SERVERS),
            file(
                "project",
                Base::Project,
                &[".gemini/settings.json"],
                SERVERS,
            ),
        ],
        shape: Shape {
            cwd: Some("cwd"),
            url: Some(Url {
                url: "httpUrl",
                sse: Some(("url", None)),
                ..ADDRESS
            }),
            ..COMMON
        },
        reload: "Restart Gemini CLI",
        takes_dots: true,
    },
    Host {
        id: "windsurf",
        name: "Windsurf",
        files: &[file(
            "user",
            Base::Home,
            &[".codeium/windsurf/mcp_config.json"],
            SERVERS,
        )],
        shape: Shape {
            url: Some(Url {
                url: "serverUrl",
                sse: Some(("serverUrl", None)),
                ..ADDRESS
            }),
            ..COMMON
        },
        reload: "Refresh the list of MCP servers in Windsurf",
        takes_dots: true,
    },
    Host {
        id: "zed",
        name: "Zed",
        files: &[
            HostFile {
                on: &[Os::Linux],
                ..file(
                    "user",
                    Base::Config,
                    &["zed/settings.json"],
                    &["context_servers"],
                )
            },
            HostFile {
                on: &[Os::Mac],
                ..file(
                    "user",
                    Base::Home,
                    &[".config/zed/settings.json"],
                    &["context_servers"],
                )
            },
            HostFile {
                on: &[Os::Windows],
                ..file(
                    "user",
                    Base::Config,
                    &["Zed/settings.json"],
                    &["context_servers"],
                )
            },
            HostFile {
                confirmed: false,
                ..file(
                    "project",
                    Base::Project,
                    &[".zed/settings.json"],
                    &["context_servers"],
                )
            },
        ],
        shape: Shape {
            url: Some(Url {
                sse: None,
                ..ADDRESS
            }),
            ..COMMON
        },
        reload: "Zed reads it when it is saved",
        takes_dots: true,
    },
    Host {
        id: "opencode",
        name: "opencode",
        files: &[
            file(
                "user",
                Base::Config,
                &["opencode/opencode.json", "opencode/opencode.jsonc"],
                &["mcp"],
            ),
            file(
                "project",
                Base::Project,
                &[
                    "opencode.json",
                    "opencode.jsonc",
                    ".opencode/opencode.json",
                    ".opencode/opencode.jsonc",
                ],
                &["mcp"],
            ),
        ],
        shape: Shape {
            program: Some("local"),
            list: true,
            env: "environment",
            // It finds out for itself what is spoken there.
            url: Some(Url {
                kind: Some("remote"),
                sse: Some(("url", Some("remote"))),
                ..ADDRESS
            }),
            ..COMMON
        },
        reload: "Restart opencode",
        takes_dots: true,
    },
    Host {
        id: "inspector",
        name: "MCP Inspector",
        files: &[HostFile {
            confirmed: false,
            ..file("user", Base::Home, &[".mcp-inspector/mcp.json"], SERVERS)
        }],
        shape: COMMON,
        reload: "Restart the Inspector",
        takes_dots: true,
    },
    // Has no file: what is written is printed, for any host that reads JSON of this shape.
    Host {
        id: "mcp-json",
        name: "plain JSON",
        files: &[],
        shape: COMMON,
        reload: "",
        takes_dots: true,
    },
];

/// The host of this name.
pub fn host(id: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.id == id)
}

/// Is that what a host calls the table of its servers?
pub(crate) fn holds_servers(table: &str) -> bool {
    let mut files = HOSTS.iter().flat_map(|host| host.files);
    files.any(|file| file.keys.last() == Some(&table))
}

/// May a host that has its servers in this table speak the older HTTP with SSE?
pub(crate) fn may_speak_sse(table: &[&str]) -> bool {
    let mut hosts = HOSTS.iter().filter(|host| {
        let addresses = host.shape.url.is_some();
        addresses && host.files.iter().any(|file| file.keys == table)
    });
    let speaks = |host: &Host| host.shape.url.as_ref().is_some_and(|url| url.sse.is_some());
    hosts.clone().next().is_none() || hosts.any(speaks)
}

impl Host {
    /// Its files on this machine, each with its path; whether they exist or not.
    pub fn files(
        &self,
        places: &Places,
    ) -> impl Iterator<Item = (&'static HostFile, PathBuf)> + use<> {
        let places = places.clone();
        self.files
            .iter()
            .filter_map(move |file| Some((file, file.path(&places)?)))
    }
}

impl HostFile {
    /// Its path: that of the first that exists, or the first.
    pub fn path(&self, places: &Places) -> Option<PathBuf> {
        if !self.on.is_empty() && !self.on.contains(&places.os) {
            return None;
        }
        let base = match self.base {
            Base::Project => Some(&places.project),
            Base::Home => places.home.as_ref(),
            Base::Config => places.config.as_ref(),
            Base::Codex => places.codex.as_ref(),
            Base::Claude => places.claude.as_ref(),
        }?;
        let mut paths = self.paths.iter().map(|path| base.join(path));
        let first = paths.next()?;
        let mut all = std::iter::once(first.clone()).chain(paths);
        Some(all.find(|path| path.exists()).unwrap_or(first))
    }

    /// The names before that of a server.
    pub fn keys(&self, places: &Places) -> Vec<String> {
        let named = |key: &&'static str| match *key {
            "*" => places.project.display().to_string(),
            key => key.to_owned(),
        };
        self.keys.iter().map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_a_first_file_on_each_system() {
        for os in [Os::Linux, Os::Mac, Os::Windows] {
            let places = Places::of(os, PathBuf::from("/p"), |_| Some("/h".into()));
            for host in HOSTS {
                let scopes: Vec<&str> = host.files(&places).map(|(file, _)| file.scope).collect();
                let mut unlike = scopes.clone();
                unlike.sort_unstable();
                unlike.dedup();
                assert_eq!(unlike.len(), scopes.len(), "{} on {os:?}", host.id);
                assert_eq!(scopes.is_empty(), host.id == "mcp-json", "{}", host.id);
            }
        }
    }
}
