//! What the doctor says: checks in their order, as lines while they are made, or as one document. Makes harmless what servers say.

use std::time::{Duration, Instant};

use polyport::Raw;
use serde_json::json;

use crate::failure::Failure;
use crate::reach::Manner;
use crate::{printing, render, secrets, ui};

/// A check that is to be made: its id, and its name where it is skipped.
pub(super) type Step = (&'static str, &'static str);

/// Columns of what is checked.
const WIDTH: usize = 31;
/// Columns of a sentence.
const LINE: usize = 92;
/// Characters of one line, and lines, that a server may say in a report.
const SAID: usize = 300;
const LINES: usize = 24;
/// A step that took less has no share of the time that is worth a word.
const SHARE: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Ok,
    Fail,
    Warn,
    Skip,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Skip => "skip",
        }
    }
}

/// One check that was made.
#[derive(Debug)]
pub(super) struct Check {
    id: &'static str,
    verdict: Verdict,
    what: String,
    detail: String,
    why: String,
    remedy: String,
    code: u8,
}

impl Check {
    /// All is well.
    pub(super) fn ok(id: &'static str, what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            id,
            verdict: Verdict::Ok,
            what: what.into(),
            detail: detail.into(),
            why: String::new(),
            remedy: String::new(),
            code: 0,
        }
    }

    /// It works, and will not everywhere.
    pub(super) fn warn(
        id: &'static str,
        what: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Warn,
            ..Self::ok(id, what, detail)
        }
    }

    /// It does not work; the exit code that says so.
    pub(super) fn fail(
        code: u8,
        id: &'static str,
        what: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Fail,
            code,
            ..Self::ok(id, what, detail)
        }
    }

    /// What failed for another verb in the same way.
    pub(super) fn of(id: &'static str, what: impl Into<String>, failure: &Failure) -> Self {
        let message = failure.message();
        let message = message.strip_prefix("the server: ").unwrap_or(message);
        Self::fail(failure.exit(), id, what, message).remedy(failure.remedy().unwrap_or_default())
    }

    /// It was not looked at.
    fn skip(step: Step) -> Self {
        Self {
            verdict: Verdict::Skip,
            ..Self::ok(step.0, step.1, "")
        }
    }

    /// Why it matters.
    pub(super) fn why(self, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { why, ..self }
    }

    /// What to do.
    pub(super) fn remedy(self, remedy: impl Into<String>) -> Self {
        let remedy = remedy.into();
        Self { remedy, ..self }
    }

    /// With nothing in it that a server could play with.
    fn harmless(self) -> Self {
        Self {
            what: tame(&self.what),
            detail: tame(&self.detail),
            why: tame_lines(&self.why),
            remedy: tame_lines(&self.remedy),
            ..self
        }
    }

    fn lines(&self) -> String {
        let mark = match self.verdict {
            Verdict::Fail => "FAIL",
            other => other.name(),
        };
        let line = format!(" {mark:<4}  {:<WIDTH$}  {}", self.what, self.detail);
        let mut lines = vec![line.trim_end().to_owned()];
        let fix = match &*self.remedy {
            "" => String::new(),
            remedy => format!("Fix: {remedy}"),
        };
        let both = format!("{} {fix}", self.why).trim().to_owned();
        let notes = if both.chars().count() <= LINE && !both.contains('\n') {
            both
        } else {
            format!("{}\n{fix}", self.why)
        };
        let notes = notes.lines().filter(|line| !line.trim().is_empty());
        lines.extend(notes.map(|line| format!("       {line}").trim_end().to_owned()));
        lines.push(String::new());
        lines.join("\n")
    }
}

/// All checks of one server.
#[derive(Debug)]
pub(crate) struct Report {
    checks: Vec<Check>,
    planned: Vec<Step>,
    /// How long each group of checks took, in their order.
    shares: Vec<(&'static str, Duration)>,
    begun: Instant,
    since: Instant,
    /// Is each printed when it is made?
    is_said: bool,
}

impl Report {
    pub(crate) fn new(is_said: bool) -> Self {
        let now = Instant::now();
        Self {
            checks: Vec::new(),
            planned: Vec::new(),
            shares: Vec::new(),
            begun: now,
            since: now,
            is_said,
        }
    }

    /// Checks that are to be made.
    pub(super) fn plan(&mut self, steps: &[Step]) {
        self.planned.extend(steps);
    }

    /// A check that was made.
    ///
    /// # Errors
    /// Nobody reads it.
    pub(super) fn add(&mut self, check: Check) -> Result<(), Failure> {
        let check = check.harmless();
        self.share(check.id);
        if self.is_said {
            printing::verdicts(&check.lines())?;
        }
        self.checks.push(check);
        Ok(())
    }

    /// This manner, in the time that the checks so far have left.
    pub(super) fn in_time(&self, manner: &Manner) -> Manner {
        let spent = self.begun.elapsed();
        Manner {
            timeout: manner.timeout.map(|time| time.saturating_sub(spent)),
            ..manner.clone()
        }
    }

    /// What has passed since the last check belongs to this one.
    fn share(&mut self, id: &'static str) {
        let group = id.split('.').next().unwrap_or_default();
        let took = self.since.elapsed();
        self.since += took;
        match self.shares.last_mut() {
            Some((last, time)) if *last == group => *time += took,
            _ => self.shares.push((group, took)),
        }
    }

    /// The checks that are planned and not made.
    fn left(&self) -> Vec<Step> {
        let is_made = |id: &str| {
            let mut made = self.checks.iter().map(|check| check.id);
            made.any(|made| made.split('.').next() == Some(id))
        };
        let planned = self.planned.iter().copied();
        planned.filter(|(id, _)| !is_made(id)).collect()
    }

    /// The step that comes next.
    pub(super) fn next(&self) -> Option<Step> {
        self.left().first().copied()
    }

    /// What was to be done next is given up after all of the time; each step is named that had a share of it.
    ///
    /// # Errors
    /// Nobody reads it.
    pub(super) fn give_up(&mut self, check: Check) -> Result<(), Failure> {
        self.share(check.id);
        let shares = self.shares.iter().filter(|(_, took)| *took >= SHARE);
        let shares = shares.map(|(id, took)| format!("{id} {}", time(*took)));
        let shares: Vec<String> = shares.collect();
        let why = format!("{}\nOf the time went: {}.", check.why, shares.join(", "));
        self.add(check.why(why.trim()))
    }

    /// What was planned and not made.
    ///
    /// # Errors
    /// Nobody reads it.
    pub(super) fn skip_the_rest(&mut self) -> Result<(), Failure> {
        let left = self.left();
        self.planned.clear();
        let names: Vec<&str> = left.iter().map(|(_, name)| *name).collect();
        if self.is_said && !names.is_empty() {
            printing::verdicts(&format!(" skip  {}\n", names.join(", ")))?;
        }
        self.checks.extend(left.into_iter().map(Check::skip));
        Ok(())
    }

    /// All of them as one document.
    pub(crate) fn document(&self) -> Raw {
        let check = |check: &Check| {
            let detail = match &*check.why {
                "" => check.detail.clone(),
                why => format!("{}\n{why}", check.detail).trim().to_owned(),
            };
            let remedy = (!check.remedy.is_empty()).then_some(&check.remedy);
            json!({
                "id": check.id, "status": check.verdict.name(), "what": check.what,
                "detail": detail, "remedy": remedy,
            })
        };
        let checks: Vec<_> = self.checks.iter().map(check).collect();
        render::document(&json!({"checks": checks, "ok": self.failure().is_none()}))
    }

    /// The first check that failed.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let is_failed = |check: &&Check| check.verdict == Verdict::Fail;
        let check = self.checks.iter().find(is_failed)?;
        let said = Failure::unexpected(format!("{}: {}", check.what, check.detail));
        let said = said.code(check.code);
        Some(match &*check.remedy {
            "" => said,
            remedy => said.hint(remedy),
        })
    }
}

/// A text on one line, of bounded length, in which nothing is hidden.
pub(super) fn tame(text: &str) -> String {
    let text = &*secrets::hidden(text);
    let mut shown: String = text.chars().take(SAID).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    let shown = ui::visible(&shown);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The same, line by line, with what they are indented by.
fn tame_lines(text: &str) -> String {
    let line = |line: &str| {
        let indented = line.len() - line.trim_start_matches(' ').len();
        format!("{}{}", " ".repeat(indented.min(4)), tame(line))
    };
    let lines: Vec<String> = text.lines().take(LINES).map(line).collect();
    lines.join("\n")
}

/// Some names of many: `a, b, c and 4 more`.
pub(super) fn some(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names.iter().take(SHOWN).map(|name| cut(name));
    let shown: Vec<String> = shown.collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A name, or its beginning.
fn cut(name: &str) -> String {
    const MOST: usize = 90;
    match name.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

/// `12 ms`, `1.9 s`.
pub(super) fn time(time: Duration) -> String {
    match time.as_millis() {
        0 => "less than 1 ms".to_owned(),
        millis @ 1..=999 => format!("{millis} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: S-DOCTOR
    #[test]
    fn nothing_that_a_server_says_reaches_a_terminal_as_it_is() {
        let long = "x".repeat(400);
        for (text, want) in [
            ("plain é", "plain é"),
            ("a\u{1b}[2J\nb\r\tc", "a\\u{1b}[2J b\\u{d} c"),
            ("\u{202e}evil", "\\u{202e}evil"),
            (&long, &format!("{}…", "x".repeat(SAID))),
        ] {
            assert_eq!(tame(text), want);
        }
        assert_eq!(tame_lines("a\n    b\u{7}\n").as_str(), "a\n    b\\u{7}");
        let many: Vec<String> = (0..5).map(|n| format!("n{n}")).collect();
        assert_eq!(some(&many), "n0, n1, n2 and 2 more");
        assert_eq!(some(&many[..3]), "n0, n1, n2");
    }

    #[test]
    fn what_was_not_looked_at_is_said() {
        let mut report = Report::new(false);
        report.plan(&[("a", "first"), ("b", "second"), ("lint", "lint")]);
        report.add(Check::ok("a", "first", "")).unwrap();
        report.add(Check::warn("lint.names", "names", "x")).unwrap();
        assert!(report.failure().is_none());
        report
            .add(Check::fail(6, "c", "third", "no").remedy("do"))
            .unwrap();
        report.skip_the_rest().unwrap();
        let document: serde_json::Value = report.document().decode().unwrap();
        let status: Vec<&str> = document["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|check| check["status"].as_str().unwrap())
            .collect();
        assert_eq!(status, ["ok", "warn", "fail", "skip"]);
        assert_eq!(document["ok"], false);
        assert_eq!(report.failure().unwrap().exit(), 6);
    }
}
