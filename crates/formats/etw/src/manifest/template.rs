//! Converts the templates of a manifest to payload layouts.

use std::sync::Arc;

use super::document::Node;
use super::{ManifestError, Maps, parse_number};
use crate::schema::{Count, InType, Layout, Length, OutType, Property};

/// Maximum number of properties in a template. Bounds the search for the property to which a length refers.
const MAX_PROPERTIES: usize = 4096;

/// The layout of a template. Members of structs follow the top-level properties.
pub(super) fn layout(template: Node<'_>, maps: &Maps<'_>) -> Result<Layout, ManifestError> {
    let top: Vec<_> = items(template).collect();
    let nested = top.iter().flat_map(|&item| items(item)).count();
    if top.len() + nested > MAX_PROPERTIES {
        let what = format!("more than {MAX_PROPERTIES} properties");
        return Err(template.fault(what));
    }
    let mut properties = Vec::with_capacity(top.len());
    let mut members = Vec::new();
    for &item in &top {
        if item.is("struct") {
            let first = top.len() + members.len();
            let mut own: Vec<Property> = Vec::new();
            for member in items(item) {
                if member.is("struct") {
                    return Err(member.fault("nested structs are not supported"));
                }
                let property = data(member, maps, |name| {
                    position(&own, name).map(|at| first + at).or_else(|| position(&properties, name))
                })?;
                own.push(property);
            }
            let mut property = Property::new(item.required("name")?, InType::Struct);
            property.members = (index(item, first)?, index(item, own.len())?);
            property.count = count(item, |name| position(&properties, name))?;
            properties.push(property);
            members.extend(own);
        } else {
            let property = data(item, maps, |name| position(&properties, name))?;
            properties.push(property);
        }
    }
    properties.extend(members);
    Ok(Layout { top_level: top.len(), properties })
}

fn items<'a>(parent: Node<'a>) -> impl Iterator<Item = Node<'a>> {
    // `UserData` describes the presentation, not the payload.
    parent.children().filter(|node| node.is("data") || node.is("struct"))
}

/// Index of the last earlier property with this name.
fn position(properties: &[Property], name: &str) -> Option<usize> {
    properties.iter().rposition(|property| &*property.name == name)
}

fn index(node: Node<'_>, value: usize) -> Result<u16, ManifestError> {
    u16::try_from(value).map_err(|_| node.fault("more than 65,535 properties"))
}

fn data(node: Node<'_>, maps: &Maps<'_>, find: impl Fn(&str) -> Option<usize>) -> Result<Property, ManifestError> {
    let name = node.required("name")?;
    let in_type = node.required("inType")?;
    let in_type = InType::from_manifest_name(in_type.strip_prefix("win:").unwrap_or(in_type))
        .ok_or_else(|| node.fault(format!("unknown inType {in_type:?}")))?;
    let mut property = Property::new(name, in_type);
    property.out_type = node.attribute("outType").map_or(OutType::Default, OutType::from_manifest_name);
    property.length = match extent(node, "length", &find)? {
        None => Length::Natural,
        Some(Extent::Number(length)) => Length::Fixed(length),
        Some(Extent::Property(at)) => Length::FromProperty(at),
    };
    property.count = count(node, &find)?;
    if let Some(map) = node.attribute("map") {
        property.map_name = Some(map.into());
        property.map = maps.get(map).map(Arc::clone);
    }
    Ok(property)
}

fn count(node: Node<'_>, find: impl Fn(&str) -> Option<usize>) -> Result<Count, ManifestError> {
    Ok(match extent(node, "count", &find)? {
        None => Count::One,
        Some(Extent::Number(count)) => Count::Fixed(count),
        Some(Extent::Property(at)) => Count::FromProperty(at),
    })
}

enum Extent {
    Number(u16),
    Property(u16),
}

/// A `length` or `count` attribute: a number, or the name of an earlier property.
fn extent(
    node: Node<'_>,
    attribute: &str,
    find: &impl Fn(&str) -> Option<usize>,
) -> Result<Option<Extent>, ManifestError> {
    let Some(text) = node.attribute(attribute) else { return Ok(None) };
    if let Some(number) = parse_number(text) {
        let number = u16::try_from(number).map_err(|_| node.fault(format!("{attribute} {number} is above 65,535")))?;
        return Ok(Some(Extent::Number(number)));
    }
    let at = find(text)
        .ok_or_else(|| node.fault(format!("{attribute} refers to {text:?}, but no earlier property has that name")))?;
    Ok(Some(Extent::Property(index(node, at)?)))
}
