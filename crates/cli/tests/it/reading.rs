//! `polyport read`: what it asks for, and the bytes that it makes of what comes.

use polyport_testkit::child::scripted;
use serde_json::{Value, json};

use crate::asking::run;
use crate::support::{Place, with_script};

/// A server that gives back the URI that it was asked for, and a blob.
const KEEPER: &str = r#"
asked() {
  shows resources/read || return 0
  uri=$(printf '%s' "$line" | sed -n 's/.*"uri":\("[^"]*"\).*/\1/p')
  answer "{\"contents\":[{\"uri\":$uri,$HELD}]}"
  return 1
}
"#;

// req: BR-136
#[test]
fn br_136_a_uri_is_sent_as_it_is_given() {
    let place = Place::new();
    let script = scripted(KEEPER);
    for uri in [
        "HTTP://Ex.com:80/a/../b c",
        "memo:insights",
        "users/1",
        "file:///C:/x",
        "urn:x:y",
        "x:/é%C3%A9%2f+?#",
        "x:",
        "",
    ] {
        let words = [
            "read",
            "--json",
            "--era",
            "legacy",
            "-e",
            "OFFERS={\"resources\":{}}",
            "-e",
            "HELD=\"text\":\"t\"",
        ];
        let (code, out, err) = run(&place, &with_script(&words, &script, &[uri]));
        let read: Value = serde_json::from_str(&out).unwrap_or_default();
        assert_eq!(
            (code, &read["contents"][0]["uri"]),
            (0, &json!(uri)),
            "{err}"
        );
    }
}

/// Bytes come in standard base64 with padding; what is none is the server's fault, and is written nowhere.
// req: BR-139
#[test]
fn br_139_bytes_are_those_of_standard_base64_or_none() {
    let place = Place::new();
    let script = scripted(KEEPER);
    for (blob, want) in [
        ("", Some(&[][..])),
        ("+w==", Some(&[0xfb])),
        ("+/8=", Some(&[0xfb, 0xff])),
        ("+/8A", Some(&[0xfb, 0xff, 0])),
        ("-_8=", None),
        ("+/8", None),
        ("+/9=", None),
        ("+w= =", None),
        ("no base64", None),
    ] {
        let held = format!("HELD=\"blob\":\"{blob}\"");
        let words = [
            "read",
            "--era",
            "legacy",
            "-e",
            "OFFERS={\"resources\":{}}",
            "-e",
            &held,
        ];
        let output = place
            .command(with_script(&words, &script, &["x:y"]))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let got = output.status.success().then_some(&output.stdout[..]);
        assert_eq!(got, want, "{blob}: {said}");
        if want.is_none() {
            assert_eq!(output.status.code(), Some(6), "{blob}");
            assert!(said.contains("x:y: the server sent no base64"), "{said}");
            assert!(output.stdout.is_empty());
        }
    }
}
