//! The schemas known to the program, and the decoding of records with them.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etl::{EventDescriptor, ExtendedItem, Guid, HeaderKind, Record};

use crate::catalog::{self, CatalogProvider, KernelEvent};
use crate::description::{Decoded, Description, ProviderIndex, SchemaLosses, SchemaSource};
use crate::event_source::{self, ChunkResult, Chunks, MANIFEST_EVENT, MANIFEST_OPCODE};
use crate::fields::Fields;
use crate::fixed::FixedLayout;
use crate::kernel::KernelDebugId;
use crate::manifest::{self, ManifestError};
use crate::message_format::{self, MessageFormat, MessageFormatError, MessageFormats};
use crate::payload::{self, Status};
use crate::provider_binary::{self, ProviderBinaryError};
use crate::schema::{Count, EventSchema, Layout, ProviderSchema, ValueMap};
use crate::standard;
use crate::text::Ansi;
use crate::trace_event_info::{self, EVENT_METADATA_CLASS, TraceEventInfo};
use crate::trace_logging::{EventMetadata, ProviderTraits};
use crate::value::{Message, Value};

/// Maximum number of schemas learned from one set of recordings. Windows itself has about 50,000.
const MAX_LEARNED: usize = 1 << 18;

/// Maximum number of PDB names learned from one set of recordings.
const MAX_MESSAGE_PDBS: usize = 64;

/// Schemas of events: shipped with the program, learned from a recording, or added by the user.
///
/// For a manifest event, the sources are searched in this order: user (supplied for this recording on purpose),
/// recording, catalog. A schema with the event's version takes precedence over other versions in any source.
/// Without one, the nearest lower version is used, otherwise the nearest higher version. TraceLogging events describe
/// themselves.
///
/// Observe all records before decoding: schemas usually follow the events they describe, near the end of a recording.
#[derive(Clone, Default)]
pub struct Schemas {
    providers: HashMap<Guid, ProviderEntry>,
    order: Vec<Guid>,
    classic: HashMap<(Guid, u8, u16), EventSchema>,
    /// Names of classes and of message files.
    classic_names: HashMap<Guid, Arc<str>>,
    messages: MessageFormats,
    message_pdbs: Vec<String>,
    chunks: Chunks,
    learned: usize,
    losses: SchemaLosses,
}

/// A provider and its schemas by source.
#[derive(Clone)]
struct ProviderEntry {
    index: ProviderIndex,
    name: Arc<str>,
    group: Option<Guid>,
    user: Option<Box<ProviderSchema>>,
    embedded: Option<Box<ProviderSchema>>,
    maps: HashMap<Arc<str>, Arc<ValueMap>>,
    catalog: Option<&'static CatalogProvider>,
}

impl ProviderEntry {
    /// Returns the schema of an event, its source, and whether it has the same version.
    fn event(&self, id: u16, version: u8) -> Option<(&EventSchema, SchemaSource, bool)> {
        let layers = || {
            let user = self.user.as_deref().map(|schema| (schema, SchemaSource::User));
            let embedded = self.embedded.as_deref().map(|schema| (schema, SchemaSource::Embedded));
            user.into_iter().chain(embedded)
        };
        let find_in_layers = |exact: bool| {
            layers().find_map(|(schema, source)| {
                let event = if exact { schema.find_exact(id, version) } else { schema.find_nearest(id, version) };
                Some((event?, source, exact))
            })
        };
        // The catalog is expanded only for events that the other sources do not have.
        find_in_layers(true)
            .or_else(|| {
                let event = self.catalog?.schema().find_exact(id, version)?;
                Some((event, SchemaSource::Catalog, true))
            })
            .or_else(|| find_in_layers(false))
            .or_else(|| {
                let event = self.catalog?.schema().find_nearest(id, version)?;
                Some((event, SchemaSource::Catalog, false))
            })
    }

    fn name(&self) -> &str {
        match (self.name.is_empty(), self.catalog) {
            (true, Some(catalog)) => catalog.name,
            _ => &self.name,
        }
    }
}

/// Result of [`Schemas::find`].
enum Match<'r> {
    Kernel(&'r KernelEvent),
    Event(&'r EventSchema, SchemaSource, bool),
    TraceLogging(EventMetadata<'r>),
    Message(&'r MessageFormat),
    UnknownMessage,
    None,
}

impl Schemas {
    /// Creates a collection with the schemas shipped with the program.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the providers of an instrumentation manifest (`.man`). Returns the number of providers.
    ///
    /// # Errors
    /// The manifest cannot be parsed. Nothing is added.
    pub fn add_manifest(&mut self, xml: &str) -> Result<usize, ManifestError> {
        Ok(self.add_user(manifest::parse(xml)?))
    }

    /// Adds the providers described in the resources of a DLL or EXE. Returns the number of providers.
    ///
    /// # Errors
    /// The file is not a DLL or EXE, or describes no provider. Nothing is added.
    pub fn add_provider_binary(&mut self, pe: &[u8]) -> Result<usize, ProviderBinaryError> {
        Ok(self.add_user(provider_binary::read(pe)?))
    }

    /// Adds the formats in a trace message format file (`.tmf`). Returns the number of messages.
    ///
    /// # Errors
    /// The file is malformed. Nothing is added.
    pub fn add_message_formats(&mut self, text: &str) -> Result<usize, MessageFormatError> {
        let formats = message_format::parse(text)?;
        let count = formats.len();
        for ((guid, number), format) in formats {
            self.classic_names.entry(guid).or_insert_with(|| Arc::clone(&format.provider));
            self.messages.entry((guid, number)).or_insert(format);
        }
        Ok(count)
    }

    /// True if `text` looks like a trace message format file.
    #[must_use]
    pub fn is_message_format(text: &str) -> bool {
        message_format::is_message_format(text)
    }

    fn add_user(&mut self, providers: Vec<ProviderSchema>) -> usize {
        let count = providers.len();
        for schema in providers {
            let entry = self.provider_entry(schema.guid);
            if !schema.name.is_empty() {
                entry.name = Arc::clone(&schema.name);
            }
            merge(&mut entry.user, schema);
        }
        count
    }

    /// Learns from a record: schemas and maps added by merging, manifests sent by event sources, names of providers and of
    /// PDBs with message formats. Cheap for all other records.
    pub fn observe(&mut self, record: &Record<'_>) {
        match record.kind() {
            HeaderKind::Event => self.observe_event(record),
            HeaderKind::Full if record.class_guid() == Some(EVENT_METADATA_CLASS) => {
                self.observe_metadata(record);
            }
            _ if record.hook() == Some(KernelDebugId::HOOK) => self.observe_message_pdb(record),
            _ => {}
        }
    }

    fn observe_message_pdb(&mut self, record: &Record<'_>) {
        let Some(id) = KernelDebugId::parse(record) else { return };
        let name = format!("{} {:X}{:X}", id.pdb_name.to_str(), id.guid.simple(), id.age);
        if self.message_pdbs.len() < MAX_MESSAGE_PDBS && !self.message_pdbs.contains(&name) {
            self.message_pdbs.push(name);
        }
    }

    fn observe_event(&mut self, record: &Record<'_>) {
        let Some(guid) = record.class_guid() else { return };
        let entry = self.provider_entry(guid);
        if entry.name.is_empty() {
            let item = record.extended_item(ExtendedItem::PROVIDER_TRAITS);
            if let Some(traits) = item.and_then(|item| ProviderTraits::read(item.data)) {
                entry.name = traits.name.into();
                entry.group = traits.group;
            }
        }
        let is_manifest = record.opcode() == MANIFEST_OPCODE
            && record.descriptor().is_some_and(|descriptor| descriptor.id == MANIFEST_EVENT);
        if !is_manifest {
            return;
        }
        let process = record.process_id().unwrap_or(u32::MAX);
        match self.chunks.add(guid, process, record.payload()) {
            ChunkResult::Pending => {}
            ChunkResult::Rejected => self.losses.rejected_chunks += 1,
            ChunkResult::Manifest(xml) => self.add_in_band_manifest(guid, &xml),
        }
    }

    fn add_in_band_manifest(&mut self, guid: Guid, xml: &str) {
        let Ok(providers) = manifest::parse(xml) else {
            self.losses.rejected_manifests += 1;
            return;
        };
        for mut schema in providers {
            // A manifest may only describe the provider that sent it.
            if schema.guid != guid {
                self.losses.rejected_manifests += 1;
                continue;
            }
            if !self.reserve(schema.events.len()) {
                continue;
            }
            schema.events.iter_mut().for_each(name_event_source_event);
            let entry = self.provider_entry(guid);
            if entry.name.is_empty() {
                entry.name = Arc::clone(&schema.name);
            }
            merge(&mut entry.embedded, schema);
        }
    }

    fn observe_metadata(&mut self, record: &Record<'_>) {
        let parsed = match record.opcode() {
            trace_event_info::EVENT_INFO => TraceEventInfo::read(record.payload()).map(|info| self.learn(info)),
            trace_event_info::EVENT_MAP_INFO => {
                trace_event_info::read_map(record.payload()).map(|(guid, name, map)| self.learn_map(guid, &name, map))
            }
            _ => Some(()),
        };
        if parsed.is_none() {
            self.losses.malformed_records += 1;
        }
    }

    fn learn(&mut self, info: TraceEventInfo) {
        if !self.reserve(1) {
            return;
        }
        let TraceEventInfo { provider, provider_name, class, mut event } = info;
        if let Some(class) = class {
            let key = (class, event.opcode.unwrap_or_default(), u16::from(event.version));
            if !provider_name.is_empty() {
                self.classic_names.insert(class, provider_name);
            }
            self.classic.insert(key, event);
            return;
        }
        let entry = self.provider_entry(provider);
        if entry.name.is_empty() {
            entry.name = provider_name;
        }
        resolve_maps(&mut event, &entry.maps);
        let schema = entry.embedded.get_or_insert_with(|| Box::new(empty_schema(provider)));
        let position = schema.events.binary_search_by_key(&(event.id, event.version), |e| (e.id, e.version));
        match position {
            Ok(index) => schema.events[index] = event,
            Err(index) => schema.events.insert(index, event),
        }
    }

    fn learn_map(&mut self, guid: Guid, name: &Arc<str>, map: ValueMap) {
        if !self.reserve(1) {
            return;
        }
        let entry = self.provider_entry(guid);
        entry.maps.insert(Arc::clone(name), Arc::new(map));
        if let Some(schema) = &mut entry.embedded {
            for event in &mut schema.events {
                resolve_maps(event, &entry.maps);
            }
        }
    }

    fn reserve(&mut self, events: usize) -> bool {
        let total = self.learned.saturating_add(events);
        if total > MAX_LEARNED {
            self.losses.too_many += events as u64;
            return false;
        }
        self.learned = total;
        true
    }

    fn provider_entry(&mut self, guid: Guid) -> &mut ProviderEntry {
        let order = &mut self.order;
        self.providers.entry(guid).or_insert_with(|| {
            let index = ProviderIndex(u32::try_from(order.len()).unwrap_or(u32::MAX));
            order.push(guid);
            ProviderEntry {
                index,
                name: Arc::default(),
                group: None,
                user: None,
                embedded: None,
                maps: HashMap::new(),
                catalog: catalog::providers().get(&guid),
            }
        })
    }

    /// Returns the PDB files with the formats of software tracing (WPP) messages that the recording names: each with its
    /// file name and its id on symbol servers.
    #[must_use]
    pub fn message_pdbs(&self) -> &[String] {
        &self.message_pdbs
    }

    /// Counts of schemas that could not be learned.
    #[must_use]
    pub fn losses(&self) -> SchemaLosses {
        self.losses
    }

    /// Returns the index of a provider that was observed or added. Indices are assigned from 0 in order of appearance.
    #[must_use]
    pub fn provider_index(&self, guid: Guid) -> Option<ProviderIndex> {
        self.providers.get(&guid).map(|entry| entry.index)
    }

    /// Returns the GUID of the provider with an index.
    #[must_use]
    pub fn provider_guid(&self, index: ProviderIndex) -> Option<Guid> {
        self.order.get(usize::try_from(index.0).ok()?).copied()
    }

    /// Returns the name of a provider, observed or not, or of a kernel class.
    #[must_use]
    pub fn provider_name(&self, guid: Guid) -> Option<&str> {
        let name = match self.providers.get(&guid) {
            Some(entry) => entry.name(),
            None => catalog::providers().get(&guid).map_or("", |provider| provider.name),
        };
        let classic = || self.classic_names.get(&guid).map(|name| &**name);
        Some(name).filter(|name| !name.is_empty()).or_else(classic)
    }

    /// Returns the provider group declared by a TraceLogging provider.
    #[must_use]
    pub fn provider_group(&self, guid: Guid) -> Option<Guid> {
        self.providers.get(&guid)?.group
    }

    /// Iterates over the names of an event's keywords, as far as the provider's schema defines them. The top 16 bits
    /// are channels and have no names.
    pub fn keyword_names<'s>(&'s self, record: &Record<'_>) -> impl Iterator<Item = &'s str> {
        let keyword = record.descriptor().map_or(0, |descriptor| descriptor.keyword);
        let guid = record.class_guid().unwrap_or_default();
        let entry = self.providers.get(&guid);
        let catalog = || {
            let provider = match entry {
                Some(entry) => entry.catalog?,
                None => catalog::providers().get(&guid)?,
            };
            Some(provider.schema())
        };
        let has_keywords = |schema: &&ProviderSchema| !schema.keywords.is_empty();
        entry
            .and_then(|entry| entry.user.as_deref())
            .filter(has_keywords)
            .or_else(|| entry.and_then(|entry| entry.embedded.as_deref()).filter(has_keywords))
            .or_else(catalog)
            .into_iter()
            .flat_map(|schema| &schema.keywords)
            .filter(move |(mask, _)| *mask != 0 && keyword & mask == *mask)
            .map(|(_, name)| &**name)
    }

    /// Returns the names of a record's event. Does not allocate, except for the first event of a catalog provider,
    /// which expands the catalog entry.
    #[must_use]
    pub fn describe<'r>(&'r self, record: &Record<'r>) -> Description<'r> {
        let guid = record.class_guid();
        let descriptor = record.descriptor();
        let mut description = Description {
            provider_guid: guid,
            provider: guid.and_then(|guid| self.provider_name(guid)).unwrap_or_default(),
            task: "",
            opcode: "",
            event: "",
            message: "",
            level: record.level(),
            keyword: descriptor.map_or(0, |descriptor| descriptor.keyword),
            source: SchemaSource::Unknown,
            exact_version: false,
        };
        let standard_opcode = descriptor.and_then(|d| standard::opcode_name(d.opcode)).unwrap_or_default();
        match self.find(record) {
            Match::Kernel(event) => {
                description.provider_guid = Some(event.class_guid);
                description.provider = &event.class;
                description.task = &event.class;
                description.opcode = &event.name;
                description.event = &event.name;
                description.source = SchemaSource::Kernel;
                description.exact_version =
                    event.version(record.version()).is_some_and(|version| version.version == record.version());
            }
            Match::Event(event, source, exact) => {
                description.task = &event.task_name;
                description.opcode = match &*event.opcode_name {
                    "" => standard_opcode,
                    name => name,
                };
                description.event = &event.name;
                description.message = &event.message;
                description.source = source;
                description.exact_version = exact;
            }
            Match::TraceLogging(metadata) => {
                if description.provider.is_empty() {
                    let item = record.extended_item(ExtendedItem::PROVIDER_TRAITS);
                    let traits = item.and_then(|item| ProviderTraits::read(item.data));
                    description.provider = traits.map_or("", |traits| traits.name);
                }
                description.event = metadata.name;
                description.task = metadata.name;
                description.opcode = standard_opcode;
                description.source = SchemaSource::TraceLogging;
                description.exact_version = true;
            }
            Match::Message(format) => {
                description.task = &format.name;
                description.event = &format.name;
                description.message = &format.text;
                description.level = format.level();
                description.source = SchemaSource::User;
                description.exact_version = true;
            }
            Match::UnknownMessage => description.source = SchemaSource::Wpp,
            Match::None => description.opcode = standard_opcode,
        }
        description
    }

    /// Decodes the payload of a record into `fields`, which is cleared first. Without a schema, the only field is
    /// `Payload`, with the raw bytes. Software tracing (WPP) messages have the fields `MessageNumber` and `Arguments`, and
    /// with a format also their text and its origin, named as by Windows (`FormattedString`, `FunctionName`, …).
    pub fn decode<'r>(&'r self, record: &Record<'r>, fields: &mut Fields<'r>) -> Decoded {
        fields.clear();
        let payload = record.payload();
        let pointer_size = record.pointer_size();
        let (source, exact_version, (status, consumed)) = match self.find(record) {
            Match::Kernel(event) => match event.version(record.version()) {
                Some(layout_version) => (
                    SchemaSource::Kernel,
                    layout_version.version == record.version(),
                    payload::decode(&layout_version.layout, payload, pointer_size, fields),
                ),
                None => (SchemaSource::Kernel, false, push_raw(payload, "Payload", fields)),
            },
            Match::Event(event, source, exact) => {
                (source, exact, payload::decode(&event.layout, payload, pointer_size, fields))
            }
            Match::TraceLogging(metadata) => {
                (SchemaSource::TraceLogging, true, metadata.decode(payload, pointer_size, fields))
            }
            Match::Message(format) => {
                fields.push("MessageNumber", Value::UInt(record.message_number().unwrap_or_default().into()));
                (SchemaSource::User, true, push_message(format, payload, pointer_size, fields))
            }
            Match::UnknownMessage => {
                fields.push("MessageNumber", Value::UInt(record.message_number().unwrap_or_default().into()));
                (SchemaSource::Wpp, false, push_raw(payload, "Arguments", fields))
            }
            Match::None => (SchemaSource::Unknown, false, push_raw(payload, "Payload", fields)),
        };
        Decoded { status, consumed, size: payload.len(), source, exact_version }
    }

    /// Returns the name of the field with the number of elements of the record's top-level array `name`, as its schema
    /// declares it. `None` for arrays of a fixed size, and for other fields.
    #[must_use]
    pub fn count_field<'r>(&'r self, record: &Record<'r>, name: &str) -> Option<&'r str> {
        let Match::Event(event, ..) = self.find(record) else { return None };
        let Layout { properties, top_level } = &*event.layout;
        let array = properties.iter().take(*top_level).find(|property| &*property.name == name)?;
        let Count::FromProperty(index) = array.count else { return None };
        properties.get(usize::from(index)).map(|property| &*property.name)
    }

    /// Returns the offsets of the numbers in payloads of this hook and version, for records with short kernel headers.
    /// Values read at these offsets equal the values that [`Schemas::decode`] returns. Returns `None` if the payload contains anything
    /// but numbers.
    #[must_use]
    pub fn fixed_layout(hook: u16, version: u16, pointer_size: usize) -> Option<FixedLayout<'static>> {
        FixedLayout::new(&catalog::kernel().by_hook(hook)?.version(version)?.layout, pointer_size)
    }

    fn find<'r>(&'r self, record: &Record<'r>) -> Match<'r> {
        match record.kind() {
            HeaderKind::System | HeaderKind::Compact | HeaderKind::Perfinfo => {
                record.hook().and_then(|hook| catalog::kernel().by_hook(hook)).map_or(Match::None, Match::Kernel)
            }
            HeaderKind::Full | HeaderKind::Instance => self.find_classic(record),
            HeaderKind::Event => self.find_event(record),
            HeaderKind::Message => record
                .class_guid()
                .and_then(|guid| self.messages.get(&(guid, record.message_number()?)))
                .map_or(Match::UnknownMessage, |format| Match::Message(format)),
            HeaderKind::Other(_) => Match::None,
        }
    }

    fn find_classic<'r>(&'r self, record: &Record<'r>) -> Match<'r> {
        let Some(class) = record.class_guid() else { return Match::None };
        let key = (class, record.opcode(), record.version());
        if let Some(event) = self.classic.get(&key) {
            return Match::Event(event, SchemaSource::Embedded, true);
        }
        let kernel = catalog::kernel().by_class(class, record.opcode());
        kernel.map_or(Match::None, Match::Kernel)
    }

    fn find_event<'r>(&'r self, record: &Record<'r>) -> Match<'r> {
        let item = record.extended_item(ExtendedItem::EVENT_SCHEMA_TRACELOGGING);
        if let Some(metadata) = item.and_then(|item| EventMetadata::read(item.data)) {
            return Match::TraceLogging(metadata);
        }
        let (Some(guid), Some(descriptor)) = (record.class_guid(), record.descriptor()) else { return Match::None };
        match self.event_schema(guid, &descriptor) {
            Some((event, source, exact)) => Match::Event(event, source, exact),
            None if descriptor.id == MANIFEST_EVENT && descriptor.opcode == MANIFEST_OPCODE => {
                Match::Event(event_source::manifest_event(), SchemaSource::Embedded, true)
            }
            None => Match::None,
        }
    }

    fn event_schema(&self, guid: Guid, descriptor: &EventDescriptor) -> Option<(&EventSchema, SchemaSource, bool)> {
        let (id, version) = (descriptor.id, descriptor.version);
        if let Some(entry) = self.providers.get(&guid) {
            return entry.event(id, version);
        }
        let schema = catalog::providers().get(&guid)?.schema();
        let exact = schema.find_exact(id, version);
        let event = exact.or_else(|| schema.find_nearest(id, version))?;
        Some((event, SchemaSource::Catalog, exact.is_some()))
    }
}

fn push_raw<'r>(payload: &'r [u8], name: &'r str, fields: &mut Fields<'r>) -> (Status, usize) {
    if !payload.is_empty() {
        fields.push(name, Value::Binary(payload));
    }
    (Status::NoSchema, 0)
}

/// Adds the text of a message, its origin, and its arguments.
fn push_message<'r>(
    format: &'r MessageFormat,
    payload: &'r [u8],
    pointer_size: usize,
    fields: &mut Fields<'r>,
) -> (Status, usize) {
    fields.push("FormattedString", Value::Message(Message { format, payload, pointer_size }));
    let origin = [("FunctionName", &format.function), ("LevelName", &format.level_name), ("FlagsName", &format.flags)];
    for (name, text) in origin {
        if !text.is_empty() {
            fields.push(name, Value::Ansi(Ansi::new(text.as_bytes())));
        }
    }
    let Some(arguments) = fields.push("Arguments", Value::Struct) else { return (Status::Excessive, 0) };
    let result = payload::decode(&format.layout, payload, pointer_size, fields);
    fields.adopt(arguments);
    result
}

fn empty_schema(guid: Guid) -> ProviderSchema {
    ProviderSchema { guid, ..ProviderSchema::default() }
}

/// Adds events and keywords to a layer. Existing entries take precedence.
fn merge(layer: &mut Option<Box<ProviderSchema>>, mut schema: ProviderSchema) {
    match layer {
        None => *layer = Some(Box::new(schema)),
        Some(existing) => {
            existing.events.append(&mut schema.events);
            existing.sort();
            existing.keywords.append(&mut schema.keywords);
            existing.keywords.sort();
            existing.keywords.dedup();
        }
    }
}

fn resolve_maps(event: &mut EventSchema, maps: &HashMap<Arc<str>, Arc<ValueMap>>) {
    let unresolved = |property: &crate::schema::Property| {
        property.map.is_none() && property.map_name.as_ref().is_some_and(|name| maps.contains_key(name))
    };
    if !event.layout.properties.iter().any(unresolved) {
        return;
    }
    for property in &mut Arc::make_mut(&mut event.layout).properties {
        if let Some(map) = property.map_name.as_ref().and_then(|name| maps.get(name)) {
            property.map = Some(Arc::clone(map));
        }
    }
}

/// Manifests of event sources declare a task named after each event, but often no opcode and no event name.
fn name_event_source_event(event: &mut EventSchema) {
    if event.name.is_empty() {
        event.name = Arc::clone(&event.task_name);
    }
}
