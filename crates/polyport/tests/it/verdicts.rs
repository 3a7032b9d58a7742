//! What a client remembers of the era of servers that it starts: processes and messages are counted.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polyport::client::{Connect, MemoryVerdicts, ServerKey, VerdictStore};
use polyport::{ClientError, Command, Era, Patience, Revision, Revisions};

/// A server that writes down each start and each message that it hears. `$LIKE` says what it does: `dies` of the question about its
/// era, is `mute` about it, is `modern` and dies of a handshake, or has a `fault` and always dies.
const SCRIPT: &str = r#"
echo start >> "$LOG"
like=$(cat "$LIKE")
[ "$like" = fault ] && exit 1
while read -r line; do
  method=$(printf '%s' "$line" | sed -n 's/.*"method":"\([^"]*\)".*/\1/p')
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  echo "$method" >> "$LOG"
  case "$like $method" in
    "dies server/discover"|"modern initialize") exit 1 ;;
    "modern server/discover") echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"resultType\":\"complete\"}}" ;;
    *" initialize") echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}" ;;
  esac
done
"#;

struct Place {
    folder: tempfile::TempDir,
    verdicts: Arc<Counting>,
}

/// Counts how often something is kept.
#[derive(Default)]
struct Counting {
    verdicts: MemoryVerdicts,
    kept: AtomicUsize,
}

impl VerdictStore for Counting {
    fn recall(&self, server: &ServerKey) -> Option<Revision> {
        self.verdicts.recall(server)
    }

    fn keep(&self, server: &ServerKey, spoken: Revision) {
        self.kept.fetch_add(1, Ordering::Relaxed);
        self.verdicts.keep(server, spoken);
    }

    fn forget(&self, server: &ServerKey) {
        self.verdicts.forget(server);
    }
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            verdicts: Arc::default(),
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn like(&self) -> PathBuf {
        self.folder.path().join("like")
    }

    fn command(&self) -> Command {
        let command = Command::new("sh").args(["-c", SCRIPT]);
        let command = command.env("LOG", self.log()).env("LIKE", self.like());
        command.folder(self.folder.path())
    }

    fn known(&self) -> Option<Revision> {
        self.verdicts
            .recall(&ServerKey::of_command(&self.command()))
    }

    fn connect(&self, like: &str) -> Connect {
        fs::write(self.like(), like).unwrap();
        let _ = fs::remove_file(self.log());
        // A mute server is not waited for as long as people wait.
        let patience = Patience {
            probe: std::time::Duration::from_millis(100),
            ..Patience::default()
        };
        let connect = Connect::command(self.command()).patience(patience);
        connect.verdicts(self.verdicts.clone())
    }

    /// Connects, and says what the server has written down.
    async fn heard(&self, connect: Connect) -> (Result<Revision, ClientError>, String) {
        let connected = connect.connect().await;
        let revision = match connected {
            Ok(client) => {
                let revision = client.opened().revision;
                client.close().await;
                Ok(revision)
            }
            Err(error) => Err(error),
        };
        (revision, written(&self.log()))
    }
}

fn written(log: &Path) -> String {
    let log = fs::read_to_string(log).unwrap_or_default();
    log.split_whitespace().collect::<Vec<_>>().join(" ")
}

const GREETED: &str = "start initialize notifications/initialized";

// req: D-42
#[tokio::test]
async fn d_42_a_known_server_is_started_once_and_not_asked() {
    for (like, first) in [
        (
            "dies",
            "start server/discover start initialize notifications/initialized",
        ),
        (
            "mute",
            "start server/discover initialize notifications/initialized",
        ),
    ] {
        let place = Place::new();
        let (revision, heard) = place.heard(place.connect(like)).await;
        assert_eq!(revision.unwrap(), Revision::V2025_06_18);
        assert_eq!(heard, first);
        let (revision, heard) = place.heard(place.connect(like)).await;
        assert_eq!(revision.unwrap(), Revision::V2025_06_18);
        assert_eq!(heard, GREETED, "{like}");
        // It grows old although it is used.
        assert_eq!(place.verdicts.kept.load(Ordering::Relaxed), 1, "{like}");
        // Who is told to remember nothing asks.
        let (_, heard) = place.heard(place.connect(like).no_verdicts()).await;
        assert_eq!(heard, first);
    }
}

// req: D-42
#[tokio::test]
async fn d_42_a_server_that_has_changed_its_era_is_found_out_anew() {
    let place = Place::new();
    place.heard(place.connect("dies")).await.0.unwrap();
    assert_eq!(place.known(), Some(Revision::V2025_06_18));
    let (revision, heard) = place.heard(place.connect("modern")).await;
    assert_eq!(revision.unwrap(), Revision::LATEST);
    assert_eq!(heard, "start initialize start server/discover");
    assert_eq!(place.known(), Some(Revision::LATEST));
    let (_, heard) = place.heard(place.connect("modern")).await;
    assert_eq!(heard, "start server/discover");
    let (revision, _) = place.heard(place.connect("dies")).await;
    assert_eq!(revision.unwrap(), Revision::V2025_06_18);
    assert_eq!(place.known(), Some(Revision::V2025_06_18));
}

// req: D-42
#[tokio::test]
async fn d_42_what_leads_to_nothing_is_forgotten_and_one_era_alone_teaches_nothing() {
    let place = Place::new();
    let legacy = place.connect("dies").speaks(Revisions::of(Era::Legacy));
    assert_eq!(place.heard(legacy).await.1, GREETED);
    assert_eq!(place.known(), None);
    place.heard(place.connect("dies")).await.0.unwrap();
    // What is known says nothing where the era is.
    let modern = place.connect("modern").speaks(Revisions::of(Era::Modern));
    assert_eq!(place.heard(modern).await.1, "start server/discover");
    assert_eq!(place.known(), Some(Revision::V2025_06_18));
    let (ended, heard) = place.heard(place.connect("fault")).await;
    assert!(matches!(ended, Err(ClientError::Gone { .. })), "{ended:?}");
    assert_eq!(heard, "start start");
    assert_eq!(place.known(), None);
}

// req: D-42
#[tokio::test]
async fn d_42_a_program_that_cannot_be_started_says_nothing_of_its_era() {
    let verdicts = Arc::new(MemoryVerdicts::default());
    let command = Command::new("/nonexistent/server");
    let server = ServerKey::of_command(&command);
    verdicts.keep(&server, Revision::V2025_06_18);
    let connect = Connect::command(command).verdicts(verdicts.clone());
    let ended = connect.connect().await;
    assert!(matches!(ended, Err(ClientError::NotStarted { .. })));
    assert_eq!(verdicts.recall(&server), Some(Revision::V2025_06_18));
}
