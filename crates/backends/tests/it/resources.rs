//! The same files as resources: pages, contents, templates, completion.

use std::fs;

use polyport_backends::files::{
    FilesError, Folders, Limits,
    resources::{self, Body},
    uri,
};

use crate::support::{Fixture, fill, fixture, never};

fn names_of_all_pages(notes: &Fixture) -> (Vec<String>, usize) {
    let (mut names, mut pages, mut cursor) = (Vec::new(), 0, None::<String>);
    loop {
        let page = resources::list(&notes.folders, cursor.as_deref(), &never).unwrap();
        names.extend(page.resources.into_iter().map(|resource| resource.name));
        pages += 1;
        assert_ne!(page.next_cursor.as_deref(), cursor.as_deref().or(Some("")));
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return (names, pages),
        }
    }
}

#[test]
fn every_file_is_on_one_page() {
    let files = [
        ("a/b/c.txt", ""),
        ("a/b.md", ""),
        ("a-b.md", ""),
        ("ü/ü.txt", ""),
        ("z", ""),
        (".hidden", ""),
        ("x.log", ""),
        (".gitignore", "*.log"),
    ];
    let want = ["a/b/c.txt", "a/b.md", "a-b.md", "z", "ü/ü.txt"];
    for (page, pages) in [(1, 5), (2, 3), (4, 2), (5, 1), (6, 1)] {
        let notes = fixture(&files).limited(Limits {
            page,
            ..Limits::default()
        });
        assert_eq!(
            names_of_all_pages(&notes),
            (want.map(str::to_owned).to_vec(), pages)
        );
    }
    for visited in [1, 2, 3] {
        let notes = fixture(&files).limited(Limits {
            visited,
            ..Limits::default()
        });
        assert_eq!(names_of_all_pages(&notes).0, want, "{visited}");
    }
    let base = fixture(&files);
    let other = base.outside.path().join("other");
    fill(&other, &[("1", ""), ("2", "")]);
    let folders = Folders::open([other, base.root()])
        .unwrap()
        .with_limits(Limits {
            page: 2,
            ..Limits::default()
        });
    let both = Fixture { folders, ..base };
    let want: Vec<_> = ["other/1".to_owned(), "other/2".into()]
        .into_iter()
        .chain(want.map(|name| format!("notes/{name}")))
        .collect();
    assert_eq!(names_of_all_pages(&both).0, want);
}

#[test]
fn a_file_in_nested_folders_is_listed_once() {
    let base = fixture(&[("a/b/c.txt", ""), ("a/d.txt", ""), ("ab", ""), ("e", "")]);
    let root = base.root();
    for folders in [
        vec![root.clone(), root.join("a")],
        vec![root.join("a"), root.clone(), root.join("a")],
    ] {
        let folders = Folders::open(folders).unwrap();
        let page = resources::list(&folders, None, &never).unwrap();
        let mut names: Vec<_> = page.resources.into_iter().map(|r| r.name).collect();
        names.sort();
        assert_eq!(names, ["a/b/c.txt", "a/d.txt", "notes/ab", "notes/e"]);
    }
}

#[test]
fn resources_are_described() {
    let notes = fixture(&[("ü b.md", "12345"), ("noext", "")]);
    let page = resources::list(&notes.folders, None, &never).unwrap();
    let [noext, markdown] = page.resources.as_slice() else {
        panic!("{page:?}")
    };
    assert_eq!((noext.mime_type.as_deref(), noext.size), (None, Some(0)));
    assert_eq!(
        (markdown.mime_type.as_deref(), markdown.size),
        (Some("text/markdown"), Some(5))
    );
    assert!(
        markdown.uri.ends_with("/notes/%C3%BC%20b.md"),
        "{}",
        markdown.uri
    );
    assert_eq!(page.next_cursor, None);
}

#[test]
fn bogus_cursors_are_refused() {
    let limits = || Limits {
        page: 1,
        ..Limits::default()
    };
    let notes = fixture(&[("a", ""), ("b", "")]).limited(limits());
    let good = resources::list(&notes.folders, None, &never)
        .unwrap()
        .next_cursor
        .unwrap();
    let mut flipped = good.clone().into_bytes();
    flipped[20] = if flipped[20] == b'0' { b'1' } else { b'0' };
    let flipped = String::from_utf8(flipped).unwrap();
    for cursor in [
        "",
        "0",
        "zz",
        "a",
        "é",
        &good[1..],
        &good[2..],
        &good.to_uppercase(),
        &flipped,
        &"0".repeat(200_000),
    ] {
        let error = resources::list(&notes.folders, Some(cursor), &never).unwrap_err();
        assert!(matches!(error, FilesError::Cursor), "{cursor:.40}: {error}");
    }
    let elsewhere = fixture(&[("a", ""), ("b", "")]).limited(limits());
    assert!(resources::list(&elsewhere.folders, Some(&good), &never).is_err());
    fs::remove_file(notes.root().join("a")).unwrap();
    let page = resources::list(&notes.folders, Some(&good), &never).unwrap();
    assert_eq!(page.resources[0].name, "b");
}

#[test]
fn contents_are_text_or_bytes_under_the_uri_asked_for() {
    let notes = fixture(&[
        ("a b.md", &b"# x"[..]),
        ("blob", b"\xfb\xff"),
        ("empty", b""),
        ("page.png", b"text after all"),
        ("data.json", b"{}"),
    ]);
    let root = notes.root();
    let encoded = uri::from_path(&root.join("a b.md"));
    let raw = format!("file://{}/a b.md", root.display());
    for asked in [&encoded, &raw] {
        let read = resources::read(&notes.folders, asked, &never).unwrap();
        assert_eq!(&read.uri, asked);
        assert_eq!(
            (read.mime_type.as_deref(), read.body),
            (Some("text/markdown"), Body::Text("# x".into()))
        );
    }
    for (name, mime, body) in [
        (
            "blob",
            "application/octet-stream",
            Body::Blob(vec![0xfb, 0xff]),
        ),
        ("empty", "text/plain", Body::Text(String::new())),
        (
            "page.png",
            "text/plain",
            Body::Text("text after all".into()),
        ),
        ("data.json", "application/json", Body::Text("{}".into())),
    ] {
        let read =
            resources::read(&notes.folders, &uri::from_path(&root.join(name)), &never).unwrap();
        assert_eq!(
            (read.mime_type.as_deref(), read.body),
            (Some(mime), body),
            "{name}"
        );
    }
}

#[test]
fn d_02_only_file_uris_inside_are_resources() {
    let notes = fixture(&[("a.txt", "x")]);
    let root = notes.root();
    for uri in [
        "a.txt",
        "memo:insights",
        "http://x/a.txt",
        "",
        "file:",
        "file:a.txt",
        "file:///etc/passwd",
        &format!("{}/a.txt", root.display()),
    ] {
        let error = resources::read(&notes.folders, uri, &never).unwrap_err();
        assert!(error.is_missing(), "{uri}: {error}");
    }
    for uri in ["file:///%zz", "file:///a%00b"] {
        let error = resources::read(&notes.folders, uri, &never)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("Argument `uri`: "), "{error}");
    }
    let directory = resources::read(&notes.folders, &uri::from_path(&root), &never).unwrap_err();
    assert!(
        matches!(directory, FilesError::IsFolder { .. }),
        "{directory}"
    );
}

#[test]
fn completion_walks_down_a_path() {
    let notes = fixture(&[
        ("docs/guide.md", ""),
        ("docs/gui/x.md", ""),
        ("docs/.hidden", ""),
        ("dot.txt", ""),
        ("café/a#b?c%d.txt", "odd"),
        ("zebra", ""),
    ]);
    let [template] = &*resources::templates(&notes.folders) else {
        panic!()
    };
    assert!(
        template.uri_template.ends_with("/notes/{+path}")
            && template.uri_template.contains("%C3%BC")
    );
    for (typed, want) in [
        ("", &["café/", "docs/", "dot.txt", "zebra"][..]),
        ("do", &["docs/", "dot.txt"]),
        ("docs/", &["docs/gui/", "docs/guide.md"]),
        (
            "docs/gui/../g",
            &["docs/gui/../gui/", "docs/gui/../guide.md"],
        ),
        ("docs/.", &["docs/.hidden"]),
        ("caf", &["café/"]),
        ("caf%C3%A9", &["café/"]),
        ("café/", &["café/a%23b%3Fc%25d.txt"]),
        ("caf%C3%A9/a%23", &["caf%C3%A9/a%23b%3Fc%25d.txt"]),
        ("nothing/", &[]),
        ("zebra/", &[]),
        ("../", &[]),
        ("/", &[]),
        ("x\0", &[]),
    ] {
        let completion =
            resources::complete(&notes.folders, &template.uri_template, typed, &never).unwrap();
        assert_eq!(completion.values, want, "{typed:?}");
        assert!(!completion.has_more());
        for value in completion
            .values
            .iter()
            .filter(|value| !value.ends_with('/'))
        {
            // The value in the template, as it is and as a strict expansion would write it.
            let expanded = template.uri_template.replace("{+path}", value);
            let strict = expanded.replace('é', "%C3%A9");
            for uri in [expanded, strict] {
                assert!(
                    resources::read(&notes.folders, &uri, &never).is_ok(),
                    "{uri}"
                );
            }
        }
    }
    let other = resources::complete(&notes.folders, "file:///{+path}", "d", &never).unwrap();
    assert_eq!(other.values, [""; 0]);
}

#[test]
fn completion_gives_100_values_and_the_total() {
    let files: Vec<_> = (0..150).map(|number| format!("f{number:03}")).collect();
    let files: Vec<_> = files.iter().map(|name| (name.as_str(), "")).collect();
    let notes = fixture(&files);
    let template = &resources::templates(&notes.folders)[0].uri_template;
    let completion = resources::complete(&notes.folders, template, "f", &never).unwrap();
    assert_eq!(
        (
            completion.values.len(),
            completion.total,
            completion.has_more()
        ),
        (100, 150, true)
    );
    assert_eq!(completion.values[99], "f099");
}
