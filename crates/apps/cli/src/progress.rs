//! How far long work has come: one line on stderr, on a terminal only.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use onoff_sources::Progress;

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// The line, while it is shown.
#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
}

impl ProgressLine {
    /// A line about reading; hidden where stderr is no terminal.
    pub fn reading() -> Self {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(8)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        // The template is ours and constant; a plain line would show if it were wrong.
        if let Ok(style) =
            ProgressStyle::with_template("reading {bytes} of {total_bytes} {bar:24} {percent} % {binary_bytes_per_sec}")
        {
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        Self { bar }
    }

    /// The same about one of several recordings.
    pub fn reading_one(number: usize, of: usize) -> Self {
        let line = Self::reading();
        let template = format!("recording {number} of {of}: {{bytes}} of {{total_bytes}} {{bar:24}} {{percent}} %");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            line.bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        line
    }

    /// A line about many recordings.
    pub fn recordings(of: usize) -> Self {
        let line = Self::reading();
        line.bar.set_length(of as u64);
        if let Ok(style) = ProgressStyle::with_template("{pos} of {len} recordings {bar:24} {percent} %, {eta} left") {
            line.bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        line
    }

    /// Says that one more recording is done.
    pub fn one_more(&self) {
        self.bar.inc(1);
    }

    /// What a reader calls as it goes on.
    pub fn listener(&self) -> Arc<dyn Fn(Progress) + Send + Sync> {
        let bar = self.bar.clone();
        Arc::new(move |progress| {
            if bar.elapsed() < PATIENCE {
                return;
            }
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
        })
    }
}

impl onoff_xperf::ReadingProgress for ProgressLine {
    fn listener(&self) -> Arc<dyn Fn(Progress) + Send + Sync> {
        self.listener()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
