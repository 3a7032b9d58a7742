//! Links to servers, and pools of them: made when needed, made again, and left alone for a while after a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport::client::{Connect, Health, Link, LinkError, Pool, PoolError};
use polyport::{Client, ClientError, Command, Server};
use tokio::time::{Instant, advance};

fn server(name: &str) -> Server {
    Server::new(name, "1").tool("hello", "", |_cx, (): ()| async { Ok("hello") })
}

fn missing() -> Connect {
    Connect::command(Command::new("/nowhere/at/all"))
}

async fn dies(client: &Client) {
    // A program that has ended is seen by its output.
    while !client.is_closed() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// req: S-POOL
#[tokio::test]
async fn one_connection_for_all_who_wait() {
    let starts = Arc::new(AtomicUsize::new(0));
    let counts = starts.clone();
    let server = server("one").on_start(move || {
        let counts = counts.clone();
        async move {
            counts.fetch_add(1, Ordering::SeqCst);
            Ok::<_, String>(())
        }
    });
    let link = Link::new(Connect::service(server.into_service()));
    assert!(matches!(link.health(), Health::Idle));
    let (one, other) = tokio::join!(link.open(), link.open());
    assert!(Arc::ptr_eq(&one.unwrap(), &other.unwrap()));
    assert_eq!((link.connected(), starts.load(Ordering::SeqCst)), (1, 1));
    link.close().await;
    assert!(matches!(link.open().await, Err(LinkError::Closed)));
}

// req: S-POOL
#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_left_alone_longer_each_time() {
    let link = Link::new(missing());
    let mut pauses = Vec::new();
    for _ in 0..8 {
        let Err(LinkError::Down { again, .. }) = link.open().await else {
            panic!("it cannot be started");
        };
        // Until then nobody tries, and all hear of it at once.
        let begun = Instant::now();
        let refused = link.open().await;
        assert!(matches!(refused, Err(LinkError::Down { again: same, .. }) if same == again));
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let pause = again - Instant::now();
        pauses.push(pause.as_secs());
        advance(pause).await;
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
}

// req: S-POOL
#[tokio::test]
async fn a_server_that_has_ended_is_started_again() {
    let script = r#"read line; printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}'; read line"#;
    let link = Link::new(Connect::command(Command::new("sh").arg("-c").arg(script)));
    let first = link.open().await.unwrap();
    first.client().ping().await.unwrap_err();
    dies(first.client()).await;
    let Health::Down { again, .. } = link.health() else {
        panic!("it ended as soon as it was used");
    };
    tokio::time::sleep_until(again).await;
    let second = link.open().await.unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    assert_eq!(link.connected(), 2);
    link.close().await;
}

// req: S-POOL
#[tokio::test]
async fn one_that_is_down_changes_nothing_for_the_others() {
    let pool = Pool::new();
    assert!(pool.add("good", Connect::service(server("good").into_service())));
    assert!(pool.add("bad", missing()));
    assert!(!pool.add("good", missing()), "the name is taken");
    assert!(matches!(
        pool.open("none").await,
        Err(PoolError::Unknown(_))
    ));
    assert!(matches!(
        pool.open("bad").await,
        Err(PoolError::Link { .. })
    ));
    let good = pool.open("good").await.unwrap();
    assert_eq!(good.client().tools().await.unwrap().len(), 1);
    let health: Vec<_> = pool.health();
    assert!(matches!(&health[0], (name, Health::Down { .. }) if name == "bad"));
    assert!(matches!(&health[1], (name, Health::Up { .. }) if name == "good"));
    assert!(pool.remove("bad").await && !pool.remove("bad").await);
    pool.close().await;
    assert!(good.is_closed());
    assert!(pool.health().is_empty());
}

// req: BR-021
#[tokio::test]
async fn br_021_a_program_that_is_not_there_or_ends_at_once_is_said_soon_and_by_name() {
    let pool = Pool::new();
    pool.add("good", Connect::service(server("good").into_service()));
    pool.add("missing", missing());
    let ends = Command::new("sh").args(["-c", "echo 'no key is set' >&2; exit 3"]);
    pool.add("ends", Connect::command(ends));
    let begun = Instant::now();
    let (missing, ends, good) =
        tokio::join!(pool.open("missing"), pool.open("ends"), pool.open("good"));
    assert!(begun.elapsed() < Duration::from_secs(10));
    let missing = missing.unwrap_err().to_string();
    assert!(
        missing.starts_with("missing: cannot start /nowhere/at/all: No such file"),
        "{missing}"
    );
    let ends = ends.unwrap_err();
    let text = ends.to_string();
    assert!(
        text.starts_with("ends: the server has ended (exit status: 3)"),
        "{text}"
    );
    let PoolError::Link {
        error: LinkError::Down { error, .. },
        ..
    } = ends
    else {
        panic!("{ends:?}");
    };
    assert!(
        matches!(&*error, ClientError::Gone { said, .. } if said == &["no key is set"]),
        "{error:?}"
    );
    assert_eq!(good.unwrap().client().tools().await.unwrap().len(), 1);
    // Nor does anybody hang who asks again, at once or later.
    assert!(pool.open("ends").await.is_err());
    pool.close().await;
}
