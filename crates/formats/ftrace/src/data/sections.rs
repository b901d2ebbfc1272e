//! Locates and reads the sections of the file.

use std::borrow::Cow;

use super::compression::Compression;
use super::description::Description;
use super::{Cursor, DataFile, Processor};
use crate::error::Error;
use crate::losses::Losses;

/// Magic number at the start of the file.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Option and section ids (trace-cmd.dat(5)).
mod id {
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

/// Maximum number of option sections, each of which refers to the next.
const MAX_OPTION_SECTIONS: usize = 64;
/// Maximum valid page size.
const MAX_PAGE_SIZE: usize = 1 << 20;
const FILE_HEADER: &str = "the file header";

pub(super) fn read(bytes: &[u8]) -> Result<DataFile<'_>, Error> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(Error::NotATrace {
            offset: 0,
            reason: "it does not start with the bytes 17 08 44 and `tracing`".to_owned(),
        });
    };
    let mut head = Cursor::new(rest, MAGIC.len(), false);
    let version_offset = head.offset as u64;
    let version = head.text(FILE_HEADER)?;
    let big_endian = head.u8(FILE_HEADER)? != 0;
    let mut head = head.with_endianness(big_endian);
    let long_size = usize::from(head.u8(FILE_HEADER)?);
    let page_size = head.u32(FILE_HEADER)? as usize;
    if !matches!(long_size, 4 | 8) || !(64..=MAX_PAGE_SIZE).contains(&page_size) {
        return Err(Error::NotATrace {
            offset: version_offset,
            reason: format!("invalid word size {long_size} or page size {page_size}"),
        });
    }
    let mut file = DataFile {
        description: Description::new(page_size, long_size, big_endian),
        clock: String::new(),
        processors: Vec::new(),
        losses: Losses::default(),
    };
    match version.as_str() {
        "6" => read_version_6(bytes, head, &mut file)?,
        "7" => read_version_7(bytes, head, &mut file)?,
        _ => {
            return Err(Error::Unsupported {
                offset: version_offset,
                feature: format!("file version {version:?} (supported: 6 and 7)"),
            });
        }
    }
    Ok(file)
}

fn read_version_6<'a>(file_bytes: &'a [u8], mut bytes: Cursor<'a>, file: &mut DataFile<'a>) -> Result<(), Error> {
    read_header(&mut bytes, file)?;
    read_ftrace_formats(&mut bytes, file)?;
    read_event_formats(&mut bytes, file)?;
    let length = bytes.u32("the symbols")? as usize;
    file.description.symbols.add_symbols(bytes.take(length, "the symbols")?);
    let length = bytes.u32("the kernel strings")? as usize;
    file.description.symbols.add_strings(bytes.take(length, "the kernel strings")?);
    let length = bytes.length("the task names")?;
    file.description.add_tasks(bytes.take(length, "the task names")?);
    let processors = bytes.u32("the processor count")?;
    loop {
        const DATA_TYPE: &str = "the data type";
        match bytes.take(10, DATA_TYPE)? {
            b"options  \0" => loop {
                let option = bytes.u16("an option")?;
                if option == id::DONE {
                    break;
                }
                let length = bytes.u32("an option")? as usize;
                let data = bytes.take(length, "an option")?;
                match option {
                    id::TRACE_CLOCK => file.clock = selected_clock(data),
                    id::PROCESS_MAP => file.description.add_process_map(data),
                    _ => {}
                }
            },
            b"flyrecord\0" => break,
            data_type => {
                return Err(Error::Unsupported {
                    offset: bytes.offset as u64,
                    feature: format!("data type {:?}", String::from_utf8_lossy(data_type)),
                });
            }
        }
    }
    for cpu in 0..processors {
        let offset = bytes.u64("the offset of a processor's pages")?;
        let length = bytes.u64("the offset of a processor's pages")?;
        read_pages(file_bytes, cpu, offset, length, Compression::None, file);
    }
    Ok(())
}

fn read_version_7<'a>(file_bytes: &'a [u8], mut bytes: Cursor<'a>, file: &mut DataFile<'a>) -> Result<(), Error> {
    let offset = bytes.offset as u64;
    let name = bytes.text(FILE_HEADER)?;
    bytes.text(FILE_HEADER)?;
    let Some(compression) = Compression::from_name(&name) else {
        return Err(Error::Unsupported { offset, feature: format!("compression {name}") });
    };
    let mut next = bytes.u64("the offset of the options")?;
    for _ in 0..MAX_OPTION_SECTIONS {
        let Some(options) = read_section(file_bytes, next, compression, bytes.big_endian())? else { return Ok(()) };
        next = 0;
        let mut options = Cursor::new(&options, 0, bytes.big_endian());
        while !options.remaining().is_empty() {
            let option = options.u16("an option")?;
            let length = options.u32("an option")? as usize;
            let data = options.take(length, "an option")?;
            let mut data = Cursor::new(data, options.offset, bytes.big_endian());
            if option == id::DONE {
                next = data.u64("the offset of more options").unwrap_or(0);
                break;
            }
            read_option(file_bytes, option, data, compression, file)?;
        }
        if next == 0 {
            break;
        }
    }
    Ok(())
}

fn read_option<'a>(
    file_bytes: &'a [u8],
    option: u16,
    mut data: Cursor<'_>,
    compression: Compression,
    file: &mut DataFile<'a>,
) -> Result<(), Error> {
    match option {
        id::TRACE_CLOCK => file.clock = selected_clock(data.remaining()),
        id::PROCESS_MAP => file.description.add_process_map(data.remaining()),
        id::BUFFER => {
            const BUFFER: &str = "a buffer description";
            data.u64(BUFFER)?;
            let name = data.text(BUFFER)?;
            let clock = data.text(BUFFER)?;
            data.u32(BUFFER)?;
            let processors = data.u32(BUFFER)?;
            // Named buffers are additional instances with their own events.
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
                read_pages(file_bytes, cpu, offset, length, compression, file);
            }
        }
        id::HEADER..=id::TASKS => {
            let offset = data.u64("the offset of a section")?;
            let Some(section) = read_section(file_bytes, offset, compression, data.big_endian())? else {
                return Ok(());
            };
            let mut bytes = Cursor::new(&section, 0, data.big_endian());
            match option {
                id::HEADER => read_header(&mut bytes, file)?,
                id::FTRACE_FORMATS => read_ftrace_formats(&mut bytes, file)?,
                id::EVENT_FORMATS => read_event_formats(&mut bytes, file)?,
                id::SYMBOLS => {
                    let length = bytes.u32("the symbols")? as usize;
                    file.description.symbols.add_symbols(bytes.take(length, "the symbols")?);
                }
                id::STRINGS => {
                    let length = bytes.u32("the kernel strings")? as usize;
                    file.description.symbols.add_strings(bytes.take(length, "the kernel strings")?);
                }
                _ => {
                    let length = bytes.length("the task names")?;
                    file.description.add_tasks(bytes.take(length, "the task names")?);
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Reads a section: id, flags, description, length, data. Returns `None` if `offset` is 0.
fn read_section(
    file_bytes: &[u8],
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
    let Some(rest) = start.and_then(|start| file_bytes.get(start..)) else {
        return Err(Error::Truncated { offset, structure: SECTION });
    };
    let mut bytes = Cursor::new(rest, offset as usize, big_endian);
    bytes.u16(SECTION)?;
    let flags = bytes.u16(SECTION)?;
    bytes.u32(SECTION)?;
    let length = bytes.length(SECTION)?;
    let data_offset = bytes.offset;
    let data = bytes.take(length, SECTION)?;
    if flags & COMPRESSED == 0 {
        return Ok(Some(Cow::Borrowed(data)));
    }
    compression.decompress_section(Cursor::new(data, data_offset, big_endian)).map(|plain| Some(Cow::Owned(plain)))
}

fn read_pages<'a>(
    file_bytes: &'a [u8],
    cpu: u32,
    offset: u64,
    length: u64,
    compression: Compression,
    file: &mut DataFile<'a>,
) {
    if length == 0 {
        return;
    }
    let begin = usize::try_from(offset).unwrap_or(usize::MAX);
    let end = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
    let (Some(rest), Ok(number)) = (file_bytes.get(begin..), u16::try_from(cpu)) else {
        file.losses.damaged += 1;
        file.losses.record_offset(begin);
        return;
    };
    let pages = if compression == Compression::None {
        Cow::Borrowed(end.and_then(|end| file_bytes.get(begin..end)).unwrap_or_else(|| {
            file.losses.damaged += 1;
            file.losses.record_offset(file_bytes.len());
            rest
        }))
    } else {
        // The stored length is too short (trace-cmd 3.1), but each chunk has its own length.
        let big_endian = file.description.page.big_endian;
        let (pages, complete) = compression.decompress_chunks(Cursor::new(rest, begin, big_endian));
        if !complete {
            file.losses.damaged += 1;
            file.losses.record_offset(begin);
        }
        Cow::Owned(pages)
    };
    file.processors.push(Processor { number, offset: begin, pages });
}

fn read_header(bytes: &mut Cursor<'_>, file: &mut DataFile<'_>) -> Result<(), Error> {
    const HEADER: &str = "the page description";
    for name in ["header_page", "header_event"] {
        bytes.text(HEADER)?;
        let length = bytes.length(HEADER)?;
        let text = bytes.take(length, HEADER)?;
        if name == "header_page" {
            file.description.set_page_layout(text);
        }
    }
    Ok(())
}

fn read_ftrace_formats(bytes: &mut Cursor<'_>, file: &mut DataFile<'_>) -> Result<(), Error> {
    read_formats(bytes, "the formats of tracer events", file)
}

fn read_event_formats(bytes: &mut Cursor<'_>, file: &mut DataFile<'_>) -> Result<(), Error> {
    const SYSTEMS: &str = "the event formats";
    for _ in 0..bytes.u32(SYSTEMS)? {
        bytes.text(SYSTEMS)?;
        read_formats(bytes, SYSTEMS, file)?;
    }
    Ok(())
}

fn read_formats(bytes: &mut Cursor<'_>, structure: &'static str, file: &mut DataFile<'_>) -> Result<(), Error> {
    for _ in 0..bytes.u32(structure)? {
        let length = bytes.length(structure)?;
        file.description.add_format(bytes.take(length, structure)?);
    }
    Ok(())
}

/// Parses `local global [mono] boot`: the clock in brackets is selected.
fn selected_clock(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    let selected = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    selected.map_or_else(String::new, |(clock, _)| clock.to_owned())
}
