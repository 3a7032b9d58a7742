//! What a server is called that nobody has named: after its program, after what a runner of packages or scripts runs, or after its
//! host. Never after a word that may be a secret.

use polyport_config::mask;

/// Programs that run others, with the words before which the next one belongs to them.
const RUNNERS: &[(&[&str], &[&str])] = &[
    (&["npx", "pnpx", "bunx"], &["-p", "--package", "-c"]),
    (
        &["npm", "pnpm", "yarn", "bun"],
        &["--prefix", "--dir", "-C"],
    ),
    (
        &["uvx", "uv", "pipx"],
        &[
            "--from",
            "--with",
            "--python",
            "-p",
            "--directory",
            "--project",
            "--index-url",
            "--spec",
        ],
    ),
    (
        &["docker", "podman"],
        &[
            "-e",
            "--env",
            "--env-file",
            "-v",
            "--volume",
            "--mount",
            "--network",
            "--name",
            "-p",
            "--publish",
            "-u",
            "--user",
            "-w",
            "--workdir",
            "--entrypoint",
            "--platform",
            "--add-host",
        ],
    ),
    (
        &["node", "deno", "tsx", "ts-node"],
        &["-r", "--require", "--import", "--loader"],
    ),
    (&["python", "python3", "py", "ruby", "php"], &["-W", "-X"]),
    (&["java"], &["-cp", "-classpath"]),
    (
        &["cargo", "go", "dotnet"],
        &["-p", "--bin", "--project", "--manifest-path"],
    ),
    (&["env", "cmd", "nice", "nohup", "timeout"], &["-u"]),
];
/// What stands between a runner and what it runs.
const BETWEEN: &[&str] = &["run", "exec", "dlx", "tool", "x", "/c", "start"];
/// Ends of the names of scripts.
const SCRIPTS: &[&str] = &[
    ".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".rb", ".php", ".jar", ".sh", ".exe", ".cmd",
];

/// The name.
pub(crate) fn of<'a>(program: &'a str, args: &'a [String], env: &[(String, String)]) -> &'a str {
    let shown = mask::args(args.iter().map(String::as_str));
    let is_plain = |at: usize| {
        let word = &args[at];
        shown[at] == *word && !env.iter().any(|(_, value)| value == word)
    };
    let mut called = program;
    let mut at = 0;
    // A runner may run a runner.
    while let Some((_, with_value)) = runner(called) {
        let mut is_value = false;
        let next = (at..args.len()).find(|&at| {
            let word = args[at].as_str();
            let is_its = std::mem::replace(&mut is_value, with_value.contains(&word));
            let is_assignment = word.contains('=');
            !is_its
                && !word.starts_with('-')
                && !BETWEEN.contains(&word)
                && !is_assignment
                && is_plain(at)
        });
        let Some(next) = next else { break };
        called = &args[next];
        at = next + 1;
    }
    short(called)
}

fn runner(program: &str) -> Option<&'static (&'static [&'static str], &'static [&'static str])> {
    let name = base(program);
    let name = name
        .strip_suffix(".exe")
        .or_else(|| name.strip_suffix(".cmd"))
        .unwrap_or(name);
    RUNNERS.iter().find(|(names, _)| names.contains(&name))
}

fn base(word: &str) -> &str {
    word.rsplit(['/', '\\']).next().unwrap_or(word)
}

/// Of `@scope/server-name@1.2`, `ghcr.io/a/server-name:latest` and `./server-name.js` the name.
fn short(word: &str) -> &str {
    let name = base(word);
    let name = name
        .split('@')
        .find(|part| !part.is_empty())
        .unwrap_or(name);
    let name = name.split(':').next().unwrap_or(name);
    SCRIPTS
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

/// The name of a server at an address: of its host that which is its owner's, or the port of a machine that has no name.
pub(crate) fn of_url(url: &str) -> String {
    let host = url.split('/').nth(2).unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (host, ""),
    };
    let is_address =
        host.starts_with('[') || host.split('.').all(|part| part.parse::<u8>().is_ok());
    if host == "localhost" || is_address {
        return format!("server-{port}").trim_end_matches('-').to_owned();
    }
    let mut parts: Vec<&str> = host.split('.').collect();
    if parts.len() > 1 {
        parts.pop();
    }
    // co.uk, com.au and their like.
    let is_of_all = |part: &&str| matches!(*part, "ac" | "co" | "com" | "gov" | "net" | "org");
    if parts.len() > 1 && parts.last().is_some_and(is_of_all) {
        parts.pop();
    }
    parts.pop().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_called_after_what_runs() {
        for (line, want) in [
            ("npx -y @scope/server-x@1.2", "server-x"),
            ("npx -y server-x ./data --verbose", "server-x"),
            ("npx -y server-x --token abc", "server-x"),
            ("npx -p typescript server-x", "server-x"),
            ("cmd /c npx -y server-x", "server-x"),
            ("uvx --from git+https://a.example/x mcp-x", "mcp-x"),
            ("uv run --directory /srv/x server.py", "server"),
            ("python3 -m mcp_x --key s3cret", "mcp_x"),
            ("node ./dist/weather.js s3cret", "weather"),
            (
                "docker run -i --rm -e TOKEN ghcr.io/a/server-x:latest",
                "server-x",
            ),
            ("docker run -i --rm -e TOKEN=s3cret server-x", "server-x"),
            ("env TOKEN=s3cret server-x", "server-x"),
            (
                "/usr/local/bin/server-x serve --password s3cret",
                "server-x",
            ),
            ("server-x s3cret", "server-x"),
            // Nothing that it runs can be told from a secret.
            ("npx sk-abcdef", "npx"),
            ("npx given", "npx"),
            ("npx", "npx"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let env = [("TOKEN".to_owned(), "given".to_owned())];
            assert_eq!(of(&words[0], &words[1..], &env), want, "{line}");
        }
    }

    #[test]
    fn servers_at_addresses_are_called_after_their_owners() {
        for (url, want) in [
            ("https://mcp.github.com/mcp", "github"),
            ("https://api.example.co.uk:8443/x", "example"),
            ("https://user:secret@example.com/mcp?key=s", "example"),
            ("http://box/mcp", "box"),
            ("http://127.0.0.1:3001/mcp", "server-3001"),
            ("http://localhost/mcp", "server"),
            ("ws://[::1]:80/ws", "server-80"),
            ("https://[::1]/mcp", "server"),
        ] {
            assert_eq!(of_url(url), want, "{url}");
        }
    }
}
