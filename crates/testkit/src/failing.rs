//! Programs that fail at a step of theirs, in every way, written for `sh`.

use polyport_rt::Command;

/// How a program fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fails {
    /// It is killed.
    Dies,
    /// It says that nothing more comes, and goes on to read.
    ClosesHalf,
    /// It neither reads nor says anything more.
    Silent,
    /// One byte a second, and no end of the line.
    Drips,
}

impl Fails {
    /// Every way.
    pub const ALL: [Self; 4] = [Self::Dies, Self::ClosesHalf, Self::Silent, Self::Drips];
}

/// `at N` is a step; `number` finds the id of the `$line`; `half` says the first half of a message and `rest MEMBERS` the other one of the
/// answer to it; `answer N MEMBERS` says both, with a step before, between and behind them.
const STEPS: &str = r#"
at() { if [ "$STEP" = "$1" ]; then "$HOW"; fi; }
Dies() { kill -9 $$; }
ClosesHalf() { exec >&-; while read -r line; do :; done; exit 0; }
Silent() { exec sleep 1000; }
Drips() { while printf '{'; do sleep 1; done; }
number() { id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p'); }
half() { printf '{"jsonrpc":"2.0",'; }
rest() { printf '"id":%s,%s}\n' "$id" "$1"; }
answer() { at "$1"; half; at "$(($1 + 1))"; rest "$2"; at "$(($1 + 2))"; }
"#;

/// A program that runs this script and fails at that step, if the script comes to it.
pub fn failing(script: &str, step: u32, how: Fails) -> Command {
    Command::new("sh")
        .args(["-c", &format!("{STEPS}{script}")])
        .env("STEP", step.to_string())
        .env("HOW", format!("{how:?}"))
}
