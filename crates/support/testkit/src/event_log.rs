//! Writes Windows event logs: `.evtx` files with templates in every chunk, and their XML export.
//!
//! Source: MS-EVEN6 for the binary XML; the published descriptions of the file and chunk headers. The hash tables of
//! strings and templates stay empty: a reader finds each through its offset.

use std::collections::HashMap;
use std::fmt::Write as _;

const HEADER_SIZE: usize = 4096;
const CHUNK_SIZE: usize = 65_536;
const CHUNK_HEADER_SIZE: usize = 512;
/// 100 ns ticks from 1601-01-01 to 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 116_444_736_000_000_000;

/// A value of a record's data.
#[derive(Clone, Debug, PartialEq)]
pub enum LogValue {
    Text(String),
    U32(u32),
    U64(u64),
    I64(i64),
    Bool(bool),
    /// Shown in hexadecimal.
    Hex(u64),
    /// ns since 1970-01-01 UTC.
    Time(i64),
}

impl From<&str> for LogValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for LogValue {
    fn from(number: u32) -> Self {
        Self::U32(number)
    }
}

/// A record of an event log.
#[derive(Clone, Debug, Default)]
pub struct LogRecord {
    pub channel: String,
    pub provider: String,
    pub id: u16,
    pub version: u8,
    pub level: u8,
    /// ns since 1970-01-01 UTC.
    pub time_ns: i64,
    pub number: u64,
    pub computer: String,
    pub process_id: u32,
    pub thread_id: u32,
    /// Names and values; data of classic events have empty names.
    pub data: Vec<(String, LogValue)>,
}

impl LogRecord {
    #[must_use]
    pub fn new(channel: &str, provider: &str, id: u16, time_ns: i64) -> Self {
        Self {
            channel: channel.to_owned(),
            provider: provider.to_owned(),
            id,
            level: 4,
            time_ns,
            computer: "PC".to_owned(),
            process_id: 4,
            thread_id: 8,
            ..Self::default()
        }
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<LogValue>) -> Self {
        self.data.push((name.to_owned(), value.into()));
        self
    }
}

/// Writes one file per channel, named as Windows names them, in a folder `logs`. Numbers the records of each channel in
/// the given order.
#[must_use]
pub fn log_folder(records: &[LogRecord]) -> Vec<(String, Vec<u8>)> {
    let mut channels: Vec<(&str, Vec<LogRecord>)> = Vec::new();
    for record in records {
        let index = channels.iter().position(|(name, _)| *name == record.channel).unwrap_or_else(|| {
            channels.push((&record.channel, Vec::new()));
            channels.len() - 1
        });
        let records = &mut channels[index].1;
        records.push(LogRecord { number: records.len() as u64 + 1, ..record.clone() });
    }
    let files =
        channels.iter().map(|(name, records)| (format!("logs/{}.evtx", name.replace('/', "%4")), evtx(records)));
    files.collect()
}

/// The records as an `.evtx` file, in the given order.
///
/// # Panics
/// A record does not fit into a chunk.
#[must_use]
pub fn evtx(records: &[LogRecord]) -> Vec<u8> {
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    let mut chunk = Chunk::default();
    for record in records {
        let (templates, names) = (chunk.templates.clone(), chunk.names.clone());
        let length = chunk.bytes.len();
        chunk.push(record);
        if chunk.bytes.len() > CHUNK_SIZE - CHUNK_HEADER_SIZE {
            assert!(length > 0, "the record does not fit into a chunk");
            chunk.bytes.truncate(length);
            (chunk.templates, chunk.names) = (templates, names);
            chunks.push(chunk.finish());
            chunk = Chunk::default();
            chunk.push(record);
        }
    }
    chunks.push(chunk.finish());
    let mut file = vec![0; HEADER_SIZE];
    file[..8].copy_from_slice(b"ElfFile\0");
    let last = chunks.len() as u64 - 1;
    let next_record = records.iter().map(|record| record.number).max().unwrap_or(0) + 1;
    put(&mut file, 16, &last.to_le_bytes());
    put(&mut file, 24, &next_record.to_le_bytes());
    put(&mut file, 32, &128_u32.to_le_bytes());
    put(&mut file, 36, &[1, 0, 3, 0, 0, 0x10]);
    put(&mut file, 42, &(chunks.len() as u16).to_le_bytes());
    let checksum = crc32(&file[..120]);
    put(&mut file, 124, &checksum.to_le_bytes());
    file.extend(chunks.concat());
    file
}

/// The records as `wevtutil qe /f:xml /e:Events` writes them.
#[must_use]
pub fn xml(records: &[LogRecord]) -> String {
    let mut text = String::from("<Events>");
    for record in records {
        let LogRecord { provider, id, version, level, number, process_id, thread_id, channel, computer, .. } = record;
        let _ = write!(
            text,
            "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider \
             Name='{provider}'/><EventID>{id}</EventID><Version>{version}</Version><Level>{level}</Level>\
             <TimeCreated SystemTime='{}'/><EventRecordID>{number}</EventRecordID><Execution \
             ProcessID='{process_id}' ThreadID='{thread_id}'/><Channel>{channel}</Channel>\
             <Computer>{computer}</Computer></System><EventData>",
            time_text(record.time_ns)
        );
        for (name, value) in &record.data {
            let value = value_text(value).replace('&', "&amp;").replace('<', "&lt;");
            let label = if name.is_empty() { String::new() } else { format!(" Name='{name}'") };
            let _ = write!(text, "<Data{label}>{value}</Data>");
        }
        text.push_str("</EventData></Event>\r\n");
    }
    text + "</Events>"
}

/// The records as EvtxECmd writes them to a CSV file: data as JSON, unnamed texts joined to one without the empty ones.
#[must_use]
pub fn evtxecmd_csv(records: &[LogRecord]) -> String {
    let mut text = String::from(
        "\u{feff}RecordNumber,EventRecordId,TimeCreated,EventId,Level,Provider,Channel,ProcessId,ThreadId,Computer,\
         ChunkNumber,UserId,MapDescription,UserName,RemoteHost,PayloadData1,PayloadData2,PayloadData3,PayloadData4,\
         PayloadData5,PayloadData6,ExecutableInfo,HiddenRecord,SourceFile,Keywords,ExtraDataOffset,Payload\r\n",
    );
    let with_space = |time_ns| time_text(time_ns).replace('T', " ").replace('Z', "");
    for record in records {
        let LogRecord { provider, id, level, number, process_id, thread_id, channel, computer, .. } = record;
        let level = ["LogAlways", "Critical", "Error", "Warning", "Info", "Verbose"][usize::from(*level)];
        let time = with_space(record.time_ns);
        let _ = write!(
            text,
            "{number},{number},{time},{id},{level},{provider},{channel},{process_id},{thread_id},{computer},0,,,,,,,,,,,,\
             False,C:\\Logs\\{channel}.evtx,Classic,0,"
        );
        let value = |value: &LogValue| match value {
            LogValue::Time(time_ns) => with_space(*time_ns),
            LogValue::Bool(true) => "True".to_owned(),
            LogValue::Bool(false) => "False".to_owned(),
            LogValue::Hex(number) => format!("0x{number:X}"),
            other => value_text(other).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
        };
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""));
        let is_named = record.data.iter().any(|(name, _)| !name.is_empty());
        let data = if is_named {
            let element = |(name, data): &(String, LogValue)| match value(data) {
                text if text.is_empty() => format!("{{\"@Name\":{}}}", quoted(name)),
                text => format!("{{\"@Name\":{},\"#text\":{}}}", quoted(name), quoted(&text)),
            };
            let elements: Vec<String> = record.data.iter().map(element).collect();
            // One element is not a list.
            if elements.len() == 1 { elements.concat() } else { format!("[{}]", elements.join(",")) }
        } else {
            let texts = record.data.iter().map(|(_, data)| value(data)).filter(|text| !text.is_empty());
            quoted(&texts.collect::<Vec<_>>().join(", "))
        };
        let payload = match record.data.is_empty() {
            true => "{\"EventData\":null}".to_owned(),
            false => format!("{{\"EventData\":{{\"Data\":{data}}}}}"),
        };
        let _ = write!(text, "\"{}\"\r\n", payload.replace('"', "\"\""));
    }
    text
}

fn value_text(value: &LogValue) -> String {
    match value {
        LogValue::Text(text) => text.clone(),
        LogValue::U32(number) => number.to_string(),
        LogValue::U64(number) => number.to_string(),
        LogValue::I64(number) => number.to_string(),
        LogValue::Bool(value) => value.to_string(),
        LogValue::Hex(number) => format!("{number:#x}"),
        LogValue::Time(time_ns) => time_text(*time_ns),
    }
}

/// A time with seven decimal places, as Windows writes it.
fn time_text(time_ns: i64) -> String {
    let (days, within) = (time_ns.div_euclid(86_400_000_000_000), time_ns.rem_euclid(86_400_000_000_000));
    // Days to a date of the Gregorian calendar, with years that begin in March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (seconds, ticks) = (within / 1_000_000_000, within % 1_000_000_000 / 100);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ticks:07}Z")
}

/// A chunk without its header.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Offset of each template by what it depends on.
    templates: HashMap<String, u32>,
    /// Offset of each element and attribute name.
    names: HashMap<String, u32>,
    numbers: Vec<u64>,
    last_offset: usize,
}

/// Indexes of the substitutions of `System`.
const SYSTEM_VALUES: u16 = 8;

impl Chunk {
    /// Offset in the chunk of the next byte.
    fn offset(&self) -> u32 {
        (CHUNK_HEADER_SIZE + self.bytes.len()) as u32
    }

    fn push(&mut self, record: &LogRecord) {
        let start = self.bytes.len();
        self.last_offset = start;
        self.bytes.extend(b"**\0\0");
        self.bytes.extend([0; 4]);
        self.bytes.extend(record.number.to_le_bytes());
        self.bytes.extend(file_time(record.time_ns).to_le_bytes());
        self.bytes.extend([0x0f, 1, 1, 0]);
        self.template_instance(record);
        self.bytes.push(0);
        let size = (self.bytes.len() - start + 4) as u32;
        put(&mut self.bytes, start + 4, &size.to_le_bytes());
        self.bytes.extend(size.to_le_bytes());
        self.numbers.push(record.number);
    }

    fn template_instance(&mut self, record: &LogRecord) {
        let fields: Vec<&str> = record.data.iter().map(|(name, _)| name.as_str()).collect();
        let key = format!("{}/{}/{fields:?}", record.provider, record.channel);
        self.bytes.extend([0x0c, 1]);
        self.bytes.extend((key.len() as u32).to_le_bytes());
        match self.templates.get(&key) {
            Some(&offset) => self.bytes.extend(offset.to_le_bytes()),
            None => {
                let offset = self.offset() + 4;
                self.bytes.extend(offset.to_le_bytes());
                self.templates.insert(key, offset);
                self.template(record, &fields);
            }
        }
        let mut values: Vec<(u8, Vec<u8>)> = vec![
            (0x06, record.id.to_le_bytes().to_vec()),
            (0x04, vec![record.version]),
            (0x04, vec![record.level]),
            (0x11, file_time(record.time_ns).to_le_bytes().to_vec()),
            (0x0a, record.number.to_le_bytes().to_vec()),
            (0x08, record.process_id.to_le_bytes().to_vec()),
            (0x08, record.thread_id.to_le_bytes().to_vec()),
            (0x01, utf16(&record.computer)),
        ];
        values.extend(record.data.iter().map(|(_, value)| match value {
            LogValue::Text(text) => (0x01, utf16(text)),
            LogValue::U32(number) => (0x08, number.to_le_bytes().to_vec()),
            LogValue::U64(number) => (0x0a, number.to_le_bytes().to_vec()),
            LogValue::I64(number) => (0x09, number.to_le_bytes().to_vec()),
            LogValue::Bool(value) => (0x0d, u32::from(*value).to_le_bytes().to_vec()),
            LogValue::Hex(number) => (0x15, number.to_le_bytes().to_vec()),
            LogValue::Time(time_ns) => (0x11, file_time(*time_ns).to_le_bytes().to_vec()),
        }));
        self.bytes.extend((values.len() as u32).to_le_bytes());
        for (kind, bytes) in &values {
            self.bytes.extend((bytes.len() as u16).to_le_bytes());
            self.bytes.extend([*kind, 0]);
        }
        self.bytes.extend(values.into_iter().flat_map(|(_, bytes)| bytes));
    }

    /// The definition of a template: `System` with substitutions 0 to 7, then one per field.
    fn template(&mut self, record: &LogRecord, fields: &[&str]) {
        self.bytes.extend([0; 4]);
        self.bytes.extend([0x5a; 16]);
        let size_at = self.bytes.len();
        self.bytes.extend([0; 4]);
        self.bytes.extend([0x0f, 1, 1, 0]);
        self.element("Event", &[], |chunk| {
            chunk.element("System", &[], |chunk| {
                chunk.element("Provider", &[("Name", Content::Literal(&record.provider))], |_| {});
                chunk.element("EventID", &[], |chunk| chunk.substitution(0, 0x06));
                chunk.element("Version", &[], |chunk| chunk.substitution(1, 0x04));
                chunk.element("Level", &[], |chunk| chunk.substitution(2, 0x04));
                chunk.element("TimeCreated", &[("SystemTime", Content::Value(3, 0x11))], |_| {});
                chunk.element("EventRecordID", &[], |chunk| chunk.substitution(4, 0x0a));
                let ids = [("ProcessID", Content::Value(5, 0x08)), ("ThreadID", Content::Value(6, 0x08))];
                chunk.element("Execution", &ids, |_| {});
                chunk.element("Channel", &[], |chunk| chunk.literal(&record.channel));
                chunk.element("Computer", &[], |chunk| chunk.substitution(7, 0x01));
            });
            chunk.element("EventData", &[], |chunk| {
                for (index, name) in (SYSTEM_VALUES..).zip(fields) {
                    let label = [("Name", Content::Literal(name))];
                    let label = if name.is_empty() { &[][..] } else { &label[..] };
                    chunk.element("Data", label, |chunk| chunk.substitution(index, 0x01));
                }
            });
        });
        self.bytes.push(0);
        let size = (self.bytes.len() - size_at - 4) as u32;
        put(&mut self.bytes, size_at, &size.to_le_bytes());
    }

    fn element(&mut self, name: &str, attributes: &[(&str, Content<'_>)], children: impl FnOnce(&mut Self)) {
        self.bytes.push(if attributes.is_empty() { 0x01 } else { 0x41 });
        self.bytes.extend([0xff, 0xff]);
        let size_at = self.bytes.len();
        self.bytes.extend([0; 4]);
        self.name(name);
        if !attributes.is_empty() {
            let list_at = self.bytes.len();
            self.bytes.extend([0; 4]);
            for (index, (key, content)) in attributes.iter().enumerate() {
                self.bytes.push(if index + 1 < attributes.len() { 0x46 } else { 0x06 });
                self.name(key);
                match content {
                    Content::Literal(text) => self.literal(text),
                    Content::Value(index, kind) => self.substitution(*index, *kind),
                }
            }
            let size = (self.bytes.len() - list_at - 4) as u32;
            put(&mut self.bytes, list_at, &size.to_le_bytes());
        }
        self.bytes.push(0x02);
        children(self);
        self.bytes.push(0x04);
        let size = (self.bytes.len() - size_at - 4) as u32;
        put(&mut self.bytes, size_at, &size.to_le_bytes());
    }

    fn literal(&mut self, text: &str) {
        let units = utf16(text);
        self.bytes.extend([0x05, 0x01]);
        self.bytes.extend(((units.len() / 2) as u16).to_le_bytes());
        self.bytes.extend(units);
    }

    fn substitution(&mut self, index: u16, kind: u8) {
        self.bytes.push(0x0d);
        self.bytes.extend(index.to_le_bytes());
        self.bytes.push(kind);
    }

    /// A reference to a name, followed by the name at its first use.
    fn name(&mut self, name: &str) {
        if let Some(offset) = self.names.get(name) {
            self.bytes.extend(offset.to_le_bytes());
            return;
        }
        let offset = self.offset() + 4;
        self.bytes.extend(offset.to_le_bytes());
        self.names.insert(name.to_owned(), offset);
        let hash =
            name.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(65_599).wrapping_add(u32::from(unit)));
        self.bytes.extend([0; 4]);
        self.bytes.extend((hash as u16).to_le_bytes());
        self.bytes.extend((name.encode_utf16().count() as u16).to_le_bytes());
        self.bytes.extend(utf16(name));
        self.bytes.extend([0; 2]);
    }

    fn finish(self) -> Vec<u8> {
        let mut chunk = vec![0; CHUNK_SIZE];
        let (first, last) = (self.numbers.first().copied().unwrap_or(0), self.numbers.last().copied().unwrap_or(0));
        let count = self.numbers.len() as u64;
        put(&mut chunk, 0, b"ElfChnk\0");
        for (index, number) in [1, count, first, last].into_iter().enumerate() {
            put(&mut chunk, 8 + index * 8, &number.to_le_bytes());
        }
        put(&mut chunk, 40, &128_u32.to_le_bytes());
        put(&mut chunk, 44, &((CHUNK_HEADER_SIZE + self.last_offset) as u32).to_le_bytes());
        put(&mut chunk, 48, &((CHUNK_HEADER_SIZE + self.bytes.len()) as u32).to_le_bytes());
        put(&mut chunk, 52, &crc32(&self.bytes).to_le_bytes());
        put(&mut chunk, CHUNK_HEADER_SIZE, &self.bytes);
        let header = [&chunk[..120], &chunk[128..CHUNK_HEADER_SIZE]].concat();
        put(&mut chunk, 124, &crc32(&header).to_le_bytes());
        chunk
    }
}

/// Content of an attribute.
enum Content<'t> {
    Literal(&'t str),
    /// Index and type of a substitution.
    Value(u16, u8),
}

fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    bytes[offset..offset + value.len()].copy_from_slice(value);
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn file_time(unix_ns: i64) -> i64 {
    unix_ns.div_euclid(100) + UNIX_EPOCH_TICKS
}

/// CRC-32 as in ISO 3309.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}
