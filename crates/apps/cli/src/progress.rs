//! A progress line on stderr, shown only on a terminal.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use onoff_sources::Progress;

/// Tasks shorter than this show no progress.
const SHOW_AFTER: Duration = Duration::from_millis(400);

/// Callback for progress, from any thread.
pub type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

thread_local! {
    /// Listener to all progress lines that this thread creates.
    static CALLER: RefCell<Option<Listener>> = const { RefCell::new(None) };
}

/// Runs `work`, whose progress lines also report to `listener`. The listener ends the work if it unwinds.
pub fn with_listener<T>(listener: Listener, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<Listener>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CALLER.set(self.0.take());
        }
    }
    let _restore = Restore(CALLER.replace(Some(listener)));
    work()
}

/// A progress line; dropping it clears it.
pub struct ProgressLine {
    bar: ProgressBar,
    caller: Option<Listener>,
}

impl ProgressLine {
    /// Shows progress in bytes for one recording; hidden if stderr is not a terminal.
    pub fn reading() -> Self {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(8)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        // An invalid template would leave the default style.
        if let Ok(style) =
            ProgressStyle::with_template("reading {bytes} of {total_bytes} {bar:24} {percent} % {binary_bytes_per_sec}")
        {
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        Self { bar, caller: CALLER.with_borrow(Clone::clone) }
    }

    /// Shows progress in bytes for one of several recordings.
    pub fn reading_one(number: usize, count: usize) -> Self {
        let line = Self::reading();
        let template = format!("recording {number} of {count}: {{bytes}} of {{total_bytes}} {{bar:24}} {{percent}} %");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            line.bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        line
    }

    /// Shows progress by number of recordings.
    pub fn recordings(count: usize) -> Self {
        let line = Self::reading();
        line.bar.set_length(count as u64);
        if let Ok(style) = ProgressStyle::with_template("{pos} of {len} recordings {bar:24} {percent} %, {eta} left") {
            line.bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        line
    }

    /// Counts one finished recording.
    pub fn increment(&self) {
        self.bar.inc(1);
        report_recordings(&self.bar, self.caller.as_ref());
    }

    /// Returns a callback for the reader of one recording of several: the caller can end the work there, too.
    pub fn within_recording(&self) -> Listener {
        let (bar, caller) = (self.bar.clone(), self.caller.clone());
        Arc::new(move |_| report_recordings(&bar, caller.as_ref()))
    }

    /// Returns the callback for a reader.
    pub fn listener(&self) -> Listener {
        let (bar, caller) = (self.bar.clone(), self.caller.clone());
        Arc::new(move |progress| {
            if let Some(caller) = &caller {
                caller(progress);
            }
            if bar.elapsed() < SHOW_AFTER {
                return;
            }
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
        })
    }
}

fn report_recordings(bar: &ProgressBar, caller: Option<&Listener>) {
    if let Some(caller) = caller {
        caller(Progress { done_bytes: bar.position(), total_bytes: bar.length().unwrap_or(0) });
    }
}

impl onoff_xperf::ReadingProgress for ProgressLine {
    fn listener(&self) -> Listener {
        self.listener()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
