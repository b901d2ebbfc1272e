//! Where in the file what stands.

use std::borrow::Cow;

use super::compression::Compression;
use super::describe::Description;
use super::{Bytes, DataFile, Processor};
use crate::error::Error;
use crate::losses::Losses;

/// How the file begins.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Numbers of options and sections (trace-cmd.dat(5)).
mod number {
    pub(super) const DONE: u16 = 0;
    pub(super) const BUFFER: u16 = 3;
    pub(super) const TRACE_CLOCK: u16 = 4;
    pub(super) const PROCESS_MAP: u16 = 10;
    pub(super) const HEADER: u16 = 16;
    pub(super) const FTRACE_FORMATS: u16 = 17;
    pub(super) const EVENT_FORMATS: u16 = 18;
    pub(super) const SYMBOLS: u16 = 19;
    pub(super) const STRINGS: u16 = 20;
    pub(super) const TASKS: u16 = 21;
}

/// More sections of options than a file has, each of which names the next.
const MAX_OPTION_SECTIONS: usize = 64;
/// Page sizes beyond this are no page sizes.
const MAX_PAGE_SIZE: usize = 1 << 20;
const HEAD: &str = "the head of the file";

pub(super) fn read(bytes: &[u8]) -> Result<DataFile<'_>, Error> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(Error::NotATrace {
            offset: 0,
            reason: "it does not begin with the bytes 17 08 44 and `tracing`".to_owned(),
        });
    };
    let mut head = Bytes::new(rest, MAGIC.len(), false);
    let version_at = head.offset as u64;
    let version = head.text(HEAD)?;
    let big_endian = head.u8(HEAD)? != 0;
    let mut head = head.with_order(big_endian);
    let long_size = usize::from(head.u8(HEAD)?);
    let page_size = head.u32(HEAD)? as usize;
    if !matches!(long_size, 4 | 8) || !(64..=MAX_PAGE_SIZE).contains(&page_size) {
        return Err(Error::NotATrace {
            offset: version_at,
            reason: format!("a long of {long_size} bytes and a page of {page_size} are no machine's"),
        });
    }
    let mut file = DataFile {
        description: Description::new(page_size, long_size, big_endian),
        clock: String::new(),
        processors: Vec::new(),
        losses: Losses::default(),
    };
    match version.as_str() {
        "6" => version_6(bytes, head, &mut file)?,
        "7" => version_7(bytes, head, &mut file)?,
        _ => {
            return Err(Error::Unsupported {
                offset: version_at,
                what: format!("version {version:?} of the file (6 and 7 are)"),
            });
        }
    }
    Ok(file)
}

fn version_6<'a>(all: &'a [u8], mut bytes: Bytes<'a>, file: &mut DataFile<'a>) -> Result<(), Error> {
    header(&mut bytes, file)?;
    ftrace_formats(&mut bytes, file)?;
    event_formats(&mut bytes, file)?;
    let length = bytes.u32("the symbols")? as usize;
    file.description.names.symbols(bytes.take(length, "the symbols")?);
    let length = bytes.u32("the kernel's texts")? as usize;
    file.description.names.strings(bytes.take(length, "the kernel's texts")?);
    let length = bytes.length("the tasks")?;
    file.description.tasks(bytes.take(length, "the tasks")?);
    let processors = bytes.u32("the number of processors")?;
    loop {
        const KIND: &str = "the kind of the data";
        match bytes.take(10, KIND)? {
            b"options  \0" => loop {
                let option = bytes.u16("an option")?;
                if option == number::DONE {
                    break;
                }
                let length = bytes.u32("an option")? as usize;
                let data = bytes.take(length, "an option")?;
                match option {
                    number::TRACE_CLOCK => file.clock = chosen_clock(data),
                    number::PROCESS_MAP => file.description.process_map(data),
                    _ => {}
                }
            },
            b"flyrecord\0" => break,
            other => {
                return Err(Error::Unsupported {
                    offset: bytes.offset as u64,
                    what: format!("data of the kind {:?}", String::from_utf8_lossy(other)),
                });
            }
        }
    }
    for cpu in 0..processors {
        let offset = bytes.u64("the place of a processor's pages")?;
        let length = bytes.u64("the place of a processor's pages")?;
        pages(all, cpu, offset, length, Compression::None, file);
    }
    Ok(())
}

fn version_7<'a>(all: &'a [u8], mut bytes: Bytes<'a>, file: &mut DataFile<'a>) -> Result<(), Error> {
    let offset = bytes.offset as u64;
    let name = bytes.text(HEAD)?;
    bytes.text(HEAD)?;
    let Some(compression) = Compression::named(&name) else {
        return Err(Error::Unsupported { offset, what: format!("compression by {name}") });
    };
    let mut next = bytes.u64("the place of the options")?;
    for _ in 0..MAX_OPTION_SECTIONS {
        let Some(options) = section(all, next, compression, bytes.big_endian())? else { return Ok(()) };
        next = 0;
        let mut options = Bytes::new(&options, 0, bytes.big_endian());
        while !options.rest().is_empty() {
            let option = options.u16("an option")?;
            let length = options.u32("an option")? as usize;
            let data = options.take(length, "an option")?;
            let mut data = Bytes::new(data, options.offset, bytes.big_endian());
            if option == number::DONE {
                next = data.u64("the place of more options").unwrap_or(0);
                break;
            }
            take_option(all, option, data, compression, file)?;
        }
        if next == 0 {
            break;
        }
    }
    Ok(())
}

fn take_option<'a>(
    all: &'a [u8],
    option: u16,
    mut data: Bytes<'_>,
    compression: Compression,
    file: &mut DataFile<'a>,
) -> Result<(), Error> {
    match option {
        number::TRACE_CLOCK => file.clock = chosen_clock(data.rest()),
        number::PROCESS_MAP => file.description.process_map(data.rest()),
        number::BUFFER => {
            const BUFFER: &str = "the description of a buffer";
            data.u64(BUFFER)?;
            let name = data.text(BUFFER)?;
            let clock = data.text(BUFFER)?;
            data.u32(BUFFER)?;
            let processors = data.u32(BUFFER)?;
            // Buffers with a name are instances beside the main one, with events of their own.
            if !name.is_empty() {
                file.losses.gaps += 1;
                return Ok(());
            }
            if !clock.is_empty() {
                file.clock = clock;
            }
            for _ in 0..processors {
                let cpu = data.u32(BUFFER)?;
                let offset = data.u64(BUFFER)?;
                let length = data.u64(BUFFER)?;
                pages(all, cpu, offset, length, compression, file);
            }
        }
        number::HEADER..=number::TASKS => {
            let place = data.u64("the place of a section")?;
            let Some(section) = section(all, place, compression, data.big_endian())? else { return Ok(()) };
            let mut bytes = Bytes::new(&section, 0, data.big_endian());
            match option {
                number::HEADER => header(&mut bytes, file)?,
                number::FTRACE_FORMATS => ftrace_formats(&mut bytes, file)?,
                number::EVENT_FORMATS => event_formats(&mut bytes, file)?,
                number::SYMBOLS => {
                    let length = bytes.u32("the symbols")? as usize;
                    file.description.names.symbols(bytes.take(length, "the symbols")?);
                }
                number::STRINGS => {
                    let length = bytes.u32("the kernel's texts")? as usize;
                    file.description.names.strings(bytes.take(length, "the kernel's texts")?);
                }
                _ => {
                    let length = bytes.length("the tasks")?;
                    file.description.tasks(bytes.take(length, "the tasks")?);
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// A section's bytes: number, flags, description, length, then the bytes. `None` for no place.
fn section(
    all: &[u8],
    offset: u64,
    compression: Compression,
    big_endian: bool,
) -> Result<Option<Cow<'_, [u8]>>, Error> {
    const SECTION: &str = "a section";
    const COMPRESSED: u16 = 1;
    if offset == 0 {
        return Ok(None);
    }
    let start = usize::try_from(offset).ok();
    let Some(rest) = start.and_then(|start| all.get(start..)) else {
        return Err(Error::Truncated { offset, structure: SECTION });
    };
    let mut bytes = Bytes::new(rest, offset as usize, big_endian);
    bytes.u16(SECTION)?;
    let flags = bytes.u16(SECTION)?;
    bytes.u32(SECTION)?;
    let length = bytes.length(SECTION)?;
    let at = bytes.offset;
    let data = bytes.take(length, SECTION)?;
    if flags & COMPRESSED == 0 {
        return Ok(Some(Cow::Borrowed(data)));
    }
    compression.section(Bytes::new(data, at, big_endian)).map(|plain| Some(Cow::Owned(plain)))
}

fn pages<'a>(all: &'a [u8], cpu: u32, offset: u64, length: u64, compression: Compression, file: &mut DataFile<'a>) {
    if length == 0 {
        return;
    }
    let begin = usize::try_from(offset).unwrap_or(usize::MAX);
    let end = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
    let (Some(rest), Ok(number)) = (all.get(begin..), u16::try_from(cpu)) else {
        file.losses.damaged += 1;
        file.losses.at(begin);
        return;
    };
    let pages = if compression == Compression::None {
        Cow::Borrowed(end.and_then(|end| all.get(begin..end)).unwrap_or_else(|| {
            file.losses.damaged += 1;
            file.losses.at(all.len());
            rest
        }))
    } else {
        // The length leaves out some of the chunks' heads (trace-cmd 3.1); the chunks themselves say where they end.
        let big_endian = file.description.page.big_endian;
        let (pages, whole) = compression.chunks(Bytes::new(rest, begin, big_endian));
        if !whole {
            file.losses.damaged += 1;
            file.losses.at(begin);
        }
        Cow::Owned(pages)
    };
    file.processors.push(Processor { number, offset: begin, pages });
}

fn header(bytes: &mut Bytes<'_>, file: &mut DataFile<'_>) -> Result<(), Error> {
    const HEADER: &str = "the description of pages";
    for name in ["header_page", "header_event"] {
        bytes.text(HEADER)?;
        let length = bytes.length(HEADER)?;
        let text = bytes.take(length, HEADER)?;
        if name == "header_page" {
            file.description.page_header(text);
        }
    }
    Ok(())
}

fn ftrace_formats(bytes: &mut Bytes<'_>, file: &mut DataFile<'_>) -> Result<(), Error> {
    formats(bytes, "the formats of the tracer's own events", file)
}

fn event_formats(bytes: &mut Bytes<'_>, file: &mut DataFile<'_>) -> Result<(), Error> {
    const SYSTEMS: &str = "the formats of events";
    for _ in 0..bytes.u32(SYSTEMS)? {
        bytes.text(SYSTEMS)?;
        formats(bytes, SYSTEMS, file)?;
    }
    Ok(())
}

fn formats(bytes: &mut Bytes<'_>, structure: &'static str, file: &mut DataFile<'_>) -> Result<(), Error> {
    for _ in 0..bytes.u32(structure)? {
        let length = bytes.length(structure)?;
        file.description.format(bytes.take(length, structure)?);
    }
    Ok(())
}

/// `local global [mono] boot`: the one in brackets.
fn chosen_clock(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or_else(String::new, |(clock, _)| clock.to_owned())
}
