//! What is told about one path.

use std::fs;

use serde_json::json;

use crate::support::fixture;

#[test]
fn a_file_is_described() {
    let notes = fixture(&[("sub/a.md", "one\ntwo")]);
    let path = notes.root().join("sub/a.md");
    let when = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_709_210_096);
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(when)
        .unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    }
    let info = notes.json("get_file_info", json!({ "path": "sub/a.md" }));
    assert_eq!(info["path"], "sub/a.md");
    assert_eq!(
        (&info["kind"], &info["isLink"]),
        (&json!("file"), &json!(false))
    );
    assert_eq!((&info["size"], &info["lines"]), (&json!(7), &json!(2)));
    assert_eq!(
        (&info["modified"], &info["mimeType"]),
        (&json!("2024-02-29T12:34:56Z"), &json!("text/markdown"))
    );
    #[cfg(unix)]
    assert_eq!(info["permissions"], "640");
    let text = notes.text("get_file_info", json!({ "path": "sub/a.md" }));
    assert!(
        text.starts_with(
            "path: sub/a.md\nkind: file\nsize: 7 bytes\nlines: 2\ntype: text/markdown\n"
        ),
        "{text}"
    );
}

#[test]
fn lines_are_counted_only_of_small_texts() {
    let notes = fixture(&[
        ("big.txt", vec![b'\n'; 1024 * 1024 + 1]),
        ("bin", b"\0".to_vec()),
        ("empty", Vec::new()),
    ]);
    for (path, want) in [("big.txt", None), ("bin", None), ("empty", Some(0))] {
        assert_eq!(
            notes
                .json("get_file_info", json!({ "path": path }))
                .get("lines"),
            want.map(|n| json!(n)).as_ref(),
            "{path}"
        );
    }
}

#[test]
fn directories_are_described_without_a_size() {
    let notes = fixture(&[("sub.txt/", "")]);
    let info = notes.json("get_file_info", json!({ "path": "sub.txt" }));
    assert_eq!(info["kind"], "directory");
    for absent in ["size", "lines", "mimeType"] {
        assert!(info.get(absent).is_none(), "{info}");
    }
    assert_eq!(
        notes.json("get_file_info", json!({ "path": "." }))["path"],
        "."
    );
}
