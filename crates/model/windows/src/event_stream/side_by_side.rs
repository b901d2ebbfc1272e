//! Events described on several threads at once, for who makes a text of each.
//!
//! What an event's text says hangs on the events before it: names, states, the last switch of a thread. So every thread
//! walks through all of the recording and follows it, which is a tenth of the work; of the stretches of events each
//! describes every n-th. The texts of the stretches come to the caller in their order, so that nobody can tell how many
//! threads there were.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use onoff_trace::{DescribedEvent, Losses};

use super::{End, EventFilter, EventStream, STEP_BYTES, StreamEnd, Walker, counters, losses, schemas};
use onoff_input::options::Options;
use onoff_input::options::Progress;

/// Texts that a thread may be ahead of who takes them.
const AHEAD: usize = 2;

/// Makes the text of events, on a thread of its own.
pub trait EventWriter: Send {
    /// Appends the text of the next event that this thread describes. Others may have described events in between.
    fn event(&mut self, event: &DescribedEvent<'_>, text: &mut Vec<u8>);
}

/// Events that one thread describes before the next one does: their text is some megabytes.
pub const STRETCH_EVENTS: u64 = 1 << 14;

/// Threads that are worth their memory: each walks through all of the recording.
const MAX_THREADS: usize = 8;

/// How many writers describe events fastest here; 1 where they do it as fast one by one.
#[must_use]
pub fn writers_at_once() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS)
}

/// What a thread has to say at its end.
struct Walked {
    shown: u64,
    unknown_stacks: u64,
    losses: Losses,
}

impl EventStream<'_> {
    /// As [`Self::for_each`], with a thread for each of `writers`, which describe `stretch` events each in turn. `take`
    /// is given the texts of the stretches, in the order of time, until it breaks.
    pub fn for_each_side_by_side<B>(
        mut self,
        filter: &EventFilter,
        options: &Options,
        writers: Vec<Box<dyn EventWriter>>,
        stretch: u64,
        mut take: impl FnMut(&[u8]) -> ControlFlow<B>,
    ) -> StreamEnd<B> {
        self.look_ahead();
        let stream = &self;
        let count = writers.len();
        // Texts that were taken: their room is used again.
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let (texts, threads): (Vec<Receiver<Vec<u8>>>, Vec<_>) = writers
                .into_iter()
                .enumerate()
                .map(|(number, writer)| {
                    let (sender, receiver) = sync_channel(AHEAD);
                    let turn = Turn { number: number as u64, count: count as u64, stretch: stretch.max(1) };
                    let thread = Thread { stream, filter, options, turn, texts: sender, taken: &taken };
                    (receiver, scope.spawn(move || thread.walk(writer)))
                })
                .unzip();
            let mut outcome = ControlFlow::Continue(());
            // The thread whose turn it is has no text any more: then nobody has.
            for text in texts.iter().cycle().map_while(|texts| texts.recv().ok()) {
                outcome = take(&text);
                if outcome.is_break() {
                    break;
                }
                if let Ok(mut taken) = taken.lock() {
                    taken.push(text);
                }
            }
            drop(texts);
            let mut end = StreamEnd { outcome, shown: 0, losses: Losses::new() };
            let mut unknown_stacks = 0;
            for (number, thread) in threads.into_iter().enumerate() {
                match thread.join() {
                    Ok(walked) => {
                        end.shown += walked.shown;
                        unknown_stacks += walked.unknown_stacks;
                        // Each has lost the same.
                        if number == 0 {
                            end.losses = walked.losses;
                        }
                    }
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            end.losses.add(&counters::STACK_KEY_UNKNOWN, unknown_stacks);
            end
        })
    }
}

/// Which stretches a thread describes.
#[derive(Clone, Copy)]
struct Turn {
    number: u64,
    count: u64,
    stretch: u64,
}

impl Turn {
    /// Whether the event that `seen` came before is this thread's.
    fn has(self, seen: u64) -> bool {
        (seen / self.stretch) % self.count == self.number
    }

    /// Whether a stretch ends after so many events.
    fn ends(self, seen: u64) -> bool {
        seen.is_multiple_of(self.stretch)
    }
}

struct Thread<'s, 'f> {
    stream: &'s EventStream<'f>,
    filter: &'s EventFilter,
    options: &'s Options,
    turn: Turn,
    texts: SyncSender<Vec<u8>>,
    taken: &'s Mutex<Vec<Vec<u8>>>,
}

impl Thread<'_, '_> {
    fn walk(self, mut writer: Box<dyn EventWriter>) -> Walked {
        let EventStream { files, recording, schemas, follower, stack_fields, .. } = self.stream;
        let mut walker = Walker::new(recording, schemas.clone(), follower.clone(), self.filter, *stack_fields);
        let (mut seen, mut text) = (0, self.room());
        let mut visit = |walker: &mut Walker<'_>, record: &onoff_etl::Record<'_>| -> ControlFlow<End<()>> {
            let mine = self.turn.has(seen);
            let followed = if mine { walker.follow(record)? } else { walker.pass(record).map_continue(|()| None)? };
            seen += 1;
            if let Some(followed) = followed {
                walker.describe(record, &followed, &mut |event| {
                    writer.event(event, &mut text);
                    ControlFlow::Continue(())
                })?;
            }
            if mine && self.turn.ends(seen) {
                self.give(std::mem::replace(&mut text, self.room()))?;
            }
            ControlFlow::Continue(())
        };
        let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
        let windows = recording.windows((bytes / STEP_BYTES).max(1));
        let total_bytes = windows.iter().map(|window| window.size() as u64).sum();
        let mut done_bytes = 0;
        let mut walked = onoff_etl::Losses::default();
        let mut gone = false;
        for window in windows {
            let walk = window.for_each(|record| visit(&mut walker, record));
            walked.merge(&walk.losses);
            if let ControlFlow::Break(end) = walk.outcome {
                gone = matches!(end, End::Visitor(()));
                break;
            }
            done_bytes += window.size() as u64;
            // One of them tells how far they are: they are never far apart.
            if self.turn.number == 0 {
                for range in window.finished_ranges() {
                    files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
                }
                self.options.report(Progress { done_bytes, total_bytes });
            }
        }
        if !gone && seen > 0 && !self.turn.ends(seen) && self.turn.has(seen - 1) {
            let _ = self.give(text);
        }
        let mut lost = Losses::new();
        losses::count(recording, &walked, &mut lost);
        schemas::count(&walker.schemas, &mut lost);
        Walked { shown: walker.shown, unknown_stacks: walker.unknown_stacks, losses: lost }
    }

    fn room(&self) -> Vec<u8> {
        let taken = self.taken.lock().ok().and_then(|mut taken| taken.pop());
        taken
            .map(|mut text| {
                text.clear();
                text
            })
            .unwrap_or_default()
    }

    fn give(&self, text: Vec<u8>) -> ControlFlow<End<()>> {
        match self.texts.send(text) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(End::Visitor(())),
        }
    }
}
