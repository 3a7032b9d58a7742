//! Whatever stands between a client and a server of ours, and fails in the midst: after so many bytes of answers, for good.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport_http::client::{Target, open};
use polyport_proto::{Era, Revisions};
use polyport_rt::{CallError, Patience};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::facts;

/// How it fails. What comes new then fails at once in the same way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fails {
    /// As a server that is killed: what is open ends, and nobody listens.
    Closes,
    /// As a machine that starts anew.
    Resets,
    /// It says that nothing more comes, and goes on to read.
    ClosesHalf,
    /// Everything is taken, nothing comes.
    Silent,
    /// One byte at a time, and slowly.
    Drips,
}

pub(super) const ALL: [Fails; 5] = [
    Fails::Closes,
    Fails::Resets,
    Fails::ClosesHalf,
    Fails::Silent,
    Fails::Drips,
];

impl Fails {
    /// Can a client see that it has failed? Else only its patience ends.
    pub(super) fn is_seen(self) -> bool {
        !matches!(self, Self::Silent | Self::Drips)
    }
}

/// Dropping it ends it.
pub(super) struct Between {
    pub(super) address: SocketAddr,
    passed: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

/// What all its connections share.
#[derive(Clone)]
struct Shared {
    behind: SocketAddr,
    fails: Fails,
    left: Arc<AtomicUsize>,
    passed: Arc<AtomicUsize>,
    failed: watch::Sender<bool>,
}

impl Between {
    pub(super) async fn new(behind: SocketAddr, fails: Fails, after: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared {
            behind,
            fails,
            left: Arc::new(AtomicUsize::new(after)),
            passed: Arc::default(),
            failed: watch::Sender::new(after == 0),
        };
        let passed = shared.passed.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut open = JoinSet::new();
            let mut failed = shared.failed.subscribe();
            let killed = async {
                failed.wait_for(|failed| *failed).await.unwrap();
                if fails != Fails::Closes {
                    std::future::pending::<()>().await;
                }
            };
            let accepting = async {
                while let Ok((stream, _)) = listener.accept().await {
                    let shared = shared.clone();
                    open.spawn(async move {
                        // Both ends may leave at any time.
                        let _ = shared.connection(stream).await;
                    });
                }
            };
            tokio::select! {
                () = killed => {}
                () = accepting => {}
            }
            drop(listener);
            while open.join_next().await.is_some() {}
        });
        Self {
            address,
            passed,
            _serving: serving,
        }
    }

    /// How many bytes of answers it has let through.
    pub(super) fn passed(&self) -> usize {
        self.passed.load(Ordering::SeqCst)
    }
}

impl Shared {
    async fn connection(&self, mut client: TcpStream) -> std::io::Result<()> {
        let mut server = TcpStream::connect(self.behind).await?;
        let mut failed = self.failed.subscribe();
        let passing = self.pass(&mut client, &mut server);
        let is_over = tokio::select! {
            biased;
            _ = failed.wait_for(|failed| *failed) => false,
            passed = passing => passed.is_err() || !*self.failed.borrow(),
        };
        if is_over {
            return Ok(());
        }
        match self.fails {
            Fails::Closes => Ok(()),
            Fails::Resets => client.set_zero_linger(),
            Fails::ClosesHalf => {
                client.shutdown().await?;
                let mut taken = [0; 4_096];
                while client.read(&mut taken).await? > 0 {}
                Ok(())
            }
            Fails::Silent => {
                let mut taken = [0; 4_096];
                while client.read(&mut taken).await? > 0 {}
                Ok(())
            }
            Fails::Drips => {
                let (mut from, mut to) = server.split();
                let (mut read, mut write) = client.split();
                let dripping = async {
                    loop {
                        write.write_u8(from.read_u8().await?).await?;
                        sleep(Duration::from_millis(50)).await;
                    }
                };
                let asking = tokio::io::copy(&mut read, &mut to);
                tokio::select! {
                    ended = dripping => ended,
                    ended = asking => ended.map(|_| ()),
                }
            }
        }
    }

    /// Lets pass what it may; ends when that is all, or an end has left.
    async fn pass(&self, client: &mut TcpStream, server: &mut TcpStream) -> std::io::Result<()> {
        let (mut asks, mut hears) = client.split();
        let (mut answers, mut takes) = server.split();
        let asking = tokio::io::copy(&mut asks, &mut takes);
        let answering = async {
            let mut piece = vec![0; 4_096];
            loop {
                let read = answers.read(&mut piece).await?;
                if read == 0 {
                    return Ok(());
                }
                let take = |left: usize| Some(left.saturating_sub(read));
                let order = Ordering::SeqCst;
                let left = self.left.fetch_update(order, order, take).unwrap();
                let passes = read.min(left);
                hears.write_all(&piece[..passes]).await?;
                self.passed.fetch_add(passes, order);
                if left <= read {
                    self.failed.send_replace(true);
                    return Ok(());
                }
            }
        };
        tokio::select! {
            ended = asking => ended.map(|_| ()),
            ended = answering => ended,
        }
    }
}

/// A way to a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    scheme: &'static str,
    pub(super) path: &'static str,
    era: Era,
}

pub(super) const WAYS: &[Way] = &[
    Way {
        scheme: "http",
        path: "/mcp",
        era: Era::Modern,
    },
    Way {
        scheme: "http",
        path: "/mcp",
        era: Era::Legacy,
    },
    Way {
        scheme: "http",
        path: "/sse",
        era: Era::Legacy,
    },
    #[cfg(feature = "ws")]
    Way {
        scheme: "ws",
        path: "/ws",
        era: Era::Modern,
    },
    #[cfg(feature = "ws")]
    Way {
        scheme: "ws",
        path: "/ws",
        era: Era::Legacy,
    },
];

/// Connects, calls, and ends the session; gives back at what it fails, and why.
pub(super) async fn session(
    way: Way,
    address: SocketAddr,
    patience: Duration,
) -> Result<(), (&'static str, CallError)> {
    let Way { scheme, path, era } = way;
    let target = Target::new(&format!("{scheme}://{address}{path}")).unwrap();
    let patience = Patience {
        probe: patience,
        handshake: patience,
        request: patience,
    };
    let opened = open(target, facts(), Revisions::of(era), patience).await;
    let (caller, _) = opened.map_err(|error| ("open", error))?;
    for tool in ["echo", "logs", "echo"] {
        let params = format!("{{\"name\":\"{tool}\",\"arguments\":{{\"a\":1}}}}");
        let answer = caller.request("tools/call", &params).await;
        let answer = answer.map_err(|error| (tool, error))?;
        assert!(answer.as_str().contains("\"a\":1"), "{answer:?}");
    }
    caller.close().await;
    Ok(())
}

/// What a process holds: tasks, files, threads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Held {
    tasks: usize,
    files: usize,
    threads: usize,
}

impl Held {
    pub(super) fn now() -> Self {
        let count = |folder| std::fs::read_dir(folder).unwrap().count();
        Self {
            tasks: tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks(),
            files: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
        }
    }

    /// Waits until no more is held than then.
    pub(super) async fn is_back(self) {
        let back = async {
            loop {
                let now = Self::now();
                let is_back = now.tasks <= self.tasks
                    && now.files <= self.files
                    && now.threads <= self.threads;
                if is_back {
                    return;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        let back = tokio::time::timeout(Duration::from_secs(15), back).await;
        assert!(back.is_ok(), "{:?} is held, {self:?} was", Self::now());
    }
}
