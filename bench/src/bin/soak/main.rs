//! `soak [--minutes N] [--seed N] [--as-is]`: servers under hostile clients for minutes, while ordinary clients check that they
//! are served rightly and in time. At the end nothing may have grown, and everything ends when told to. The last line is the
//! verdict. `--as-is` leaves the C library its habit of keeping freed memory, so that growth may also be that.
//!
//! - [`ordinary`], [`asking`], [`lines`]: clients that behave, over HTTP and on standard input and output. [`foes`]: clients that do not.
//! - [`server`]: the servers, seen from outside. [`verdict`]: whether they have grown. [`record`]: what everybody reports to.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its purpose"
)]

mod asking;
mod foes;
mod lines;
mod ordinary;
mod record;
mod server;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use polyport::{Stop, Stopper, stop};
use tokio::task::JoinSet;

use asking::{Asked, Manner};
use foes::{Foe, flood};
use lines::Pipe;
use ordinary::{Ordinary, Place, still_answers};
use polyport_bench::rng::Rng;
use polyport_bench::{wire, words};
use record::Record;
use server::{Reading, Server, Workplace, free_port};

/// Hostile clients of each HTTP server.
const FOES: usize = 30;
/// Hostile voices on standard input.
const VOICES: usize = 2;
/// Watchers of a folder, of its lists and of its files; each takes a thread and three files while somebody wants to hear of changes.
const WATCHERS: usize = 2;
/// How often servers are looked at; every fifth look is shown.
const LOOK: Duration = Duration::from_secs(1);
/// How long a server may take to be as it was once all clients have left: longer than an idle thread is kept.
const SETTLE: Duration = Duration::from_secs(25);
/// How long it may take to end: its drain (`Limits::drain` is 10 seconds) and a little.
const END: Duration = Duration::from_secs(13);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ran = Wanted::read(&words).and_then(|wanted| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        let held = runtime.block_on(Soak::run(wanted));
        runtime.shutdown_background();
        held
    });
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("soak: {reason}");
            ExitCode::from(2)
        }
    }
}

/// What the command line asks for.
struct Wanted {
    whole: Duration,
    seed: u64,
    as_is: bool,
}

impl Wanted {
    fn read(words: &[String]) -> Result<Self, String> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let mut wanted = Self {
            whole: Duration::from_secs(300),
            seed: now.map_or(1, |now| now.as_secs()),
            as_is: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|value| value.parse::<u64>().ok());
            match word.as_str() {
                "--as-is" => wanted.as_is = true,
                "--minutes" => {
                    let minutes = number().filter(|minutes| *minutes > 0);
                    let minutes = minutes.ok_or("--minutes needs a number")?;
                    wanted.whole = Duration::from_secs(60 * minutes);
                }
                "--seed" => wanted.seed = number().ok_or("--seed needs a number")?,
                _ => return Err("usage: soak [--minutes N] [--seed N] [--as-is]".to_owned()),
            }
        }
        Ok(wanted)
    }
}

/// A run.
struct Soak {
    begun: Instant,
    whole: Duration,
    record: Arc<Record>,
    servers: Vec<Server>,
    places: Vec<Place>,
    rng: Rng,
}

impl Soak {
    /// True: everything held.
    async fn run(wanted: Wanted) -> Result<bool, String> {
        let Wanted { whole, seed, as_is } = wanted;
        println!("soak: {} s, seed {seed}", whole.as_secs());
        let mut soak = Self {
            begun: Instant::now(),
            whole,
            record: Arc::default(),
            servers: Vec::new(),
            places: Vec::new(),
            rng: Rng::new(seed),
        };
        soak.start(as_is).await?;
        soak.rule().await?;
        soak.end().await;
        Ok(soak.judge())
    }

    async fn start(&mut self, as_is: bool) -> Result<(), String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let here = std::env::current_exe().map_err(|error| error.to_string())?;
        let (plain, polyport) = (
            here.with_file_name("bench-server"),
            here.with_file_name("polyport"),
        );
        let logs: PathBuf = here.with_file_name("soak-logs");
        std::fs::create_dir_all(&logs).map_err(|error| error.to_string())?;
        let welcome = std::fs::read_to_string(root.join("examples/notes/welcome.md"))
            .map_err(|error| format!("examples/notes/welcome.md: {error}"))?;
        let place = Workplace { root, logs, as_is };
        let ports = [free_port(), free_port()].map(|port| port.map_err(|e| e.to_string()));
        let [first, second] = ports;
        let (first, second) = (first?, second?);
        let listen = format!("127.0.0.1:{second}");
        let (port, notes) = (first.to_string(), "examples/notes");
        let started = [
            ("bench", &plain, vec!["http", &port, "asks"], Some(first)),
            (
                "notes",
                &polyport,
                vec!["serve", notes, "demo", "--listen", &listen],
                Some(second),
            ),
            ("stdio", &polyport, vec!["serve", "demo"], None),
        ];
        for (name, program, arguments, port) in started {
            let server = Server::start(name, program, &arguments, port, &place).await?;
            self.servers.push(server);
            if let Some(port) = port {
                let rich = name == "notes";
                self.places.push(Place {
                    name,
                    port,
                    rich,
                    asks: !rich,
                    welcome: if rich { welcome.as_str() } else { "" }.into(),
                });
            }
        }
        // The connections that asked whether they listen have to be gone.
        tokio::time::sleep(Duration::from_millis(500)).await;
        for server in &mut self.servers {
            server.fresh = server
                .read(Duration::ZERO)
                .ok_or("a server has ended at once")?;
            if server.name == "notes" {
                // Sessions that were left want to hear of changes until they are idle for too long.
                server.fresh.fds += WATCHERS * 3;
                server.fresh.threads += WATCHERS;
            }
        }
        Ok(())
    }

    /// The clients' time.
    async fn rule(&mut self) -> Result<(), String> {
        let (ordinary_stopper, ordinary_stop) = stop::stop();
        let (foes_stopper, foes_stop) = stop::stop();
        let mut clients = JoinSet::new();
        let mut foes = JoinSet::new();
        let stdio = self.servers.iter_mut().find(|server| server.port.is_none());
        let stdio = stdio.ok_or("there is no server on stdio")?;
        let pipe = Pipe::open(stdio.child(), self.record.clone(), ordinary_stop.clone()).await?;
        for _ in 0..4 {
            clients.spawn(pipe.clone().ask_ordinarily(self.rng.fork()));
        }
        for _ in 0..VOICES {
            foes.spawn(pipe.clone().abuse(self.rng.fork(), foes_stop.clone()));
        }
        for place in self.places.clone() {
            for modern in [true, false, true, false] {
                clients.spawn(
                    Ordinary {
                        place: place.clone(),
                        modern,
                        rng: self.rng.fork(),
                        record: self.record.clone(),
                        stop: ordinary_stop.clone(),
                    }
                    .run(),
                );
            }
            if place.asks {
                for manner in [
                    Manner::Legacy,
                    Manner::Modern,
                    Manner::Listens,
                    Manner::Subscribes,
                ] {
                    let (rng, record) = (self.rng.fork(), self.record.clone());
                    let asked = Asked::new(place.clone(), manner, rng, record);
                    clients.spawn(asked.run(ordinary_stop.clone()));
                }
            }
            for _ in 0..FOES {
                foes.spawn(self.foe(&place, &foes_stop).run());
            }
            foes.spawn(flood(self.foe(&place, &foes_stop)));
        }
        self.watch(self.whole).await;
        stop_all("hostile clients", &foes_stopper, &mut foes, &self.record).await;
        // Those who behave see the quiet, too.
        self.watch(Duration::from_secs(3)).await;
        stop_all(
            "ordinary clients",
            &ordinary_stopper,
            &mut clients,
            &self.record,
        )
        .await;
        Ok(())
    }

    fn foe(&mut self, place: &Place, stop: &Stop) -> Foe {
        Foe::new(
            place.clone(),
            self.rng.fork(),
            self.record.clone(),
            stop.clone(),
        )
    }

    /// Looks at the servers for so long.
    async fn watch(&mut self, long: Duration) {
        let until = Instant::now() + long;
        let mut looks = 0;
        while Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            looks += 1;
            let at = self.begun.elapsed();
            let mut shown = String::new();
            for server in &mut self.servers {
                match server.read(at) {
                    Some(reading) => {
                        server.readings.push(reading);
                        shown += &format!(" | {} {}", server.name, show(reading));
                    }
                    None => self.record.fault(format!("{} is gone", server.name)),
                }
            }
            if looks % 5 == 0 {
                let (calls, foes) = (self.record.calls(), self.record.connections());
                println!(
                    "{:>5} s  {calls} calls, {foes} hostile{shown}",
                    at.as_secs()
                );
            }
        }
    }

    /// All clients have left: waits until the servers are as they were, asks each once more, and tells them to end.
    async fn end(&mut self) {
        for place in &self.places {
            if let Err(reason) = still_answers(place, &mut self.rng).await {
                self.record
                    .fault(format!("{} at the end: {reason}", place.name));
            }
        }
        for server in &mut self.servers {
            let last = settle(server, self.begun).await;
            for complaint in verdict::complaints(&server.readings, self.whole, server.fresh, last) {
                self.record.fault(format!("{}: {complaint}", server.name));
            }
            println!(
                "{}: {} at first, {} at last",
                server.name,
                show(server.fresh),
                show(last)
            );
            // Clients that hold on must not keep it from ending.
            let holding = match server.port {
                Some(port) => hold_on(port).await,
                None => Vec::new(),
            };
            let begun = Instant::now();
            match server.end(END).await {
                Some(status) if status.success() => {
                    println!(
                        "{}: ended {:.1} s after SIGTERM",
                        server.name,
                        begun.elapsed().as_secs_f64()
                    );
                }
                Some(status) => self
                    .record
                    .fault(format!("{}: {status} after SIGTERM", server.name)),
                None => self.record.fault(format!(
                    "{}: still there {END:?} after SIGTERM",
                    server.name
                )),
            }
            drop(holding);
            if server.panics() > 0 {
                self.record.fault(format!(
                    "{} has panicked:\n{}",
                    server.name,
                    server.log_tail()
                ));
            }
        }
    }

    fn judge(&self) -> bool {
        println!(
            "how hostile clients were met:\n{}",
            self.record.table().trim_end()
        );
        let floors = |server: &Server| verdict::floors(&server.readings, self.whole);
        for server in &self.servers {
            if let Some((middle, end)) = floors(server) {
                let peak = verdict::peak(&server.readings) >> 10;
                println!(
                    "{}: {} MB in the middle, {} MB at the end, {peak} MB at most",
                    server.name,
                    middle >> 10,
                    end >> 10
                );
            }
        }
        println!(
            "slowest answers: {}; {} times no room for one more session",
            self.record.slowest(),
            self.record.times_busy()
        );
        let faults = self.record.faults();
        faults.iter().for_each(|fault| println!("fault: {fault}"));
        let sums = self.servers.iter().filter_map(floors);
        let (middle, end) = sums.fold((0, 0), |(a, b), (middle, end)| (a + middle, b + end));
        let verdict = match faults.len() {
            0 => "ok".to_owned(),
            n => format!(
                "{n} faults, the first: {}",
                faults[0].lines().next().unwrap_or_default()
            ),
        };
        println!(
            "soak: {} calls answered, {} hostile connections, RSS {} -> {} MB: {verdict}",
            self.record.calls(),
            self.record.connections(),
            middle >> 10,
            end >> 10
        );
        faults.is_empty()
    }
}

fn show(reading: Reading) -> String {
    let Reading {
        rss, fds, threads, ..
    } = reading;
    format!(
        "{}.{} MB {fds} fds {threads} threads",
        rss >> 10,
        (rss % 1024) * 10 / 1024
    )
}

async fn stop_all(who: &str, stopper: &Stopper, tasks: &mut JoinSet<()>, record: &Record) {
    stopper.stop();
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(Duration::from_secs(10), all)
        .await
        .is_err()
    {
        record.fault(format!("{who} do not come to an end"));
        tasks.abort_all();
    }
}

/// Waits until a server uses no more files and threads than at first, within bounds. What it uses then.
async fn settle(server: &Server, begun: Instant) -> Reading {
    let until = Instant::now() + SETTLE;
    loop {
        let Some(reading) = server.read(begun.elapsed()) else {
            return Reading::default();
        };
        let is_as_it_was =
            reading.fds <= server.fresh.fds && reading.threads <= server.fresh.threads;
        if is_as_it_was || Instant::now() > until {
            return reading;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Connections in states in which a server may wait: for a head, for a body, for a reader.
async fn hold_on(port: u16) -> Vec<wire::Wire> {
    let long = words::modern_call(
        "1",
        "echo",
        &format!("{{\"text\":\"{}\"}}", "x".repeat(8 << 20)),
        "",
    );
    let texts = [
        Vec::new(),
        b"POST /mcp HTT".to_vec(),
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: 50\r\n\r\n{".to_vec(),
        wire::post(&words::modern_headers("echo"), long),
    ];
    let mut held = Vec::new();
    for text in texts {
        if let Ok(mut wire) = wire::Wire::connect(port).await {
            let sent = tokio::time::timeout(Duration::from_secs(2), wire.send(&text)).await;
            held.extend(matches!(sent, Ok(Ok(()))).then_some(wire));
        }
    }
    held
}
