//! The examples as their users meet them: built, started, and talked to.
#![allow(clippy::unwrap_used, reason = "a test may fail that way")]

mod web;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;

use polyport::Revision;
use polyport_testkit::Program;
use rustix::process::Signal;
use serde_json::{Value, json};

const BOTH: [Revision; 2] = [Revision::LATEST_LEGACY, Revision::LATEST];

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn readme_shows_the_weather_server() {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once("```rust\n").unwrap();
    let (shown, _) = rest.split_once("```").unwrap();
    assert_eq!(shown, include_str!("../../src/bin/weather.rs"));
}

#[test]
fn weather_tells_the_weather() {
    for revision in BOTH {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weather"));
        let mut weather = Program::start_in(&mut command, revision);
        let listed = weather.ask("tools/list", json!({}));
        let schema = &listed["tools"][0]["inputSchema"];
        assert_eq!(schema["required"], json!(["city"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["city"], json!({"type": "string"}));
        assert_eq!(schema["properties"]["days"]["maximum"], 14);
        assert_eq!(schema["properties"]["days"]["default"], 1);
        let said = weather.call("forecast", json!({"city": "Bergen"}));
        assert_eq!(text(&said), "Bergen in 1 days: 21 °C");
        let late = weather.call("forecast", json!({"city": "Bergen", "days": 15}));
        assert_eq!(late["isError"], true);
        // This client cannot be asked.
        let unasked = json!({"name": "forecast_here", "arguments": {}});
        let told = if revision == Revision::LATEST {
            weather.refused("tools/call", unasked)
        } else {
            weather.ask("tools/call", unasked)
        };
        assert!(told.to_string().contains("elicitation"), "{told}");
        let wrong = weather.call("forecast", json!({"town": "Bergen"}));
        assert_eq!(wrong["isError"], true);
        weather.close_input();
        assert_eq!(weather.end(), (Vec::new(), Some(0)));
    }
}

#[test]
fn library_lends_books() {
    for revision in BOTH {
        let mut command = Command::new(env!("CARGO_BIN_EXE_library"));
        let mut library = Program::start_in(&mut command, revision);
        let listed = library.ask("resources/list", json!({}));
        assert_eq!(listed["resources"][0]["uri"], "book://catalogue");
        let templates = library.ask("resources/templates/list", json!({}));
        assert_eq!(
            templates["resourceTemplates"][0]["uriTemplate"],
            "book://{title}"
        );
        for (uri, begins) in [
            ("book://catalogue", "emma\n"),
            ("book://emma", "Emma Woodhouse"),
        ] {
            let read = library.ask("resources/read", json!({"uri": uri}));
            let read = read["contents"][0]["text"].as_str().unwrap();
            assert!(read.starts_with(begins), "{read}");
        }
        let missing = library.refused("resources/read", json!({"uri": "book://it"}));
        assert_eq!(missing["data"]["uri"], "book://it");
        let prompt = library.ask(
            "prompts/get",
            json!({"name": "continue", "arguments": {"title": "emma", "manner": "Homer"}}),
        );
        assert_eq!(
            prompt["messages"][0]["content"]["text"],
            "Go on with this book in the manner of Homer."
        );
        for arguments in [json!({}), json!({"title": "it"})] {
            let wrong = library.refused(
                "prompts/get",
                json!({"name": "continue", "arguments": arguments}),
            );
            assert_eq!(wrong["code"], -32602);
        }
        for reference in [
            json!({"type": "ref/prompt", "name": "continue"}),
            json!({"type": "ref/resource", "uri": "book://{title}"}),
        ] {
            let argument = json!({"name": "title", "value": "m"});
            let completed = library.ask(
                "completion/complete",
                json!({"ref": reference, "argument": argument}),
            );
            assert_eq!(
                completed["completion"]["values"],
                json!(["middlemarch", "moby-dick"])
            );
        }
    }
}

#[test]
fn harbour_moors_ships() {
    for revision in BOTH {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harbour"));
        let mut harbour = Program::start_in(&mut command, revision);
        let listed = harbour.ask("tools/list", json!({}));
        let names = listed["tools"].as_array().unwrap().iter();
        let names: Vec<_> = names.map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["moor", "cast_off", "hours"]);
        assert_eq!(
            listed["tools"][0]["inputSchema"],
            json!({
                "type": "object",
                "properties": {
                    "ship": {"type": "string", "description": "Name of the ship.", "minLength": 1, "maxLength": 40},
                    "berth": {
                        "description": "Where it wants to lie; anywhere if left out.",
                        "type": ["integer", "null"], "minimum": 1, "maximum": 3,
                    },
                },
                "required": ["ship"],
                "additionalProperties": false,
            })
        );
        assert_eq!(
            listed["tools"][2]["description"],
            "How long a way takes, in hours."
        );
        for (tool, arguments, failed, answer) in [
            (
                "moor",
                json!({"ship": "Beagle", "berth": 2}),
                false,
                "{\"berth\":2}",
            ),
            ("moor", json!({"ship": "Fram"}), false, "{\"berth\":1}"),
            (
                "moor",
                json!({"ship": "Vasa", "berth": 2}),
                true,
                "that is taken; see harbour://berths",
            ),
            ("cast_off", json!({"berth": 1}), false, "fair winds"),
            ("hours", json!({"miles": 15}), false, "2.5"),
            (
                "hours",
                json!({"miles": 15, "knots": 0}),
                true,
                "take more than 0 knots",
            ),
        ] {
            let said = harbour.call(tool, arguments);
            assert_eq!(text(&said), answer);
            assert_eq!(said["isError"].as_bool().unwrap_or(false), failed, "{said}");
        }
        for (uri, want) in [
            ("harbour://berths", "2: Beagle"),
            ("harbour://berths/2", "Beagle"),
            ("harbour://rules", "Go slowly."),
        ] {
            let read = harbour.ask("resources/read", json!({"uri": uri}));
            assert_eq!(read["contents"][0]["text"], want);
        }
        for uri in ["harbour://berths/1", "harbour://berths/many"] {
            let missing = harbour.refused("resources/read", json!({"uri": uri}));
            assert_eq!(missing["data"]["uri"], uri);
        }
        let prompt = harbour.ask(
            "prompts/get",
            json!({"name": "welcome", "arguments": {"ship": "Fram"}}),
        );
        assert_eq!(
            prompt["messages"][0]["content"]["text"],
            "Welcome the Fram in the language of its flag, in one sentence."
        );
    }
}

#[test]
fn factory_says_how_far_it_is() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
    let mut factory = Program::start(&mut command);
    factory.ask("logging/setLevel", json!({"level": "info"}));
    let call = json!({"name": "make", "arguments": {"pieces": 3}});
    factory.begin("tools/call", call, "\"progressToken\":\"p\"");
    assert_eq!(text(&factory.answer()["result"]), "3 pieces are ready");
    let notes: Vec<_> = factory
        .notes()
        .iter()
        .map(|note| match note["method"].as_str() {
            Some("notifications/progress") => format!("{}", note["params"]["progress"]),
            _ => note["params"]["data"].as_str().unwrap().to_owned(),
        })
        .collect();
    let want = [
        "piece 1 is ready",
        "1",
        "piece 2 is ready",
        "2",
        "piece 3 is ready",
        "3",
    ];
    assert_eq!(notes, want);
}

#[test]
fn factory_stops_when_nobody_waits() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
    let mut factory = Program::start(&mut command);
    // One waits, one computes in its own thread; neither holds up the third.
    for (tool, arguments) in [
        ("make", json!({"pieces": 1000, "each_ms": 60_000})),
        ("primes", json!({"below": 100_000_000})),
    ] {
        let slow = factory.begin(
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
            "",
        );
        assert_eq!(
            text(&factory.call("make", json!({"pieces": 1}))),
            "1 pieces are ready"
        );
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}});
        factory.send_bytes(cancel.to_string().as_bytes());
        factory.ask("ping", json!({}));
    }
    factory.close_input();
    assert_eq!(
        factory.end(),
        (Vec::new(), Some(0)),
        "a cancelled call is not answered"
    );
}

#[test]
fn inventory_fails_in_two_ways() {
    for revision in BOTH {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inventory"));
        let mut inventory = Program::start_in(&mut command, revision);
        let taken = inventory.call("take", json!({"item": "AB-123", "amount": 2}));
        assert_eq!(
            taken["structuredContent"],
            json!({"item": "AB-123", "left": 5})
        );
        for (arguments, says) in [
            (
                json!({"item": "AB-123", "amount": 8}),
                "only 7 of AB-123 are left",
            ),
            (json!({"item": "XY-000", "amount": 1}), "there is no XY-000"),
            (json!({"item": "ab", "amount": 1}), "/item"),
            (json!({"item": "AB-123", "amount": 0}), "/amount"),
            (json!({"item": "AB-123"}), "amount"),
        ] {
            let told = inventory.call("take", arguments);
            assert_eq!(told["isError"], true);
            assert!(text(&told).contains(says), "{told}");
        }
        let call = json!({"name": "take", "arguments": {"item": "ZZ-999", "amount": 1}});
        let fault = inventory.refused("tools/call", call);
        assert_eq!(
            fault,
            json!({"code": 1001, "message": "the cellar is locked"})
        );
    }
}

/// Whatever a tool prints goes to standard error, also what it leaves in a buffer.
// req: D-14
#[test]
fn d_14_a_stray_print_does_not_break_the_stream() {
    for revision in BOTH {
        let mut command = Command::new(env!("CARGO_BIN_EXE_noisy"));
        let mut noisy = Program::start_in(&mut command, revision);
        for _ in 0..3 {
            assert_eq!(text(&noisy.call("shout", json!({}))), "said");
        }
        noisy.close_input();
        assert_eq!(noisy.end(), (Vec::new(), Some(0)));
        let printed = noisy.stderr();
        assert_eq!(printed.matches("a line on standard output").count(), 3);
        assert_eq!(printed.matches("and half a line").count(), 3);
    }
}

/// The same on sockets, as Node gives them to its children.
#[test]
fn d_14_nor_on_sockets() {
    let (input, child_input) = UnixStream::pair().unwrap();
    let (output, child_output) = UnixStream::pair().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_noisy"));
    command
        .stdin(OwnedFd::from(child_input))
        .stdout(OwnedFd::from(child_output));
    let mut noisy = Program::spawn(&mut command, Revision::LATEST_LEGACY, |_| Box::new(output));
    // The command holds the child's ends; the output ends only when nobody has them.
    drop(command);
    noisy.set_input(input);
    noisy.open();
    assert_eq!(text(&noisy.call("shout", json!({}))), "said");
    noisy.close_input();
    assert_eq!(noisy.end(), (Vec::new(), Some(0)));
    assert!(noisy.stderr().contains("a line on standard output"));
}

/// A basket goes from call to call by its id, in both eras.
// req: D-08
#[test]
fn d_08_shop_keeps_baskets() {
    for revision in BOTH {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shop"));
        let mut shop = Program::start_in(&mut command, revision);
        let opened = shop.call("open_basket", json!({}));
        let basket = text(&opened).to_owned();
        for (item, says) in [("a cup", "1 in the basket"), ("a pot", "2 in the basket")] {
            let put = shop.call("put", json!({"basket": basket, "item": item}));
            assert_eq!(text(&put), says);
        }
        let paid = shop.call("pay", json!({"basket": basket}));
        assert_eq!(text(&paid), "paid for a cup, a pot");
        for basket in [&*basket, "0123456789abcdef0123456789abcdef", "mine"] {
            let put = shop.call("put", json!({"basket": basket, "item": "a pan"}));
            assert_eq!(put["isError"], true);
            assert!(text(&put).starts_with("There is no such handle"), "{put}");
        }
    }
}

/// However it is told to end, what was left is put away first.
// req: D-09
#[test]
fn d_09_shop_opens_before_the_first_client_and_closes_after_the_last() {
    for signal in [None, Some(Signal::TERM), Some(Signal::INT)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shop"));
        let mut shop = Program::start(&mut command);
        let basket = text(&shop.call("open_basket", json!({}))).to_owned();
        shop.call("put", json!({"basket": basket, "item": "a cup"}));
        match signal {
            None => shop.close_input(),
            Some(signal) => shop.signal(signal),
        }
        assert_eq!(shop.end(), (Vec::new(), Some(0)), "{signal:?}");
        let said = "the shop is open\nback to the shelf (Shutdown): a cup\nthe shop is closed\n";
        assert_eq!(shop.stderr(), said, "{signal:?}");
    }
}

#[test]
fn guarded_lets_nobody_write_who_is_not_known() {
    for revision in BOTH {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guarded"));
        let mut guarded = Program::start_in(&mut command, revision);
        let listed = guarded.ask("tools/list", json!({}));
        let names: Vec<_> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["read", "wait"]);
        assert_eq!(text(&guarded.call("read", json!({}))), "nothing new");
        let refused = guarded.refused("tools/call", json!({"name": "write"}));
        let never = guarded.refused("tools/call", json!({"name": "never"}));
        assert_eq!(refused["message"], "Unknown tool: write");
        assert_eq!(refused["code"], never["code"]);
        let waited = guarded.call("wait", json!({}));
        let says = "The tool wait did not answer within 50 ms and was stopped.";
        assert!(text(&waited).starts_with(says), "{waited}");
    }
}
