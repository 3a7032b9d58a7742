//! Which era a server speaks is remembered from one run to the next: what a server hears is counted.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::support::Place;

/// A server of the legacy era that dies of what it does not know, and writes down what it hears.
const SERVER: &str = r#"
echo start >> heard
while read -r line; do
  method=$(printf '%s' "$line" | sed -n 's/.*"method":"\([^"]*\)".*/\1/p')
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  echo "$method" >> heard
  case "$method" in
    initialize) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    tools/list) result='{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    tools/call) result='{"content":[{"type":"text","text":"hello"}]}' ;;
    ping) result='{}' ;;
    notifications/*) continue ;;
    *) exit 1 ;;
  esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done
"#;

/// What the server hears of one run of `polyport`.
fn heard(place: &Place, words: &[&str]) -> String {
    let _ = fs::remove_file(place.path("heard"));
    let (verb, rest) = words.split_at(1);
    let server = ["--", "sh", "server.sh", "hush", "--"];
    let (before, after) = if *verb == ["call"] {
        (&[][..], rest)
    } else {
        (rest, &[][..])
    };
    let words = verb.iter().chain(before).chain(&server).chain(after);
    let ended = place.command(words).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{words:?}: {said}", words = rest);
    let heard = fs::read_to_string(place.path("heard")).unwrap();
    heard.lines().collect::<Vec<_>>().join(" ")
}

// req: D-42
#[test]
fn d_42_a_server_is_asked_about_its_era_once_a_day() {
    let place = Place::new();
    place.write("server.sh", SERVER);
    let asked = "start server/discover start initialize notifications/initialized";
    let greeted = "start initialize notifications/initialized";
    let file = place.path("cache/polyport/eras.json");
    let one = |words: &[&str], opening: &str| {
        let heard = heard(&place, words);
        assert!(heard.starts_with(opening), "{words:?}: {heard}");
        assert_eq!(
            heard.matches("start").count(),
            opening.matches("start").count()
        );
    };
    one(&["ping"], asked);
    let kept = fs::read_to_string(&file).unwrap();
    assert!(
        !kept.contains("hush") && !kept.contains("server.sh"),
        "{kept}"
    );
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(file.clone()), 0o600);
    assert_eq!(mode(place.path("cache/polyport")), 0o700);
    one(&["ping"], greeted);
    one(&["ls"], greeted);
    one(&["call", "echo"], greeted);
    assert_eq!(fs::read_to_string(&file).unwrap(), kept);
    // Who overrules it changes nothing of it.
    one(&["ping", "--era", "legacy"], greeted);
    assert_eq!(fs::read_to_string(&file).unwrap(), kept);
    one(&["ping", "--no-cache"], asked);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"servers\":[]}");
    one(&["ping"], asked);
    // What is broken is as nothing.
    fs::write(&file, "{\"servers\":").unwrap();
    one(&["ping"], asked);
    one(&["ping"], greeted);
}

// req: D-42
#[test]
fn d_42_a_place_where_nothing_can_be_kept_is_no_failure() {
    let place = Place::new();
    place.write("server.sh", SERVER);
    place.write("cache", "no folder");
    let asked = "start server/discover start initialize notifications/initialized ping";
    assert_eq!(heard(&place, &["ping", "-n", "1"]), asked);
    assert_eq!(heard(&place, &["ping", "-n", "1"]), asked);
    assert_eq!(
        fs::read_to_string(place.path("cache")).unwrap(),
        "no folder"
    );
}
