//! Binary files: what kind they are by their bytes, and how large they may be.

use polyport_backends::files::{Limits, ops};
use serde_json::json;

use crate::support::{fixture, never};

#[test]
fn bytes_decide_the_type() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let notes = fixture(&[
        ("a.png", &png[..]),
        ("wrong.txt", png),
        ("sound.mp3", b"ID3\x04\0\0\0\0\0\0"),
        ("fake.png", b"\0\x01\x02"),
        ("doc.pdf", b"%PDF-1.7\n\xff"),
        ("latin1.txt", b"caf\xe9"),
        ("data", b"\0\xfb\xff"),
    ]);
    for (path, medium, mime) in [
        ("a.png", "image", "image/png"),
        ("wrong.txt", "image", "image/png"),
        ("sound.mp3", "audio", "audio/mpeg"),
        ("fake.png", "resource", "application/octet-stream"),
        ("doc.pdf", "resource", "application/pdf"),
        ("latin1.txt", "resource", "application/octet-stream"),
        ("data", "resource", "application/octet-stream"),
    ] {
        let read = notes.json("read_media_file", json!({ "path": path }));
        assert_eq!(
            (read["medium"].as_str(), read["mimeType"].as_str()),
            (Some(medium), Some(mime)),
            "{path}"
        );
        assert!(read["uri"].as_str().unwrap().starts_with("file:///"));
        assert!(read.get("bytes").is_none());
    }
    let args = ops::ReadMediaFile {
        path: "data".into(),
    };
    assert_eq!(
        ops::read_media_file(&notes.folders, &args, &never)
            .unwrap()
            .bytes,
        b"\0\xfb\xff"
    );
}

#[test]
fn text_and_large_files_are_refused_with_what_to_do() {
    let notes = fixture(&[
        ("a.svg", &b"<svg/>"[..]),
        ("empty.png", b""),
        ("big.bin", &[0; 101]),
    ])
    .limited(Limits {
        media_bytes: 100,
        ..Limits::default()
    });
    for path in ["a.svg", "empty.png"] {
        let error = notes.text("read_media_file", json!({ "path": path }));
        assert_eq!(
            error,
            format!("Error: Argument `path`: \"{path}\" is text. Use read_text_file.")
        );
    }
    let error = notes.text("read_media_file", json!({ "path": "big.bin" }));
    assert!(
        error.starts_with("Error: \"big.bin\" has 101 bytes, and one call takes at most 100."),
        "{error}"
    );
}
