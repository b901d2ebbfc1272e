//! Describes events on several threads at once, for callers that convert each event to text.
//!
//! The text of an event depends on earlier events: names, states, the last switch of a thread. Every thread therefore
//! walks the whole recording and tracks its state, which is a tenth of the work, and describes every n-th batch of
//! events. The caller receives the texts of the batches in order, so the output does not depend on the number of
//! threads.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use onoff_trace::{DescribedEvent, Losses};

use super::{End, EventFilter, EventStream, STEP_BYTES, StreamResult, Walker, losses, schemas};
use onoff_input::options::Options;
use onoff_input::options::Progress;

/// Number of texts by which a thread may be ahead of the consumer.
const MAX_TEXTS_AHEAD: usize = 2;

/// Writes events as text, on a separate thread.
pub trait EventWriter: Send {
    /// Appends the text of the next event that this thread describes. Other threads may have described events in
    /// between.
    fn event(&mut self, event: &DescribedEvent<'_>, text: &mut Vec<u8>);
}

/// Number of events in a batch, whose text has a few megabytes.
pub const BATCH_EVENTS: u64 = 1 << 14;

/// Maximum number of threads, each of which walks the whole recording.
const MAX_THREADS: usize = 8;

/// Returns the fastest number of writers on this computer; 1 if a single thread is just as fast.
#[must_use]
pub fn parallel_writers() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS)
}

/// Result of a thread.
struct WalkSummary {
    visited: u64,
    /// Losses of the batches that the thread described.
    described_losses: Losses,
    losses: Losses,
}

impl EventStream<'_> {
    /// Visits events like [`Self::for_each`], but with one thread per writer. The writers describe batches of
    /// `batch_events` events in turn. Calls `consume` with the text of each batch, in time order, until it breaks.
    pub fn for_each_parallel<B>(
        mut self,
        filter: &EventFilter,
        options: &Options,
        writers: Vec<Box<dyn EventWriter>>,
        batch_events: u64,
        mut consume: impl FnMut(&[u8]) -> ControlFlow<B>,
    ) -> StreamResult<B> {
        self.look_ahead();
        let stream = &self;
        let count = writers.len();
        // Consumed texts, whose buffers are reused.
        let spare_texts = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let (texts, threads): (Vec<Receiver<Vec<u8>>>, Vec<_>) = writers
                .into_iter()
                .enumerate()
                .map(|(number, writer)| {
                    let (sender, receiver) = sync_channel(MAX_TEXTS_AHEAD);
                    let turn = Turn { number: number as u64, count: count as u64, batch_events: batch_events.max(1) };
                    let thread = Thread { stream, filter, options, turn, texts: sender, spare_texts: &spare_texts };
                    (receiver, scope.spawn(move || thread.walk(writer)))
                })
                .unzip();
            let mut outcome = ControlFlow::Continue(());
            // If the thread whose turn it is has no more text, no other thread has any.
            for text in texts.iter().cycle().map_while(|texts| texts.recv().ok()) {
                outcome = consume(&text);
                if outcome.is_break() {
                    break;
                }
                if let Ok(mut spare_texts) = spare_texts.lock() {
                    spare_texts.push(text);
                }
            }
            drop(texts);
            let mut result = StreamResult { outcome, visited: 0, losses: Losses::new() };
            let mut described_losses = Losses::new();
            for (number, thread) in threads.into_iter().enumerate() {
                match thread.join() {
                    Ok(summary) => {
                        result.visited += summary.visited;
                        described_losses.merge(summary.described_losses);
                        // All threads have the same losses.
                        if number == 0 {
                            result.losses = summary.losses;
                        }
                    }
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            result.losses.merge(described_losses);
            result
        })
    }
}

/// The batches described by a thread.
#[derive(Clone, Copy)]
struct Turn {
    number: u64,
    count: u64,
    batch_events: u64,
}

impl Turn {
    /// True if this thread describes the event after the first `seen` events.
    fn includes(self, seen: u64) -> bool {
        (seen / self.batch_events) % self.count == self.number
    }

    /// True if a batch ends after `seen` events.
    fn ends(self, seen: u64) -> bool {
        seen.is_multiple_of(self.batch_events)
    }
}

struct Thread<'s, 'f> {
    stream: &'s EventStream<'f>,
    filter: &'s EventFilter,
    options: &'s Options,
    turn: Turn,
    texts: SyncSender<Vec<u8>>,
    spare_texts: &'s Mutex<Vec<Vec<u8>>>,
}

impl Thread<'_, '_> {
    fn walk(self, mut writer: Box<dyn EventWriter>) -> WalkSummary {
        let EventStream { files, recording, schemas, follower, stack_fields, selection, .. } = self.stream;
        let mut walker =
            Walker::new(recording, schemas.clone(), follower.clone(), self.filter, *stack_fields, *selection);
        let (mut seen, mut text) = (0, self.empty_text());
        let mut visit = |walker: &mut Walker<'_>, record: &onoff_etl::Record<'_>| -> ControlFlow<End<()>> {
            let is_own_batch = self.turn.includes(seen);
            let attribution = if is_own_batch {
                walker.follow(record)?
            } else {
                walker.follow_only(record).map_continue(|()| None)?
            };
            seen += 1;
            if let Some(attribution) = attribution {
                walker.describe(record, &attribution, &mut |event| {
                    writer.event(event, &mut text);
                    ControlFlow::Continue(())
                })?;
            }
            if is_own_batch && self.turn.ends(seen) {
                self.send(std::mem::replace(&mut text, self.empty_text()))?;
            }
            ControlFlow::Continue(())
        };
        let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
        let windows = recording.windows((bytes / STEP_BYTES).max(1));
        let total_bytes = windows.iter().map(|window| window.size() as u64).sum();
        let mut done_bytes = 0;
        let mut walk_losses = onoff_etl::Losses::default();
        let mut is_stopped = false;
        for window in windows {
            let walk = window.for_each(|record| visit(&mut walker, record));
            walk_losses.merge(&walk.losses);
            if let ControlFlow::Break(end) = walk.outcome {
                is_stopped = matches!(end, End::Visitor(()));
                break;
            }
            done_bytes += window.size() as u64;
            // A single thread reports progress, because the threads are never far apart.
            if self.turn.number == 0 {
                for range in window.releasable_ranges() {
                    files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
                }
                self.options.report(Progress { done_bytes, total_bytes });
            }
        }
        if !is_stopped && seen > 0 && !self.turn.ends(seen) && self.turn.includes(seen - 1) {
            let _ = self.send(text);
        }
        let mut counted_losses = Losses::new();
        losses::count(recording, &walk_losses, &mut counted_losses);
        schemas::count(&walker.schemas, &mut counted_losses);
        WalkSummary { visited: walker.visited, described_losses: walker.losses, losses: counted_losses }
    }

    fn empty_text(&self) -> Vec<u8> {
        let spare_text = self.spare_texts.lock().ok().and_then(|mut spare_texts| spare_texts.pop());
        spare_text
            .map(|mut text| {
                text.clear();
                text
            })
            .unwrap_or_default()
    }

    fn send(&self, text: Vec<u8>) -> ControlFlow<End<()>> {
        match self.texts.send(text) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(End::Visitor(())),
        }
    }
}
