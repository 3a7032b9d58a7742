//! `polyport doctor --through`: what of which server reaches whom.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{BINARY, Place, golden, said};

// req: S-GATE-THROUGH
#[test]
fn the_way_to_each_revision_is_said() {
    let place = Place::new();
    place.write(
        "polyport.toml",
        &format!(
            "[servers.old]\ncommand = '{BINARY}'\nargs = ['serve', 'demo']\nera = 'legacy'\ntools.deny = ['big']\ntools.rename = {{ ehco = 'says' }}\n\
             [servers.one]\nurl = 'http://127.0.0.1:1/mcp?token=hush'\nsessions = 'shared'\n\
             [servers.off]\ncommand = 'never'\nenabled = false\n"
        ),
    );
    let mut text = String::new();
    for words in [
        &["demo"][..],
        &["--", BINARY, "serve", "demo", "--era", "legacy"],
        &[],
        &["old", "notes"],
        &["nowhere"],
    ] {
        let all = [&["doctor", "--through"], words].concat();
        let shown = said(&place.command(&all).output().unwrap());
        assert!(!shown.contains("hush"), "{shown}");
        writeln!(text, "$ polyport {}\n{shown}", all.join(" ")).unwrap();
    }
    golden("through.txt", &place.plain(&text));
    let output = place
        .command(["doctor", "--through", "--json", "old"])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let server = &document["servers"][0];
    assert_eq!(server["revision"], "2025-11-25");
    assert_eq!(server["clients"][0]["revisions"][0], "2026-07-28");
    let cannot = server["clients"][0]["cannot"].as_array().unwrap();
    let is_there = |what: &str| cannot.iter().any(|passage| passage["what"] == what);
    assert!(is_there("log messages outside calls"), "{document}");
}
