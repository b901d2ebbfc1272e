//! Converts the templates of a manifest to payload layouts.

use std::sync::Arc;

use super::document::Node;
use super::{ManifestError, Maps, parse_number};
use crate::schema::{Count, InType, Layout, Length, OutType, Property};

/// Maximum number of properties in a template. Bounds the search for the property that a length refers to.
const MAX_PROPERTIES: usize = 4096;

/// Converts a template to a layout. Members of structs follow the top-level properties.
pub(super) fn layout(template: Node<'_>, maps: &Maps<'_>) -> Result<Layout, ManifestError> {
    let top_level: Vec<_> = items(template).collect();
    let nested = top_level.iter().flat_map(|&item| items(item)).count();
    if top_level.len() + nested > MAX_PROPERTIES {
        let message = format!("more than {MAX_PROPERTIES} properties");
        return Err(template.error(message));
    }
    let mut properties = Vec::with_capacity(top_level.len());
    let mut members = Vec::new();
    for &item in &top_level {
        if item.is_named("struct") {
            let first_member = top_level.len() + members.len();
            let mut struct_members: Vec<Property> = Vec::new();
            for member in items(item) {
                if member.is_named("struct") {
                    return Err(member.error("nested structs are not supported"));
                }
                let property = read_data(member, maps, |name| {
                    find_property(&struct_members, name)
                        .map(|index| first_member + index)
                        .or_else(|| find_property(&properties, name))
                })?;
                struct_members.push(property);
            }
            let mut property = Property::new(item.required_attribute("name")?, InType::Struct);
            property.members = (checked_index(item, first_member)?, checked_index(item, struct_members.len())?);
            property.count = read_count(item, |name| find_property(&properties, name))?;
            properties.push(property);
            members.extend(struct_members);
        } else {
            let property = read_data(item, maps, |name| find_property(&properties, name))?;
            properties.push(property);
        }
    }
    properties.extend(members);
    Ok(Layout { top_level: top_level.len(), properties })
}

fn items<'a>(parent: Node<'a>) -> impl Iterator<Item = Node<'a>> {
    // `UserData` describes the presentation, not the payload.
    parent.children().filter(|node| node.is_named("data") || node.is_named("struct"))
}

/// Returns the index of the last earlier property with this name.
fn find_property(properties: &[Property], name: &str) -> Option<usize> {
    properties.iter().rposition(|property| &*property.name == name)
}

fn checked_index(node: Node<'_>, value: usize) -> Result<u16, ManifestError> {
    u16::try_from(value).map_err(|_| node.error("more than 65,535 properties"))
}

fn read_data(
    node: Node<'_>,
    maps: &Maps<'_>,
    find_index: impl Fn(&str) -> Option<usize>,
) -> Result<Property, ManifestError> {
    let name = node.required_attribute("name")?;
    let in_type = node.required_attribute("inType")?;
    let in_type = InType::from_manifest_name(in_type.strip_prefix("win:").unwrap_or(in_type))
        .ok_or_else(|| node.error(format!("unknown inType {in_type:?}")))?;
    let mut property = Property::new(name, in_type);
    property.out_type = node.attribute("outType").map_or(OutType::Default, OutType::from_manifest_name);
    property.length = match read_extent(node, "length", &find_index)? {
        None => Length::Natural,
        Some(Extent::Number(length)) => Length::Fixed(length),
        Some(Extent::Property(index)) => Length::FromProperty(index),
    };
    property.count = read_count(node, &find_index)?;
    if let Some(map) = node.attribute("map") {
        property.map_name = Some(map.into());
        property.map = maps.get(map).map(Arc::clone);
    }
    Ok(property)
}

fn read_count(node: Node<'_>, find_index: impl Fn(&str) -> Option<usize>) -> Result<Count, ManifestError> {
    Ok(match read_extent(node, "count", &find_index)? {
        None => Count::One,
        Some(Extent::Number(count)) => Count::Fixed(count),
        Some(Extent::Property(index)) => Count::FromProperty(index),
    })
}

enum Extent {
    Number(u16),
    Property(u16),
}

/// Reads a `length` or `count` attribute: a number, or the name of an earlier property.
fn read_extent(
    node: Node<'_>,
    attribute: &str,
    find_index: &impl Fn(&str) -> Option<usize>,
) -> Result<Option<Extent>, ManifestError> {
    let Some(text) = node.attribute(attribute) else { return Ok(None) };
    if let Some(number) = parse_number(text) {
        let number = u16::try_from(number).map_err(|_| node.error(format!("{attribute} {number} is above 65,535")))?;
        return Ok(Some(Extent::Number(number)));
    }
    let index = find_index(text)
        .ok_or_else(|| node.error(format!("{attribute} refers to {text:?}, but no earlier property has that name")))?;
    Ok(Some(Extent::Property(checked_index(node, index)?)))
}
