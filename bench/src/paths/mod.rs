//! The paths whose cost is held: each a named piece of work that can be done any number of times, the same each time.
//! Not how it is counted.

mod ask;
mod client;
mod endpoint;
mod gateway;
mod line;

use bytes::Bytes;
use polyport_wire::{Limits, Message};

use ask::{Ask, Era};

/// One path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Its name in the file of figures.
    pub name: &'static str,
    /// How often the longer of two runs does it more than the shorter: enough that chance at the start does not show.
    pub rounds: u32,
    work: Work,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    /// `Message::parse` of a tools/call of so many bytes.
    Parse(usize),
    /// A request through the driver of line-framed connections, from bytes to bytes.
    Line(Era, Ask),
    /// A request through the HTTP endpoint, from a request value to the collected body of the response.
    Http(Era, Ask),
    /// The same through a gateway in front of two servers.
    Gateway(Era, Ask),
    /// A client lists the tools of so many servers, 200 each, through a gateway.
    Lists(usize),
    /// A call of a client, over a pair of pipes in memory, and its server.
    Client(Era, Ask),
}

const fn path(name: &'static str, rounds: u32, work: Work) -> Path {
    Path { name, rounds, work }
}

const SMALL: u32 = 1_000;
const LARGE: u32 = 200;
const FEW: u32 = 4;

/// All of them, in the order in which they are reported.
pub const PATHS: &[Path] = &[
    path("parse-call-300", 4_000, Work::Parse(300)),
    path("parse-call-64k", LARGE, Work::Parse(64 << 10)),
    path(
        "stdio-legacy-echo-100",
        SMALL,
        Work::Line(Era::Legacy, Ask::Echo(100)),
    ),
    path(
        "stdio-legacy-echo-100-beside",
        SMALL,
        Work::Line(Era::Legacy, Ask::EchoBeside(100)),
    ),
    path(
        "stdio-legacy-echo-64k",
        LARGE,
        Work::Line(Era::Legacy, Ask::Echo(64 << 10)),
    ),
    path("stdio-legacy-add", SMALL, Work::Line(Era::Legacy, Ask::Add)),
    path(
        "stdio-legacy-bad-arguments",
        SMALL,
        Work::Line(Era::Legacy, Ask::BadArguments),
    ),
    path(
        "stdio-legacy-list-50",
        LARGE,
        Work::Line(Era::Legacy, Ask::List),
    ),
    path(
        "stdio-modern-echo-100",
        SMALL,
        Work::Line(Era::Modern, Ask::Echo(100)),
    ),
    path(
        "stdio-modern-echo-100-beside",
        SMALL,
        Work::Line(Era::Modern, Ask::EchoBeside(100)),
    ),
    path(
        "stdio-modern-echo-64k",
        LARGE,
        Work::Line(Era::Modern, Ask::Echo(64 << 10)),
    ),
    path("stdio-modern-add", SMALL, Work::Line(Era::Modern, Ask::Add)),
    path(
        "stdio-modern-add-within-layers",
        SMALL,
        Work::Line(Era::Modern, Ask::AddWithin),
    ),
    path(
        "stdio-modern-bad-arguments",
        SMALL,
        Work::Line(Era::Modern, Ask::BadArguments),
    ),
    path(
        "stdio-modern-list-50",
        LARGE,
        Work::Line(Era::Modern, Ask::List),
    ),
    path(
        "http-session-echo-100",
        SMALL,
        Work::Http(Era::Legacy, Ask::Echo(100)),
    ),
    path(
        "http-session-echo-100-beside",
        SMALL,
        Work::Http(Era::Legacy, Ask::EchoBeside(100)),
    ),
    path(
        "http-session-echo-64k",
        LARGE,
        Work::Http(Era::Legacy, Ask::Echo(64 << 10)),
    ),
    path("http-session-add", SMALL, Work::Http(Era::Legacy, Ask::Add)),
    path(
        "http-modern-echo-100",
        SMALL,
        Work::Http(Era::Modern, Ask::Echo(100)),
    ),
    path(
        "http-modern-echo-64k",
        LARGE,
        Work::Http(Era::Modern, Ask::Echo(64 << 10)),
    ),
    path("http-modern-add", SMALL, Work::Http(Era::Modern, Ask::Add)),
    path(
        "http-modern-bad-arguments",
        SMALL,
        Work::Http(Era::Modern, Ask::BadArguments),
    ),
    path(
        "client-legacy-echo-100",
        SMALL,
        Work::Client(Era::Legacy, Ask::Echo(100)),
    ),
    path(
        "client-legacy-echo-64k",
        LARGE,
        Work::Client(Era::Legacy, Ask::Echo(64 << 10)),
    ),
    path(
        "client-modern-echo-100",
        SMALL,
        Work::Client(Era::Modern, Ask::Echo(100)),
    ),
    path(
        "gateway-legacy-echo-100",
        SMALL,
        Work::Gateway(Era::Legacy, Ask::EchoBehind(100)),
    ),
    path(
        "gateway-legacy-echo-64k",
        LARGE,
        Work::Gateway(Era::Legacy, Ask::EchoBehind(64 << 10)),
    ),
    path(
        "gateway-modern-echo-100",
        SMALL,
        Work::Gateway(Era::Modern, Ask::EchoBehind(100)),
    ),
    path(
        "gateway-modern-echo-64k",
        LARGE,
        Work::Gateway(Era::Modern, Ask::EchoBehind(64 << 10)),
    ),
    path("gateway-list-5x200", FEW, Work::Lists(5)),
    path("gateway-list-50x200", FEW, Work::Lists(50)),
];

/// Paths that may not cost more than others, by what is beside the call: questions and subscriptions.
pub const AS_CHEAP: &[(&str, &str)] = &[
    ("stdio-legacy-echo-100-beside", "stdio-legacy-echo-100"),
    ("stdio-modern-echo-100-beside", "stdio-modern-echo-100"),
    ("http-session-echo-100-beside", "http-session-echo-100"),
];

/// Paths that may cost so many times others, and not more: what there is so many times as much of is done once each.
pub const LINEAR: &[(&str, u64, &str)] = &[("gateway-list-50x200", 10, "gateway-list-5x200")];

/// What a run gave back, so that nothing of it can be left out.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Given {
    /// Bytes of answers, those of the opening included.
    pub bytes: usize,
    /// The last answer, if it was asked for.
    pub last: Vec<u8>,
}

impl Path {
    /// Does the work `rounds` times, after the same opening whatever `rounds` is.
    pub fn run(&self, rounds: u32) -> Given {
        self.run_with(rounds, false)
    }

    /// Does the work once; gives back the answer.
    pub fn answer(&self) -> Vec<u8> {
        self.run_with(1, true).last
    }

    fn run_with(&self, rounds: u32, keep: bool) -> Given {
        match self.work {
            Work::Parse(bytes) => parse(&ask::call_of(bytes), rounds),
            Work::Line(era, ask) => runtime().block_on(line::run(era, ask, rounds, keep)),
            Work::Http(era, ask) => {
                let service = ask.server().into_service();
                runtime().block_on(endpoint::run(service, era, ask, rounds, keep))
            }
            Work::Gateway(era, ask) => runtime().block_on(async {
                endpoint::run(gateway::two(era, ask), era, ask, rounds, keep).await
            }),
            Work::Lists(servers) => runtime().block_on(gateway::list(servers, rounds, keep)),
            Work::Client(era, ask) => runtime().block_on(client::run(era, ask, rounds, keep)),
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O needs nothing of the system")
}

fn parse(text: &str, rounds: u32) -> Given {
    let frame = Bytes::copy_from_slice(text.as_bytes());
    let limits = Limits::default();
    let mut given = Given::default();
    for _ in 0..rounds {
        let message = Message::parse(std::hint::black_box(frame.clone()), &limits)
            .expect("the call is a good one");
        given.bytes += std::hint::black_box(&message).frame().len();
    }
    given
}

#[cfg(test)]
mod tests {
    use super::{Ask, PATHS, Work};

    #[test]
    fn every_path_is_what_it_says() {
        for path in PATHS {
            let text = String::from_utf8(path.answer()).unwrap();
            let ask = match path.work {
                Work::Line(_, ask)
                | Work::Http(_, ask)
                | Work::Gateway(_, ask)
                | Work::Client(_, ask) => ask,
                Work::Lists(servers) => {
                    let tools = text.matches("\"inputSchema\"").count();
                    assert_eq!(tools, servers * 200);
                    continue;
                }
                Work::Parse(_) => {
                    assert!(path.run(2).bytes >= 600, "{}", path.name);
                    continue;
                }
            };
            let holds = match ask {
                Ask::Echo(bytes) | Ask::EchoBeside(bytes) | Ask::EchoBehind(bytes) => {
                    text.len() > bytes && text.contains(&"x".repeat(bytes))
                }
                Ask::Add | Ask::AddWithin => text.contains("\"sum\":5"),
                Ask::BadArguments => text.contains("\"isError\":true"),
                Ask::List => text.matches("\"inputSchema\"").count() == 50,
            };
            assert!(holds, "{}: {}", path.name, &text[..text.len().min(500)]);
        }
    }

    #[test]
    fn rounds_are_all_alike() {
        for path in PATHS {
            let [one, two, three] = [1, 2, 3].map(|rounds| path.run(rounds).bytes);
            assert_eq!(three - two, two - one, "{}", path.name);
            assert!(two > one, "{}", path.name);
        }
    }

    #[test]
    fn names_are_told_apart() {
        for (at, path) in PATHS.iter().enumerate() {
            assert!(PATHS[at + 1..].iter().all(|other| other.name != path.name));
        }
    }
}
