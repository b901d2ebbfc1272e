//! Schemas out of a provider's own DLL or EXE: its `WEVT_TEMPLATE` resource, a compiled manifest.
//!
//! The resource has names of tasks, opcodes and keywords but no symbols; messages are in another resource
//! and left out. The fields of a property descriptor are those of `EVENT_PROPERTY_INFO` (flags, types, map,
//! count, length, name). Verified with no real DLL: none was at hand.

use std::sync::Arc;

use evtx::wevt_templates::extract_wevt_template_resources;
use evtx::wevt_templates::manifest::{
    CrimManifest, EventDefinition, Provider, TemplateDefinition, TemplateItem,
};
use onoff_etl::Guid;

use crate::schema::{
    Count, EventSchema, InType, Layout, Length, OutType, Property, ProviderSchema,
};
use crate::standard;

/// Why a provider's binary was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ProviderBinaryError {
    /// It is no PE file, or a damaged one.
    #[error("not a valid PE file: {0}")]
    Pe(String),
    /// It holds no compiled manifest.
    #[error("no WEVT_TEMPLATE resource: the file describes no provider")]
    NoTemplates,
    /// The compiled manifest is damaged.
    #[error("the WEVT_TEMPLATE resource is malformed: {0}")]
    Manifest(String),
}

/// Reads all providers of a PE file.
pub(crate) fn read(pe: &[u8]) -> Result<Vec<ProviderSchema>, ProviderBinaryError> {
    let resources = extract_wevt_template_resources(pe)
        .map_err(|error| ProviderBinaryError::Pe(error.to_string()))?;
    let mut providers = Vec::new();
    for resource in &resources {
        providers.extend(read_compiled(&resource.data)?);
    }
    if providers.is_empty() {
        Err(ProviderBinaryError::NoTemplates)
    } else {
        Ok(providers)
    }
}

/// Reads a compiled manifest, as the resource holds it.
pub(crate) fn read_compiled(resource: &[u8]) -> Result<Vec<ProviderSchema>, ProviderBinaryError> {
    let manifest = CrimManifest::parse(resource)
        .map_err(|error| ProviderBinaryError::Manifest(error.to_string()))?;
    Ok(manifest.providers.iter().map(provider).collect())
}

fn provider(provider: &Provider<'_>) -> ProviderSchema {
    let elements = &provider.wevt.elements;
    let mut schema = ProviderSchema {
        guid: Guid::parse_str(&provider.guid.to_string()).unwrap_or_default(),
        ..ProviderSchema::default()
    };
    if let Some(keywords) = &elements.keywords {
        schema.keywords = keywords
            .keywords
            .iter()
            .map(|keyword| (keyword.identifier, text(keyword.name.as_deref())))
            .collect();
        schema.keywords.sort();
    }
    let events = elements.events.iter().flat_map(|events| &events.events);
    schema.events = events
        .map(|definition| event(provider, definition))
        .collect();
    schema.sort();
    schema
}

fn event(provider: &Provider<'_>, event: &EventDefinition) -> EventSchema {
    let elements = &provider.wevt.elements;
    let task_name = elements
        .tasks
        .iter()
        .flat_map(|tasks| &tasks.tasks)
        .find(|task| task.identifier == u32::from(event.task))
        .and_then(|task| task.name.as_deref());
    // The high half of the number is the opcode; the low half is its task where it belongs to one.
    let opcode_name = elements
        .opcodes
        .iter()
        .flat_map(|opcodes| &opcodes.opcodes)
        .find(|opcode| {
            let task = opcode.identifier & 0xffff;
            opcode.identifier >> 16 == u32::from(event.opcode)
                && (task == 0 || task == u32::from(event.task))
        })
        .and_then(|opcode| opcode.name.as_deref())
        .or_else(|| standard::opcode_name(event.opcode));
    let template = event
        .template_offset
        .and_then(|offset| provider.template_by_offset(offset));
    EventSchema {
        id: event.identifier,
        version: event.version,
        level: event.level,
        opcode: Some(event.opcode),
        task: Some(event.task),
        keyword: event.keywords,
        name: Arc::default(),
        task_name: text(task_name),
        opcode_name: text(opcode_name),
        message: Arc::default(),
        layout: template
            .map(|template| Arc::new(layout(template)))
            .unwrap_or_default(),
    }
}

fn layout(template: &TemplateDefinition<'_>) -> Layout {
    let count = template.items.len();
    let properties: Vec<_> = template
        .items
        .iter()
        .map(|item| property(item, count))
        .collect();
    // Members of structs follow the top-level properties, beginning where the first struct says.
    let top_level = properties
        .iter()
        .filter(|property| property.in_type == InType::Struct && property.members.1 > 0)
        .map(|property| usize::from(property.members.0))
        .min()
        .unwrap_or(count);
    Layout {
        properties,
        top_level: top_level.min(count),
    }
}

fn property(item: &TemplateItem, count: usize) -> Property {
    const STRUCT: u32 = 0x01;
    const LENGTH_OF: u32 = 0x02;
    const COUNT_OF: u32 = 0x04;
    const COUNT_FIXED: u32 = 0x20;
    let flags = item.unknown1;
    let mut property = Property::new(text(item.name.as_deref()), InType::Struct);
    property.count = match item.count {
        index if flags & COUNT_OF != 0 => Count::Of(index),
        count if flags & COUNT_FIXED != 0 || count > 1 => Count::Fixed(count),
        _ => Count::One,
    };
    if flags & STRUCT != 0 {
        let first = u16::from_le_bytes([item.input_type, item.output_type]);
        if usize::from(first) + usize::from(item.unknown3) <= count {
            property.members = (first, item.unknown3);
        }
        return property;
    }
    property.in_type = InType::from_number(item.input_type.into()).unwrap_or(InType::Opaque);
    property.out_type = OutType::from_number(item.output_type.into());
    let takes_length = matches!(
        property.in_type,
        InType::UnicodeString | InType::AnsiString | InType::Binary
    );
    property.length = match item.length {
        index if flags & LENGTH_OF != 0 => Length::Of(index),
        length if takes_length && length > 0 => Length::Fixed(length),
        _ => Length::Natural,
    };
    property
}

fn text(text: Option<&str>) -> Arc<str> {
    text.unwrap_or_default().into()
}
