//! How far a call is, on standard error: a line of status on a terminal, or a line for each step.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use polyport::OnProgress;
use polyport::model::ProgressParams;

use crate::ui;

/// How long a call runs before its progress is shown on a terminal.
const QUIET: Duration = Duration::from_millis(400);

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum Shown {
    /// On a terminal, in place.
    #[default]
    Auto,
    /// A line for each step.
    Plain,
    /// Not at all.
    None,
}

impl Shown {
    /// Is there somebody to whom it is shown?
    pub(crate) fn is_seen(self) -> bool {
        match self {
            Self::Plain => true,
            Self::Auto => ui::has_status() && !ui::is_quiet(),
            Self::None => false,
        }
    }

    /// Hears the progress of a call; none: nobody asks the server for it.
    pub(crate) fn of(self, what: &str) -> Option<OnProgress> {
        if !self.is_seen() {
            return None;
        }
        let is_plain = self == Self::Plain;
        let what = what.to_owned();
        let begun = Instant::now();
        Some(Arc::new(move |progress: ProgressParams| {
            let line = line(&what, &progress, begun.elapsed());
            if is_plain {
                ui::line(&line);
            } else if begun.elapsed() >= QUIET {
                ui::status(&format!("{line}  (Ctrl-C cancels)"));
            }
        }))
    }
}

fn line(what: &str, progress: &ProgressParams, elapsed: Duration) -> String {
    let number = |number: &dyn ToString| number.to_string().parse::<f64>().ok();
    let of = progress.total.as_ref().map(|total| format!("/{total}"));
    let done = number(&progress.progress);
    let share = progress.total.as_ref().and_then(|total| number(total));
    let percent = match (done, share) {
        (Some(done), Some(total)) if total > 0.0 => format!("  {:.0}%", done / total * 100.0),
        _ => String::new(),
    };
    let line = format!(
        "{what}  {}{}{percent}  {:.1} s  {}",
        progress.progress,
        of.unwrap_or_default(),
        elapsed.as_secs_f64(),
        progress.message.as_deref().unwrap_or_default(),
    );
    line.replace('\n', " ").trim_end().to_owned()
}
