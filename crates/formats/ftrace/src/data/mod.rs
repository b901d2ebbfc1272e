//! Reads `trace.dat` files of trace-cmd, versions 6 and 7.
//!
//! ```text
//! 17 08 44 "tracing" version 0, endianness, size of a long, page size
//! version 6: descriptions in a fixed order, then options, then the pages of each processor
//! version 7: compression, offset of the options, which have the offsets of the sections, each compressed or not
//! ```
//!
//! Sources: the manual page trace-cmd.dat(5), and files of trace-cmd 3.1.

mod compression;
mod cursor;
mod description;
mod pages;
mod process_map;
mod sections;

use std::borrow::Cow;

use crate::error::Error;
use crate::event::{Body, Context, Event};
use crate::losses::Losses;
use crate::record::{KernelCode, KernelFunction};
use cursor::Cursor;
use description::Description;
use pages::PageReader;
pub use process_map::{MappedFile, ProcessMap};

/// A trace.dat file whose descriptions have been read.
#[derive(Debug)]
pub struct DataFile<'a> {
    description: Description,
    /// The clock of the events, as the kernel names it; empty if unknown.
    clock: String,
    processors: Vec<Processor<'a>>,
    losses: Losses,
}

/// The pages of one processor.
#[derive(Debug)]
struct Processor<'a> {
    number: u16,
    /// Offset in the file.
    offset: usize,
    pages: Cow<'a, [u8]>,
}

impl<'a> DataFile<'a> {
    /// True if `bytes` start with the magic number.
    #[must_use]
    pub fn recognizes(bytes: &[u8]) -> bool {
        bytes.starts_with(sections::MAGIC)
    }

    /// Reads the descriptions in `bytes` and decompresses the pages.
    ///
    /// # Errors
    /// Not a trace.dat file, an unsupported version, or a file truncated within its descriptions.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        sections::read(bytes)
    }

    /// Returns the clock of the events, as the kernel names it, e.g. `mono`; empty if unknown.
    #[must_use]
    pub fn clock(&self) -> &str {
        &self.clock
    }

    /// Returns the kernel function that contains `address`, from the file's copy of `/proc/kallsyms`. Returns `None` if
    /// the file has no symbols, for data, and past the end of a module's code.
    #[must_use]
    pub fn kernel_function(&self, address: u64) -> Option<KernelFunction<'_>> {
        self.description.symbols.function_at(address)
    }

    /// Returns the code ranges of the kernel and its modules.
    #[must_use]
    pub fn kernel_code(&self) -> Vec<KernelCode<'_>> {
        self.description.symbols.code_ranges()
    }

    /// True if the file has kernel symbols without addresses because the recorder lacked the privileges to read them.
    #[must_use]
    pub fn kernel_addresses_are_hidden(&self) -> bool {
        self.description.symbols.is_hidden()
    }

    /// Returns the files that traced processes had mapped at the end of the recording (`trace-cmd record --proc-map`).
    #[must_use]
    pub fn process_maps(&self) -> &[ProcessMap] {
        &self.description.maps
    }

    /// Passes the events of all processors to `visit` in time order. Returns what could not be read.
    pub fn read(&self, mut visit: impl FnMut(Event<'_>)) -> Losses {
        let mut losses = self.losses.clone();
        losses.unreadable_symbols =
            self.description.symbols.unreadable_lines().saturating_add(self.description.unreadable_maps);
        let layout = self.description.page;
        let mut streams: Vec<_> = self
            .processors
            .iter()
            .map(|processor| {
                let mut pages = PageReader::new(&processor.pages, processor.offset, layout);
                let next = pages.next(&mut losses);
                (processor.number, pages, next)
            })
            .collect();
        // With few processors, a linear search is faster than a sorted structure.
        while let Some((cpu, pages, next)) = streams
            .iter_mut()
            .filter(|(_, _, next)| next.is_some())
            .min_by_key(|(_, _, next)| next.as_ref().map(|record| record.time_ns))
        {
            if let Some(record) = next.take() {
                match self.event(*cpu, record.time_ns, record.payload) {
                    Some(event) => visit(event),
                    None => {
                        losses.unknown_events += 1;
                        losses.record_offset(record.offset);
                    }
                }
            }
            *next = pages.next(&mut losses);
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

/// Maps the kernel's `TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ` and `TRACE_FLAG_NMI`.
const fn context(flags: i64) -> Context {
    const INTERRUPT: i64 = 0x08;
    const SOFT_INTERRUPT: i64 = 0x10;
    const NON_MASKABLE: i64 = 0x40;
    if flags & (INTERRUPT | NON_MASKABLE) != 0 {
        Context::Interrupt
    } else if flags & SOFT_INTERRUPT != 0 {
        Context::SoftInterrupt
    } else {
        Context::Thread
    }
}
