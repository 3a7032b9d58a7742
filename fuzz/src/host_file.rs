//! The check of configuration files: read as every host's, their variables filled in, changed, and brought back.

use std::path::Path;

use polyport_config::{
    Fault, Format, HOSTS, Own, Record, Scope, Servers, Shape, Spot, Way, expand, mask, masked,
};
use serde_json::{Value, json};

/// Reads `data` as a letter that chooses a host, and the text of its file.
///
/// - It is read or refused; what is wrong has a line that is there.
/// - What is read of our own file and stands there without a fault can be had by its name.
/// - A text without variables is filled in with itself; one with them is filled in or says why not, and no more than once.
/// - An entry that is put in stands there, and putting it in again changes nothing. Taken out, everything else is as before.
/// - What is shown of it has its lines, and not the secret of the entry that is put in.
/// - The record of the change brings the text back to the byte.
pub fn check(data: &[u8]) {
    let Some((letter, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let with_files = HOSTS.iter().filter(|host| !host.files.is_empty());
    let hosts: Vec<_> = with_files.collect();
    let host = hosts[usize::from(*letter) % hosts.len()];
    let format = host.shape.format;
    read(text, format);
    let keys = host.files[0].keys.iter().map(|key| (*key).to_owned());
    let spot = Spot {
        format,
        keys: keys.collect(),
        name: "shop".to_owned(),
    };
    change(text, &spot, &entry(&host.shape));
}

fn read(text: &str, format: Format) {
    let file = Path::new("file");
    let lines = text.matches('\n').count() + 1;
    assert_eq!(masked(text, format).matches('\n').count() + 1, lines);
    let there = |fault: &Fault| {
        assert!(!fault.why.is_empty());
        assert!(
            fault.line.is_none_or(|line| (1..=lines).contains(&line)),
            "{fault} of {lines} lines"
        );
    };
    match Servers::of(file, text, format, Path::new("/shop")) {
        Err(fault) => there(&fault),
        Ok(servers) => {
            for (_, entry) in &servers.entries {
                match entry {
                    Err(fault) => there(fault),
                    Ok(entry) => {
                        let _ = mask::raw(entry);
                        let _ = entry.clone().try_map(|_, field| {
                            assert!((1..=lines).contains(&field.line), "{field:?}");
                            fill(&field.text, entry.bare);
                            Ok::<_, ()>(())
                        });
                        if let Way::Command(start) = &entry.way {
                            assert!(!start.program.text.is_empty());
                        }
                    }
                }
            }
        }
    }
    let name = match format {
        Format::Json => "own.json",
        Format::Toml => "own.toml",
    };
    match Own::of(Path::new(name), text) {
        Err(fault) => there(&fault),
        Ok(own) => {
            own.faults.iter().for_each(there);
            for name in own.servers.names() {
                if own.faults.is_empty() && own.servers.get(name).is_ok() {
                    assert!(own.get(name).is_ok_and(|entry| entry.is_some()), "{name}");
                }
            }
        }
    }
}

fn fill(text: &str, bare: bool) {
    // What a variable holds looks like variables, and stays so.
    const HELD: &str = "${A}$$";
    let scope = Scope {
        variable: &|name| name.starts_with('A').then(|| HELD.to_owned()),
        input: &|_| Ok(HELD.to_owned()),
        command: None,
        files: false,
        project: Path::new("/shop"),
        folder: Path::new("/shop"),
        home: None,
        bare,
    };
    match expand(text, &scope) {
        Ok(expanded) if !text.contains(['$', '{']) => {
            assert_eq!((&*expanded.text, expanded.from.len()), (text, 0));
        }
        Ok(expanded) => {
            let held = expanded.text.matches(HELD).count();
            let named = expanded.from.len();
            assert!(held >= named || named > 0 && text.contains("${"), "{text}");
        }
        Err(why) => assert!(!why.is_empty()),
    }
}

/// Long enough to stand in no other text.
const SECRET: &str = "hunter2-hunter2-hunter2";

fn entry(shape: &Shape) -> Value {
    match shape.list {
        true => {
            json!({"type": "local", "command": ["/bin/x", "a \"b\""], "environment": {"A": "1", "TOKEN": SECRET}})
        }
        false => {
            json!({"command": "/bin/x", "args": ["a \"b\"", "é"], "env": {"A": "1", "TOKEN": SECRET}})
        }
    }
}

fn change(text: &str, spot: &Spot, entry: &Value) {
    let Ok(before) = spot.get(text) else {
        return;
    };
    let Ok(put) = spot.put(text, entry) else {
        return;
    };
    assert_eq!(spot.get(&put).as_ref(), Ok(&Some(entry.clone())));
    assert_eq!(spot.put(&put, entry).as_ref(), Ok(&put), "of {text:?}");
    let shown = masked(&put, spot.format);
    assert!(text.contains(SECRET) || !shown.contains(SECRET), "{shown}");
    let taken = spot
        .take(&put)
        .unwrap_or_else(|why| panic!("{why}: {put:?}"));
    assert_eq!(spot.get(&taken), Ok(None));
    if before.as_ref() == Some(entry) {
        return;
    }
    let record = Record::of(Path::new("file"), Some(text), &put);
    assert_eq!(
        record.back(&put, spot),
        Some(Some(text.to_owned())),
        "{put:?}"
    );
}
