//! Servers that fail at each step of a session, in every way: a typed error in bounded time, nobody left behind, nothing leaked.
#![cfg(unix)]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use polyport::client::Connect;
use polyport::{Client, ClientError, Command, Era, Patience, Raw, Revisions};
use polyport_testkit::{Fails, failing, side_by_side};

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(30);
/// How long one answer is waited for of a server that may say nothing.
const PATIENCE: Duration = Duration::from_secs(2);
/// The steps of a session at which the script may fail; at one more it lives.
const STEPS: u32 = 14;

/// A server that has a child of its own. It knows the method by which a modern one is asked for what it is if `ERA` says so.
const SCRIPT: &str = r#"
# What has the output open keeps it open.
case "$HOW" in ClosesHalf) sleep 1000 >&- & ;; *) sleep 1000 & ;; esac
printf '%s\n' "$!" "$$" >> "$PIDS"
at 1
echo "starting" >&2
case "$ERA" in
  Modern) found='"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}'; more='"resultType":"complete",'; kept='"ttlMs":0,"cacheScope":"private",' ;;
  *) found='"error":{"code":-32601,"message":"no"}' ;;
esac
while read -r line; do
  number
  case "$line" in
    *'"server/discover"'*) answer 2 "$found" ;;
    *'"initialize"'*) answer 5 '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"notifications/initialized"'*) at 8 ;;
    *'"tools/list"'*) at 9; half; at 10; rest "\"result\":{$more$kept\"tools\":[]}" ;;
    *'"tools/call"'*) at 11; printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n'; answer 12 "\"result\":{$more\"content\":[]}" ;;
  esac
done
"#;

/// What a session is held with.
#[derive(Clone, Copy, Debug)]
struct Case {
    fails: Fails,
    step: u32,
    server: Era,
    speaks: Revisions,
}

impl Case {
    /// A session in which nothing fails.
    fn whole() -> Self {
        Self {
            fails: Fails::Dies,
            step: STEPS + 1,
            server: Era::Legacy,
            speaks: Revisions::of(Era::Legacy),
        }
    }

    /// All that come to their step.
    fn all() -> Vec<Self> {
        let pairs = [
            (Era::Legacy, Revisions::ALL),
            (Era::Legacy, Revisions::of(Era::Legacy)),
            (Era::Modern, Revisions::ALL),
            (Era::Modern, Revisions::of(Era::Modern)),
        ];
        let mut all = Vec::new();
        for (server, speaks) in pairs {
            for fails in Fails::ALL {
                for step in 1..=STEPS + 1 {
                    let comes = match step {
                        2..=4 => speaks != Revisions::of(Era::Legacy),
                        5..=8 => server == Era::Legacy,
                        _ => true,
                    };
                    all.extend(comes.then_some(Self {
                        fails,
                        step,
                        server,
                        speaks,
                    }));
                }
            }
        }
        all
    }

    /// Does its session end well all the same? A server that breaks of the question about the era is started anew, and not asked; one that
    /// has answered it as a modern one is not.
    fn lives(self) -> bool {
        let is_of_question = match self.step {
            2 | 3 => true,
            4 => self.server == Era::Legacy,
            _ => false,
        };
        self.step > 13 || (self.speaks == Revisions::ALL && is_of_question)
    }
}

async fn connect(case: Case, pids: &Path, patience: Duration) -> Result<Client, ClientError> {
    let command = failing(SCRIPT, case.step, case.fails)
        .env("ERA", format!("{:?}", case.server))
        .env("PIDS", pids);
    let patience = Patience {
        probe: patience,
        handshake: patience,
        request: patience,
    };
    // What is known of one is nothing that another goes by.
    let connect = Connect::command(command).no_verdicts();
    let connect = connect.speaks(case.speaks).patience(patience);
    connect.connect().await
}

/// A whole session; the result of its call.
async fn session(case: Case, pids: &Path, patience: Duration) -> Result<(), ClientError> {
    let client = connect(case, pids, patience).await?;
    let listed = client.tools().await;
    let called = match listed {
        Ok(_) => client
            .call_tool("a", &Raw::from_static("{}"))
            .await
            .map(drop),
        Err(error) => Err(error),
    };
    client.close().await;
    called
}

fn is_there(pid: &str) -> bool {
    // A process that has ended and was not waited for has no command line.
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Waits until none of the servers, and of the children that they had, is there any more.
async fn all_are_gone(pids: &Path) {
    for pid in fs::read_to_string(pids).unwrap().lines() {
        let gone = async {
            while is_there(pid) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let gone = tokio::time::timeout(LONG, gone).await;
        assert!(gone.is_ok(), "a server or a child of one lives on");
    }
}

fn check(case: Case, ended: Result<(), ClientError>) {
    let lives = case.lives();
    match (case.fails, ended) {
        (_, Ok(())) => assert!(lives, "{case:?}"),
        (Fails::Dies, Err(ClientError::Gone { status, said })) => {
            assert!(!lives, "{case:?}");
            assert_eq!(status.and_then(|s| s.signal()), Some(9), "{case:?}");
            let said = said.iter().any(|line| line == "starting");
            assert_eq!(said, case.step > 1, "{case:?}");
        }
        (Fails::ClosesHalf, Err(ClientError::Gone { .. })) => assert!(!lives, "{case:?}"),
        (Fails::Silent | Fails::Drips, Err(ClientError::TimedOut(_))) => {
            assert!(!lives, "{case:?}");
        }
        (_, Err(other)) => panic!("{case:?}: {other:?}"),
    }
}

// req: S-GONE
#[tokio::test]
async fn a_server_that_fails_at_any_step_of_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let sessions = Case::all().into_iter().map(|case| {
        let pids = pids.clone();
        async move {
            let ended = tokio::time::timeout(LONG, session(case, &pids, PATIENCE)).await;
            check(case, ended.unwrap_or_else(|_| panic!("{case:?} hangs")));
        }
    });
    side_by_side(24, sessions).await;
    assert!(fs::read_to_string(&pids).unwrap().lines().count() > 300);
    all_are_gone(&pids).await;
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Children of this process that nobody has waited for.
fn zombies() -> usize {
    let me = std::process::id().to_string();
    let of_mine = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let mut fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let (state, parent) = (fields.next(), fields.next());
        state == Some("Z") && parent == Some(&me)
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter(|entry| fs::metadata(entry.path()).is_ok())
        .map(of_mine)
        .filter(|found| *found)
        .count()
}

// req: S-GONE
#[tokio::test]
async fn a_thousand_servers_that_fail_leave_nothing() {
    let round = |n: u32| async move {
        // At once, after something, in the midst of a line, after a greeting that is none, with an open ear, and not at all.
        let script = match n % 6 {
            0 => "exit 3",
            1 => "read -r line; kill -9 $$",
            2 => "read -r line; printf '{\"jsonrpc\"'; exit 0",
            3 => "echo hello; exec true",
            4 => "exec >&-; exec cat",
            _ => "exec sleep 1000",
        };
        let patience = Patience {
            handshake: Duration::from_millis(if n % 6 == 5 { 10 } else { 30_000 }),
            ..Patience::default()
        };
        let command = Command::new("sh").args(["-c", script]);
        let connect = Connect::command(command).speaks(Revisions::of(Era::Legacy));
        let connecting = connect.patience(patience).connect();
        let ended = tokio::time::timeout(LONG, connecting).await.unwrap();
        let is_as_it_was = match &ended {
            Err(ClientError::Gone { .. }) => n % 6 != 5,
            Err(ClientError::TimedOut(_)) => n % 6 == 5,
            _ => false,
        };
        assert!(is_as_it_was, "{n}: {ended:?}");
    };
    side_by_side(24, (0..48).map(round)).await;
    let before = descriptors();
    side_by_side(24, (0..1_000).map(round)).await;
    let rest = async {
        while descriptors() > before + 2 || zombies() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let gone = tokio::time::timeout(LONG, rest).await;
    assert!(gone.is_ok(), "{before} became {}", descriptors());
}

// req: BR-212
#[tokio::test]
async fn br_212_two_hundred_connections_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    for _ in 0..5 {
        session(Case::whole(), &pids, LONG).await.unwrap();
    }
    let before = descriptors();
    for n in 0..200 {
        let client = connect(Case::whole(), &pids, LONG).await.unwrap();
        client.tools().await.unwrap();
        // Some are ended, and some are only let go.
        if n % 2 == 0 {
            client.close().await;
        }
    }
    let rest = async {
        let text = fs::read_to_string(&pids).unwrap();
        assert_eq!(text.lines().count(), 2 * 205);
        while descriptors() > before + 2 || zombies() > 0 || text.lines().any(is_there) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let gone = tokio::time::timeout(LONG, rest).await;
    assert!(gone.is_ok(), "{before} became {}", descriptors());
}
