//! Where on a machine configurations stand: the folders of its user, told by the environment, and that of the project.

use std::ffi::OsString;
use std::path::PathBuf;

/// Whose customs are followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Os {
    /// Linux and its like.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl Os {
    /// The one this was compiled for.
    pub const HERE: Self = if cfg!(target_os = "macos") {
        Self::Mac
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Linux
    };
}

/// The folders that files are looked for in. One that is not known holds nothing.
#[derive(Clone, Debug)]
pub struct Places {
    /// Whose customs are followed.
    pub os: Os,
    /// Where the project is.
    pub project: PathBuf,
    /// The user's own folder.
    pub home: Option<PathBuf>,
    /// Where programs keep their configuration.
    pub config: Option<PathBuf>,
    /// Where we keep how to undo what we wrote.
    pub state: Option<PathBuf>,
    /// Where Codex keeps its own.
    pub codex: Option<PathBuf>,
    /// Where Claude Code keeps `.claude.json`.
    pub claude: Option<PathBuf>,
}

impl Places {
    /// As the environment says; `project` is where the work is.
    pub fn of(os: Os, project: PathBuf, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let folder = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = match os {
            Os::Windows => folder("USERPROFILE").or_else(|| folder("HOME")),
            Os::Linux | Os::Mac => folder("HOME"),
        };
        let below = |path: &str| home.as_ref().map(|home| home.join(path));
        let (config, state) = match os {
            Os::Windows => (
                folder("APPDATA").or_else(|| below("AppData/Roaming")),
                folder("LOCALAPPDATA").or_else(|| below("AppData/Local")),
            ),
            Os::Linux | Os::Mac => (
                folder("XDG_CONFIG_HOME").or_else(|| below(".config")),
                folder("XDG_STATE_HOME").or_else(|| below(".local/state")),
            ),
        };
        Self {
            os,
            project,
            config,
            state: state.map(|state| state.join("polyport")),
            codex: folder("CODEX_HOME").or_else(|| below(".codex")),
            claude: folder("CLAUDE_CONFIG_DIR").or_else(|| home.clone()),
            home,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_where() {
        let of = |os, pairs: &'static [(&str, &str)]| {
            Places::of(os, PathBuf::from("p"), |name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let linux = of(Os::Linux, &[("HOME", "/h")]);
        assert_eq!(linux.config, Some("/h/.config".into()));
        assert_eq!(linux.state, Some("/h/.local/state/polyport".into()));
        assert_eq!(linux.codex, Some("/h/.codex".into()));
        assert_eq!(linux.claude, Some("/h".into()));
        let moved = of(
            Os::Linux,
            &[
                ("HOME", "/h"),
                ("XDG_CONFIG_HOME", "/x"),
                ("CODEX_HOME", "/c"),
                ("CLAUDE_CONFIG_DIR", ""),
            ],
        );
        assert_eq!(moved.config, Some("/x".into()));
        assert_eq!(moved.codex, Some("/c".into()));
        assert_eq!(moved.claude, Some("/h".into()));
        let windows = of(Os::Windows, &[("APPDATA", "/a"), ("USERPROFILE", "/u")]);
        assert_eq!(windows.config, Some("/a".into()));
        assert_eq!(of(Os::Linux, &[]).home, None);
    }
}
