//! How far a call is, on standard error: a line of status on a terminal, or a line for each step.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use polyport::OnProgress;
use polyport::model::ProgressParams;
use tokio::time::{Instant, interval_at};

use crate::ui;

/// How long a call runs before its progress is shown on a terminal.
const QUIET: Duration = Duration::from_millis(400);
/// How often it is shown again, where nothing comes.
const EVERY: Duration = Duration::from_millis(500);

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

    /// Shows how far something is; none: nobody looks.
    pub(crate) fn of(self, what: &str) -> Option<Arc<Meter>> {
        self.is_seen().then(|| {
            Arc::new(Meter {
                what: what.to_owned(),
                begun: Instant::now(),
                is_plain: self == Self::Plain,
                last: Mutex::default(),
            })
        })
    }
}

/// How far something is, as far as that is known.
pub(crate) struct Meter {
    what: String,
    begun: Instant,
    is_plain: bool,
    last: Mutex<Option<ProgressParams>>,
}

impl Meter {
    /// Hears the progress of a call.
    pub(crate) fn hears(self: &Arc<Self>) -> OnProgress {
        let ours = self.clone();
        Arc::new(move |progress: ProgressParams| {
            let mut last = ours.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(progress);
            drop(last);
            ours.draw();
        })
    }

    /// Shows it until there is an answer: also one that says nothing takes its time.
    pub(crate) async fn shown_until<T>(&self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        let mut due = interval_at(self.begun + QUIET, EVERY);
        loop {
            tokio::select! {
                biased;
                done = &mut answer => {
                    ui::clear_status();
                    return done;
                }
                _ = due.tick(), if !self.is_plain => self.draw(),
            }
        }
    }

    fn draw(&self) {
        let elapsed = self.begun.elapsed();
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let line = line(&self.what, last.as_ref(), elapsed);
        drop(last);
        if self.is_plain {
            ui::line(&line);
        } else if elapsed >= QUIET {
            ui::status(&format!("{line}  (Ctrl-C cancels)"));
        }
    }
}

/// Shows how long a step takes, where somebody looks.
pub(crate) async fn shown_while<T>(what: &str, step: impl Future<Output = T>) -> T {
    match Shown::Auto.of(what) {
        Some(meter) => meter.shown_until(step).await,
        None => step.await,
    }
}

fn line(what: &str, progress: Option<&ProgressParams>, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let Some(progress) = progress else {
        return format!("{what}  {seconds:.1} s");
    };
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
        seconds,
        progress.message.as_deref().unwrap_or_default(),
    );
    line.replace('\n', " ").trim_end().to_owned()
}
