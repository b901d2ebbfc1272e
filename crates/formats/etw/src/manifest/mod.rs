//! Instrumentation manifests (`.man`): the XML in which a provider declares its events.
//!
//! .NET event sources send manifests of the same format in their traces. Sources: the published schema of
//! instrumentation manifests, and `etl-format.md` sections 5.6 and 5.7.
//!
//! Display names come from the manifest's string table if an element has a `message`, otherwise from its `name`.
//! Standard names such as `win:Start` need no declaration.

mod document;
mod names;
mod template;

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etl::Guid;

use crate::schema::{EventSchema, Layout, ProviderSchema, ValueMap};
use document::{Document, Node};
use names::DeclaredNames;

/// Why a manifest cannot be used, with the position of the error.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ManifestError {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Description of the error.
    pub message: String,
}

impl ManifestError {
    /// Creates an error at a byte offset.
    fn at_offset(xml: &str, offset: usize, message: impl Into<String>) -> Self {
        let bytes = xml.as_bytes().get(..offset).unwrap_or(xml.as_bytes());
        let number = |count: usize| u32::try_from(count.saturating_add(1)).unwrap_or(u32::MAX);
        let text_before = String::from_utf8_lossy(bytes);
        let line_start = text_before.rfind('\n').map_or(0, |index| index + 1);
        let column = text_before.get(line_start..).map_or(0, |line| line.chars().count());
        Self { line: number(text_before.matches('\n').count()), column: number(column), message: message.into() }
    }
}

/// Reads all providers of a manifest.
///
/// # Errors
/// The text is not XML, a provider has no GUID, an event has no number, or a template or type is not declared. Unknown
/// tasks, opcodes, levels and keywords are not errors; only their names are missing.
pub(crate) fn parse(xml: &str) -> Result<Vec<ProviderSchema>, ManifestError> {
    // A byte order mark, and the final NUL of some event sources, are not part of the document.
    let xml = xml.trim_start_matches('\u{feff}').trim_end_matches('\0');
    let document = Document::parse(xml)?;
    let strings = string_table(&document);
    let mut providers = Vec::new();
    for node in document.nodes().filter(|node| node.is_named("provider")) {
        // Imports and references to other providers declare nothing.
        if node.attribute("guid").is_some() || node.child("events").is_some() {
            providers.push(read_provider(node, &strings)?);
        }
    }
    if providers.is_empty() {
        let root = document.nodes().next();
        let message = "no provider element with a guid";
        return Err(root.map_or_else(|| ManifestError::at_offset(xml, 0, message), |root| root.error(message)));
    }
    Ok(providers)
}

/// The texts of `$(string.ID)`: American English if available, otherwise the first language.
type Strings<'a> = HashMap<&'a str, &'a str>;

fn string_table<'a>(document: &'a Document<'a>) -> Strings<'a> {
    let mut resources: Vec<_> = document.nodes().filter(|node| node.is_named("resources")).collect();
    resources
        .sort_by_key(|node| !node.attribute("culture").is_some_and(|culture| culture.eq_ignore_ascii_case("en-us")));
    let mut strings = Strings::new();
    for node in resources.into_iter().flat_map(Node::descendants).filter(|node| node.is_named("string")) {
        if let (Some(id), Some(value)) = (node.attribute("id"), node.attribute("value")) {
            strings.entry(id).or_insert(value);
        }
    }
    strings
}

/// Returns the text of a `message` attribute, which is a reference or the text itself.
fn message<'a>(node: Node<'a>, strings: &Strings<'a>) -> Option<&'a str> {
    let message = node.attribute("message")?;
    match message.strip_prefix("$(string.").and_then(|reference| reference.strip_suffix(')')) {
        Some(id) => strings.get(id).copied(),
        // A reference to the messages of another module has no text here.
        None if message.starts_with("$(") => None,
        None => Some(message),
    }
}

fn read_provider(node: Node<'_>, strings: &Strings<'_>) -> Result<ProviderSchema, ManifestError> {
    let guid = node.required_attribute("guid")?;
    let guid = Guid::parse_str(guid.trim()).map_err(|_| node.error(format!("guid {guid:?} is not a GUID")))?;
    let names = DeclaredNames::read(node, strings)?;
    let maps = read_maps(node, strings)?;
    let mut layouts: HashMap<&str, Arc<Layout>> = HashMap::new();
    for template in list_items(node, "templates", "template") {
        let layout = template::layout(template, &maps)?;
        layouts.insert(template.required_attribute("tid")?, Arc::new(layout));
    }
    let empty = Arc::new(Layout::default());
    let mut events = Vec::new();
    for event in list_items(node, "events", "event") {
        let layout = match event.attribute("template") {
            None | Some("") => &empty,
            Some(tid) => layouts.get(tid).ok_or_else(|| event.error(format!("template {tid:?} is not declared")))?,
        };
        events.push(event_schema(event, strings, &names, Arc::clone(layout))?);
    }
    let name = node.attribute("name").unwrap_or_default().into();
    let mut schema = ProviderSchema { guid, name, events, keywords: names.keyword_list() };
    schema.sort();
    Ok(schema)
}

/// Iterates over the `item` elements in the `list` elements of a provider.
fn list_items<'a>(provider: Node<'a>, list: &'static str, item: &'static str) -> impl Iterator<Item = Node<'a>> {
    provider
        .children()
        .filter(move |node| node.is_named(list))
        .flat_map(|node| node.children())
        .filter(move |node| node.is_named(item))
}

fn event_schema(
    event: Node<'_>,
    strings: &Strings<'_>,
    names: &DeclaredNames,
    layout: Arc<Layout>,
) -> Result<EventSchema, ManifestError> {
    let id = number(event, "value")?.ok_or_else(|| event.error("event has no attribute value"))?;
    let version = number(event, "version")?.unwrap_or(0);
    // Legacy event-log ids have a qualifier above the 16 bits of the event id.
    let id = u16::try_from(id & 0xFFFF).unwrap_or_default();
    let version = u8::try_from(version).map_err(|_| event.error(format!("version {version} is above 255")))?;
    let task = event.attribute("task").and_then(|name| names.task(name));
    let opcode =
        event.attribute("opcode").and_then(|name| names.opcode(event.attribute("task").unwrap_or_default(), name));
    let symbol = event.attribute("symbol").unwrap_or_default();
    Ok(EventSchema {
        id,
        version,
        level: event.attribute("level").and_then(|name| names.level(name)).unwrap_or(0),
        // Without the attribute, the manifest compiler writes 0.
        opcode: if event.attribute("opcode").is_some() { opcode.as_ref().map(|entry| entry.value) } else { Some(0) },
        task: if event.attribute("task").is_some() { task.map(|entry| entry.value) } else { Some(0) },
        keyword: event.attribute("keywords").map_or(0, |list| names.keywords(list)),
        name: symbol.into(),
        task_name: task.map_or_else(Arc::default, |entry| Arc::clone(&entry.text)),
        opcode_name: opcode.map_or_else(Arc::default, |entry| Arc::clone(&entry.text)),
        message: message(event, strings).unwrap_or_default().into(),
        layout,
    })
}

type Maps<'a> = HashMap<&'a str, Arc<ValueMap>>;

fn read_maps<'a>(provider: Node<'a>, strings: &Strings<'a>) -> Result<Maps<'a>, ManifestError> {
    let mut maps = Maps::new();
    for (kind, is_bit_map) in [("valueMap", false), ("bitMap", true)] {
        for node in list_items(provider, "maps", kind) {
            let mut map = ValueMap { is_bit_map, entries: Vec::new() };
            for entry in node.children().filter(|child| child.is_named("map")) {
                let value = number(entry, "value")?.ok_or_else(|| entry.error("map has no attribute value"))?;
                let text = message(entry, strings).or_else(|| entry.attribute("symbol"));
                if let Some(text) = text {
                    map.entries.push((value, text.trim_end().into()));
                }
            }
            maps.insert(node.required_attribute("name")?, Arc::new(map));
        }
    }
    Ok(maps)
}

/// Reads a numeric attribute, decimal or `0x…`.
fn number(node: Node<'_>, name: &str) -> Result<Option<u64>, ManifestError> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    parse_number(text).map(Some).ok_or_else(|| node.error(format!("{name} {text:?} is not a number")))
}

fn parse_number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        // Value maps may contain negative numbers, stored as 32 bits.
        None => text.parse().ok().or_else(|| text.parse::<i32>().ok().map(|value| u64::from(value.cast_unsigned()))),
    }
}

#[cfg(test)]
mod tests;
