//! Trace message format files (`.tmf`): the texts and arguments of software tracing (WPP) messages.
//!
//! `tracepdb` writes such files from the annotations in a private PDB. A message is identified by the GUID of its source
//! file and a number. Lines:
//!
//! ```text
//! // PDB:  widget.pdb
//! 449fe2a8-f60f-3893-5a1e-8049df528b88 widget // SRC=Device.c MJ= MN=
//! #typev Device_c44 12 "%0 [%!FUNC!] failed: %10!s!" //   LEVEL=TRACE_LEVEL_ERROR FLAGS=TRACE_IO FUNC=DeviceStart
//! {
//! status, ItemNTSTATUS -- 10
//! }
//! ```
//!
//! `%10` is the argument with index 10. Arguments are packed in the order of their indices.

mod text;

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etl::Guid;

use crate::schema::{InType, Layout, Length, OutType, Property, ValueMap};

/// Maximum number of arguments of a message.
const MAX_ARGUMENTS: usize = 256;

/// Maximum number of lines of a format text that contains line breaks.
const MAX_TEXT_LINES: usize = 64;

/// Why a trace message format file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct MessageFormatError {
    /// Line, counted from 1.
    pub line: usize,
    /// Description of the error.
    pub message: String,
}

/// The format of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageFormat {
    /// Name in the GUID line: the program or its component.
    pub provider: Arc<str>,
    /// Name of the source file.
    pub source_file: Arc<str>,
    /// Source file and line, such as `Device_c44`.
    pub name: Arc<str>,
    /// Name of the level, such as `TRACE_LEVEL_ERROR`.
    pub level_name: Arc<str>,
    pub flags: Arc<str>,
    pub function: Arc<str>,
    /// Text with `%10!d!`, `%!FUNC!` … for arguments and names.
    pub text: Arc<str>,
    /// The arguments, in payload order.
    pub layout: Layout,
    /// Index in the text of each argument.
    pub indices: Vec<u16>,
}

impl MessageFormat {
    /// Returns the level as a number (1 critical to 5 verbose); 0 if the name is not a standard one.
    pub(crate) fn level(&self) -> u8 {
        match &*self.level_name {
            "TRACE_LEVEL_CRITICAL" | "TRACE_LEVEL_FATAL" => 1,
            "TRACE_LEVEL_ERROR" => 2,
            "TRACE_LEVEL_WARNING" => 3,
            "TRACE_LEVEL_INFORMATION" => 4,
            "TRACE_LEVEL_VERBOSE" => 5,
            number => number.parse().unwrap_or(0),
        }
    }
}

/// Formats by GUID and number of the message.
pub(crate) type MessageFormats = HashMap<(Guid, u16), Arc<MessageFormat>>;

/// True if `text` looks like a trace message format file: it has a line that starts a message.
pub(crate) fn is_message_format(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("#typev "))
}

/// Reads all messages of a trace message format file. The first format of a GUID and number takes precedence.
///
/// # Errors
/// A message without a GUID, number or text, or an argument without a type or index.
pub(crate) fn parse(text: &str) -> Result<MessageFormats, MessageFormatError> {
    let mut formats = MessageFormats::new();
    let mut source = None;
    let mut lines = Lines { lines: text.trim_start_matches('\u{feff}').lines(), number: 0 };
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("#typev") {
            let source: &Source =
                source.as_ref().ok_or_else(|| lines.error("a message before the line with its GUID"))?;
            let (number, mut format) = read_message(rest, &mut lines)?;
            format.provider = Arc::clone(&source.provider);
            format.source_file = Arc::clone(&source.file);
            read_arguments(&mut lines, &mut format)?;
            formats.entry((source.guid, number)).or_insert_with(|| Arc::new(format));
        } else if let Some(found) = Source::read(line) {
            source = Some(found);
        }
        // Other lines are comments, and the MOF descriptions of classic events (`#type`).
    }
    Ok(formats)
}

/// The lines of a file, with their numbers for errors.
struct Lines<'t> {
    lines: std::str::Lines<'t>,
    number: usize,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<&'t str> {
        self.number += 1;
        self.lines.next()
    }

    fn peek(&self) -> Option<&'t str> {
        self.lines.clone().next()
    }

    fn error(&self, message: impl Into<String>) -> MessageFormatError {
        MessageFormatError { line: self.number, message: message.into() }
    }
}

/// The source file of the messages that follow.
struct Source {
    guid: Guid,
    provider: Arc<str>,
    file: Arc<str>,
}

impl Source {
    /// Reads `GUID name // SRC=file MJ= MN=`.
    fn read(line: &str) -> Option<Self> {
        let (names, comment) = line.split_once("//").unwrap_or((line, ""));
        let mut words = names.split_whitespace();
        let guid = Guid::parse_str(words.next()?).ok()?;
        let provider = words.next().unwrap_or_default().into();
        Some(Self { guid, provider, file: comment_value(comment, "SRC").into() })
    }
}

/// Returns the value of `KEY=value` in a comment; empty if there is none.
fn comment_value<'t>(comment: &'t str, key: &str) -> &'t str {
    comment
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .find(|(name, _)| name.eq_ignore_ascii_case(key))
        .map_or("", |(_, value)| value)
}

/// Reads ` name number "text" // LEVEL=… FLAGS=… FUNC=…`. The text can contain quotation marks and line breaks.
fn read_message(rest: &str, lines: &mut Lines<'_>) -> Result<(u16, MessageFormat), MessageFormatError> {
    let (names, quoted) =
        rest.split_once('"').ok_or_else(|| lines.error("a message without a text in quotation marks"))?;
    let mut words = names.split_whitespace();
    let (name, number) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let number = number.parse().map_err(|_| lines.error(format!("{number:?} is not the number of a message")))?;
    let mut quoted = quoted.to_owned();
    let (text, comment) = loop {
        if let Some((text, comment)) = end_of_text(&quoted, lines.peek()) {
            break (text, comment);
        }
        let next = lines.next().filter(|_| quoted.matches('\n').count() < MAX_TEXT_LINES);
        let next = next.ok_or_else(|| lines.error("a text without a closing quotation mark"))?;
        quoted.push('\n');
        quoted.push_str(next);
    };
    let format = MessageFormat {
        name: name.into(),
        level_name: comment_value(comment, "LEVEL").into(),
        flags: comment_value(comment, "FLAGS").into(),
        function: comment_value(comment, "FUNC").into(),
        text: text.into(),
        ..MessageFormat::default()
    };
    Ok((number, format))
}

/// Splits the text from the comment after its closing quotation mark. Without a comment, the `next` line shows whether
/// a quotation mark is the last.
fn end_of_text<'t>(quoted: &'t str, next: Option<&str>) -> Option<(&'t str, &'t str)> {
    let (text, comment) = quoted.rsplit_once('"')?;
    match comment.trim_start() {
        "" => next.is_none_or(|next| matches!(next.trim(), "{" | "")).then_some((text, "")),
        comment if comment.starts_with("//") => Some((text, comment)),
        // The comment itself can contain a quotation mark.
        _ => quoted.split_once("\" //"),
    }
}

/// Reads the lines from `{` to `}`, one argument each. They can be missing.
fn read_arguments(lines: &mut Lines<'_>, format: &mut MessageFormat) -> Result<(), MessageFormatError> {
    if lines.peek().is_none_or(|line| line.trim() != "{") {
        return Ok(());
    }
    let _ = lines.next();
    let mut arguments = Vec::new();
    loop {
        let line = lines.next().ok_or_else(|| lines.error("arguments without a closing brace"))?.trim();
        if line == "}" {
            break;
        }
        if line.is_empty() {
            continue;
        }
        let argument = read_argument(line).ok_or_else(|| lines.error(format!("{line:?} is not an argument")))?;
        if arguments.len() >= MAX_ARGUMENTS {
            return Err(lines.error(format!("a message with more than {MAX_ARGUMENTS} arguments")));
        }
        arguments.push(argument);
    }
    arguments.sort_by_key(|(index, _)| *index);
    let (indices, properties) = arguments.into_iter().unzip();
    (format.indices, format.layout) = (indices, Layout::flat(properties));
    Ok(())
}

/// Reads `expression, ItemType(names) -- index`. Expressions and names can contain commas.
fn read_argument(line: &str) -> Option<(u16, Property)> {
    let (declaration, index) = line.rsplit_once("--")?;
    let index = index.trim().parse().ok()?;
    let declaration = declaration.trim_end();
    let (at, _) = declaration.rmatch_indices(", Item").find(|(at, _)| {
        let item = declaration.get(at + 2..).unwrap_or_default();
        let name = item.split_once('(').map_or(item, |(name, _)| name);
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })?;
    let (expression, item) = declaration.split_at_checked(at)?;
    let (name, list) = match item.trim_start_matches(", ").split_once('(') {
        Some((name, list)) => (name, Some(list.strip_suffix(')')?)),
        None => (item.trim_start_matches(", "), None),
    };
    let mut property = Property::new(expression.trim(), InType::Null);
    set_type(&mut property, name.trim_end(), list.unwrap_or_default());
    Some((index, property))
}

/// Sets the encoding of an argument. Arguments of an unknown type, and those after it, cannot be read.
fn set_type(property: &mut Property, item: &str, list: &str) {
    property.in_type = match item {
        "ItemChar" => InType::Int8,
        "ItemUChar" | "ItemListByte" | "ItemSetByte" => InType::UInt8,
        "ItemShort" => InType::Int16,
        "ItemUShort" | "ItemPort" | "ItemListShort" | "ItemSetShort" => InType::UInt16,
        "ItemLong" | "ItemEnum" => InType::Int32,
        "ItemULong" | "ItemWINERROR" | "ItemNTSTATUS" | "ItemHRESULT" | "ItemNDIS_STATUS" | "ItemIPAddr"
        | "ItemListLong" | "ItemSetLong" => InType::UInt32,
        "ItemULongX" | "ItemNDIS_OID" | "ItemFlagsEnum" => InType::HexInt32,
        "ItemLongLong" | "ItemTimeDelta" | "ItemWaitTime" => InType::Int64,
        "ItemULongLong" | "ItemLongLongO" => InType::UInt64,
        "ItemLongLongX" | "ItemLongLongXX" => InType::HexInt64,
        "ItemFloat" => InType::Float,
        "ItemDouble" => InType::Double,
        "ItemPtr" => InType::Pointer,
        "ItemString" | "ItemRString" | "ItemChar4" => InType::AnsiString,
        "ItemWString" | "ItemRWString" => InType::UnicodeString,
        "ItemPString" => InType::CountedAnsiString,
        "ItemPWString" => InType::CountedUnicodeString,
        "ItemHexDump" => InType::CountedBinary,
        "ItemGuid" | "ItemCLSID" | "ItemLIBID" | "ItemIID" => InType::Guid,
        "ItemSid" => InType::Sid,
        "ItemTimestamp" => InType::FileTime,
        _ => InType::Opaque,
    };
    match item {
        "ItemNTSTATUS" | "ItemNDIS_STATUS" => property.out_type = OutType::NtStatus,
        "ItemHRESULT" => property.out_type = OutType::HResult,
        "ItemIPAddr" => property.out_type = OutType::Ipv4,
        "ItemPort" => property.out_type = OutType::Port,
        "ItemChar4" => property.length = Length::Fixed(4),
        "ItemListByte" | "ItemListShort" | "ItemListLong" => {
            property.map = Some(Arc::new(ValueMap { is_bit_map: false, entries: list_entries(list) }));
        }
        "ItemSetByte" | "ItemSetShort" | "ItemSetLong" => {
            let bits = list_entries(list).into_iter().filter_map(|(bit, name)| {
                let mask = 1_u64.checked_shl(u32::try_from(bit).ok()?)?;
                Some((mask, name))
            });
            property.map = Some(Arc::new(ValueMap { is_bit_map: true, entries: bits.collect() }));
        }
        _ => {}
    }
}

/// Reads `a,b=0x5,c`: names are numbered from 0, or from the number of the name before.
fn list_entries(list: &str) -> Vec<(u64, Arc<str>)> {
    let mut next = 0_u64;
    let mut entries = Vec::new();
    for item in list.split(',').filter(|item| !item.trim().is_empty()) {
        let (name, number) = match item.split_once('=') {
            Some((name, number)) => (name, parse_number(number.trim())),
            None => (item, None),
        };
        let number = number.unwrap_or(next);
        entries.push((number, name.trim().into()));
        next = number.wrapping_add(1);
    }
    entries
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
