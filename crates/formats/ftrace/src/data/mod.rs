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
mod process_map;

use std::borrow::Cow;

use crate::error::Error;
use crate::event::{Body, Context, Event};
use crate::losses::Losses;
use crate::record::{KernelCode, KernelFunction};
use bytes::Bytes;
use describe::Description;
use pages::Pages;
pub use process_map::{MappedFile, ProcessMap};

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
    pub fn recognizes(bytes: &[u8]) -> bool {
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

    /// The kernel's function at an address, as the file lists it (`/proc/kallsyms`); `None` where it lists none, for
    /// data, and behind the end of a module's code.
    #[must_use]
    pub fn kernel_function(&self, address: u64) -> Option<KernelFunction<'_>> {
        self.description.names.function_at(address)
    }

    /// Where the kernel's code and that of its modules is.
    #[must_use]
    pub fn kernel_code(&self) -> Vec<KernelCode<'_>> {
        self.description.names.code()
    }

    /// Whether the file lists the kernel's functions without their addresses: its maker was not allowed to see them.
    #[must_use]
    pub fn kernel_addresses_are_hidden(&self) -> bool {
        self.description.names.are_hidden()
    }

    /// Which files traced processes had mapped when the recording ended (`trace-cmd record --proc-map`).
    #[must_use]
    pub fn process_maps(&self) -> &[ProcessMap] {
        &self.description.maps
    }

    /// Gives every event to `each`, those of all processors in the order of time.
    pub fn read(&self, mut each: impl FnMut(Event<'_>)) -> Losses {
        let mut losses = self.losses.clone();
        losses.unreadable_symbols =
            self.description.names.unreadable().saturating_add(self.description.unreadable_maps);
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
