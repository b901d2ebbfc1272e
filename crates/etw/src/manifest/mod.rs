//! Instrumentation manifests (`.man`): the XML in which a provider declares its events.
//!
//! The same form travels inside traces of .NET event sources. Source of the facts: the published schema of
//! instrumentation manifests and `etl-format.md` sections 5.6 and 5.7.
//!
//! Names for people come from the manifest's string table where an element has a `message`, else from its
//! `name`. Names a manifest uses without declaring them (`win:Start`) are those every manifest may use.

mod names;

mod template;

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etl::Guid;
use roxmltree::{Document, Node, ParsingOptions, TextPos};

use crate::schema::{EventSchema, Layout, ProviderSchema, ValueMap};
use names::Names;

/// Elements and attributes that one manifest may have; the largest of Windows has some 60,000.
const MOST_NODES: u32 = 2_000_000;

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct ManifestError {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong there.
    pub what: String,
}

impl ManifestError {
    fn at(position: TextPos, what: impl Into<String>) -> Self {
        Self { line: position.row, column: position.col, what: what.into() }
    }

    fn of(node: Node<'_, '_>, what: impl Into<String>) -> Self {
        Self::at(node.document().text_pos_at(node.range().start), what)
    }
}

/// Reads every provider of a manifest.
///
/// # Errors
/// Text that is no XML, a provider without GUID, an event without number, a template or type that is not
/// declared: with line and column. Unknown tasks, opcodes, levels and keywords only cost their names.
pub(crate) fn parse(xml: &str) -> Result<Vec<ProviderSchema>, ManifestError> {
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    // Neither a byte order mark nor the NUL some event sources end with is part of the document.
    let xml = xml.trim_start_matches('\u{feff}').trim_end_matches('\0');
    let document = Document::parse_with_options(xml, options)
        .map_err(|error| ManifestError::at(error.pos(), error.to_string()))?;
    let strings = string_table(&document);
    let mut providers = Vec::new();
    for node in document.descendants().filter(|node| node.has_tag_name_of("provider")) {
        // An import or a reference to a provider elsewhere declares nothing.
        if node.attribute("guid").is_some() || node.child("events").is_some() {
            providers.push(provider(node, &strings)?);
        }
    }
    if providers.is_empty() {
        return Err(ManifestError::of(document.root_element(), "no provider element with a guid"));
    }
    Ok(providers)
}

/// Look-ups by local name: manifests are written with and without the namespace.
trait Local<'a, 'input> {
    fn has_tag_name_of(&self, name: &str) -> bool;
    fn child(&self, name: &str) -> Option<Node<'a, 'input>>;
    fn required(&self, name: &str) -> Result<&'a str, ManifestError>;
}

impl<'a, 'input> Local<'a, 'input> for Node<'a, 'input> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
    fn child(&self, name: &str) -> Option<Node<'a, 'input>> {
        self.children().find(|child| child.has_tag_name_of(name))
    }
    fn required(&self, name: &str) -> Result<&'a str, ManifestError> {
        self.attribute(name)
            .ok_or_else(|| ManifestError::of(*self, format!("{} has no attribute {name}", self.tag_name().name())))
    }
}

/// The texts of `$(string.ID)`: American English where there are several languages, else the first.
type Strings<'a> = HashMap<&'a str, &'a str>;

fn string_table<'a>(document: &'a Document<'_>) -> Strings<'a> {
    let mut resources: Vec<_> = document.descendants().filter(|node| node.has_tag_name_of("resources")).collect();
    resources
        .sort_by_key(|node| !node.attribute("culture").is_some_and(|culture| culture.eq_ignore_ascii_case("en-us")));
    let mut strings = Strings::new();
    for node in resources.iter().flat_map(Node::descendants).filter(|n| n.has_tag_name_of("string")) {
        if let (Some(id), Some(value)) = (node.attribute("id"), node.attribute("value")) {
            strings.entry(id).or_insert(value);
        }
    }
    strings
}

/// The text a `message` attribute refers to, or is.
fn message<'a>(node: Node<'a, '_>, strings: &Strings<'a>) -> Option<&'a str> {
    let message = node.attribute("message")?;
    match message.strip_prefix("$(string.").and_then(|rest| rest.strip_suffix(')')) {
        Some(id) => strings.get(id).copied(),
        // A reference into another module's messages names nothing here.
        None if message.starts_with("$(") => None,
        None => Some(message),
    }
}

fn provider(node: Node<'_, '_>, strings: &Strings<'_>) -> Result<ProviderSchema, ManifestError> {
    let guid = node.required("guid")?;
    let guid =
        Guid::parse_str(guid.trim()).map_err(|_| ManifestError::of(node, format!("guid {guid:?} is no GUID")))?;
    let names = Names::read(node, strings)?;
    let maps = maps(node, strings)?;
    let mut layouts: HashMap<&str, Arc<Layout>> = HashMap::new();
    for template in in_list(node, "templates", "template") {
        let layout = template::layout(template, &maps)?;
        layouts.insert(template.required("tid")?, Arc::new(layout));
    }
    let empty = Arc::new(Layout::default());
    let mut events = Vec::new();
    for event in in_list(node, "events", "event") {
        let layout = match event.attribute("template") {
            None | Some("") => &empty,
            Some(tid) => {
                layouts.get(tid).ok_or_else(|| ManifestError::of(event, format!("template {tid:?} is not declared")))?
            }
        };
        events.push(event_schema(event, strings, &names, Arc::clone(layout))?);
    }
    let name = node.attribute("name").unwrap_or_default().into();
    let mut schema = ProviderSchema { guid, name, events, keywords: names.keyword_list() };
    schema.sort();
    Ok(schema)
}

/// The `item` elements below the `list` elements of a provider.
fn in_list<'a, 'input>(
    provider: Node<'a, 'input>,
    list: &'static str,
    item: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    provider
        .children()
        .filter(move |node| node.has_tag_name_of(list))
        .flat_map(|node| node.children())
        .filter(move |node| node.has_tag_name_of(item))
}

fn event_schema(
    event: Node<'_, '_>,
    strings: &Strings<'_>,
    names: &Names,
    layout: Arc<Layout>,
) -> Result<EventSchema, ManifestError> {
    let id = number(event, "value")?.ok_or_else(|| ManifestError::of(event, "event has no attribute value"))?;
    let version = number(event, "version")?.unwrap_or(0);
    // Legacy event-log identifiers carry a qualifier above the 16 bits that events carry.
    let id = u16::try_from(id & 0xFFFF).unwrap_or_default();
    let version =
        u8::try_from(version).map_err(|_| ManifestError::of(event, format!("version {version} is above 255")))?;
    let task = event.attribute("task").and_then(|name| names.task(name));
    let opcode =
        event.attribute("opcode").and_then(|name| names.opcode(event.attribute("task").unwrap_or_default(), name));
    let symbol = event.attribute("symbol").unwrap_or_default();
    Ok(EventSchema {
        id,
        version,
        level: event.attribute("level").and_then(|name| names.level(name)).unwrap_or(0),
        // Without an attribute the manifest compiler writes zero.
        opcode: if event.has_attribute("opcode") { opcode.as_ref().map(|named| named.value) } else { Some(0) },
        task: if event.has_attribute("task") { task.map(|named| named.value) } else { Some(0) },
        keyword: event.attribute("keywords").map_or(0, |list| names.keywords(list)),
        name: symbol.into(),
        task_name: task.map_or_else(Arc::default, |named| Arc::clone(&named.text)),
        opcode_name: opcode.map_or_else(Arc::default, |named| Arc::clone(&named.text)),
        message: message(event, strings).unwrap_or_default().into(),
        layout,
    })
}

type Maps<'a> = HashMap<&'a str, Arc<ValueMap>>;

fn maps<'a>(provider: Node<'a, '_>, strings: &Strings<'a>) -> Result<Maps<'a>, ManifestError> {
    let mut maps = Maps::new();
    for (kind, bits) in [("valueMap", false), ("bitMap", true)] {
        for node in in_list(provider, "maps", kind) {
            let mut map = ValueMap { bits, entries: Vec::new() };
            for entry in node.children().filter(|child| child.has_tag_name_of("map")) {
                let value =
                    number(entry, "value")?.ok_or_else(|| ManifestError::of(entry, "map has no attribute value"))?;
                let text = message(entry, strings).or_else(|| entry.attribute("symbol"));
                if let Some(text) = text {
                    map.entries.push((value, text.trim_end().into()));
                }
            }
            maps.insert(node.required("name")?, Arc::new(map));
        }
    }
    Ok(maps)
}

/// A numeric attribute, decimal or `0x…`.
fn number(node: Node<'_, '_>, name: &str) -> Result<Option<u64>, ManifestError> {
    let Some(text) = node.attribute(name) else {
        return Ok(None);
    };
    parse_number(text).map(Some).ok_or_else(|| ManifestError::of(node, format!("{name} {text:?} is no number")))
}

fn parse_number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        // Value maps may hold negative numbers, kept as their 32 bits.
        None => text.parse().ok().or_else(|| text.parse::<i32>().ok().map(|value| u64::from(value.cast_unsigned()))),
    }
}

#[cfg(test)]
mod tests;
