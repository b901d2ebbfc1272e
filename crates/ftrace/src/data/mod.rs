//! `trace.dat`: the file of trace-cmd, versions 6 and 7.
//!
//! ```text
//! 17 08 44 "tracing" version 0, endianness, size of a long, page size
//! version 6: descriptions one after the other, then options, then each processor's pages
//! version 7: compression, place of the options; these tell the places of sections, each compressed or not
//! ```
//!
//! Source: the manual page trace-cmd.dat(5), and files of trace-cmd 3.1.

mod bytes;
mod compression;
mod describe;
mod pages;
mod places;

use std::borrow::Cow;

use crate::error::Error;
use crate::event::{Body, Context, Event};
use crate::losses::Losses;
use bytes::Bytes;
use describe::Description;
use pages::Pages;

/// A trace.dat file, its descriptions read.
#[derive(Debug)]
pub struct DataFile<'a> {
    description: Description,
    /// The clock that stamped the events, as the kernel names it; empty when the file does not say.
    clock: String,
    processors: Vec<Processor<'a>>,
    losses: Losses,
}

/// One processor's pages.
#[derive(Debug)]
struct Processor<'a> {
    number: u16,
    /// Where they begin in the file.
    offset: usize,
    pages: Cow<'a, [u8]>,
}

impl<'a> DataFile<'a> {
    /// Whether `bytes` begin as such a file does.
    #[must_use]
    pub fn recognises(bytes: &[u8]) -> bool {
        bytes.starts_with(places::MAGIC)
    }

    /// Reads the descriptions in `bytes`, and undoes the compression of the pages.
    ///
    /// # Errors
    /// No such file, a version that is not known, or one cut inside its descriptions.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        places::read(bytes)
    }

    /// The clock that stamped the events, as the kernel names it, e.g. `mono`; empty when the file does not say.
    #[must_use]
    pub fn clock(&self) -> &str {
        &self.clock
    }

    /// Gives every event to `each`, those of all processors in the order of time.
    pub fn read(&self, mut each: impl FnMut(Event<'_>)) -> Losses {
        let mut losses = self.losses.clone();
        let layout = self.description.page;
        let mut streams: Vec<_> = self
            .processors
            .iter()
            .map(|processor| {
                let mut pages = Pages::new(&processor.pages, processor.offset, layout);
                let head = pages.next(&mut losses);
                (processor.number, pages, head)
            })
            .collect();
        // Few processors: looking at each head costs less than keeping them sorted.
        while let Some((cpu, pages, head)) = streams
            .iter_mut()
            .filter(|(_, _, head)| head.is_some())
            .min_by_key(|(_, _, head)| head.as_ref().map(|record| record.time_ns))
        {
            if let Some(record) = head.take() {
                match self.event(*cpu, record.time_ns, record.payload) {
                    Some(event) => each(event),
                    None => {
                        losses.unknown_events += 1;
                        losses.at(record.offset);
                    }
                }
            }
            *head = pages.next(&mut losses);
        }
        losses
    }

    fn event<'s>(&'s self, cpu: u16, time_ns: u64, payload: &'s [u8]) -> Option<Event<'s>> {
        let (format, body) = self.description.body(payload)?;
        let pid = body.number("common_pid").and_then(|pid| u32::try_from(pid).ok())?;
        Some(Event {
            time_ns,
            cpu,
            pid,
            task: if pid == 0 { "<idle>" } else { self.description.tasks.get(&pid).map_or("", String::as_str) },
            context: body.number("common_flags").map(context),
            name: &format.name,
            body: Body::Record(body),
        })
    }
}

/// `TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ` and `TRACE_FLAG_NMI` of the kernel.
const fn context(flags: i64) -> Context {
    const INTERRUPT: i64 = 0x08;
    const SOFT_INTERRUPT: i64 = 0x10;
    const NOT_MASKABLE: i64 = 0x40;
    if flags & (INTERRUPT | NOT_MASKABLE) != 0 {
        Context::Interrupt
    } else if flags & SOFT_INTERRUPT != 0 {
        Context::SoftInterrupt
    } else {
        Context::Thread
    }
}
