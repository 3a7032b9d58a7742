//! Where the program listens when nobody says where, and what it takes to be reached from elsewhere.

use std::net::TcpListener;
use std::process::Stdio;

use rustix::process::Signal;

use crate::support::Place;
use crate::web::listen;

// req: V-105B, V-103
#[test]
fn v_105b_it_listens_on_loopback_unless_told() {
    let place = Place::new();
    // Not every machine has IPv6.
    let six = TcpListener::bind("[::1]:0").is_ok();
    for words in [
        &["demo"][..],
        &["notes"],
        &["notes", "demo", "-t", "http"],
        &["demo", "--listen", "0"],
        &["demo", "--listen", "localhost:0"],
        &["demo", "--listen", "[::1]:0"],
    ] {
        if words.contains(&"[::1]:0") && !six {
            continue;
        }
        let (mut program, _, _) = listen(&place, words);
        let sockets = program.listening();
        assert_eq!(sockets.len(), 1, "{words:?}");
        assert!(sockets[0].ip().is_loopback(), "{words:?}: {sockets:?}");
        program.signal(Signal::TERM);
        assert_eq!(program.end().1, Some(0), "{words:?}");
    }
    // As a host starts it, it opens no port at all.
    let program = place.host(&["demo"]);
    assert_eq!(program.listening(), []);
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[2001:db8::1]:0"] {
        // In front of servers of others, too.
        for words in [&["demo"][..], &["demo", "far:=http://127.0.0.1:1/mcp"]] {
            let words = [words, &["--listen", address]].concat();
            let mut program = place.listener(&words, Stdio::null());
            assert_eq!(program.end().1, Some(2), "{words:?}");
            let said = program.stderr();
            assert!(said.contains("--insecure-listen"), "{words:?}: {said}");
        }
    }
}
