//! Converts the JSON files of the reference to catalog bytes. The format is described in `src/catalog`.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context as _, Result, bail};
use onoff_etl::Guid;
use onoff_etw::schema::{Count, InType, Length, OutType, Property};
use serde_json::Value;

/// A catalog file before compression, so that catalogs can be compared independently of the compression.
#[derive(Debug, PartialEq, Eq)]
pub struct Catalog {
    /// GUID and name of each block; empty for the single block of the kernel catalog.
    pub directory: Vec<(Guid, String)>,
    pub blocks: Vec<Vec<u8>>,
}

impl Catalog {
    /// Encodes the catalog as a file.
    #[allow(dead_code, reason = "used only by the generator program")]
    pub fn encode(&self) -> Result<Vec<u8>> {
        let deflated: Vec<Vec<u8>> =
            self.blocks.iter().map(|block| miniz_oxide::deflate::compress_to_vec(block, 10)).collect();
        let mut file = Encoder::default();
        if let ([], [block]) = (&self.directory[..], &deflated[..]) {
            return Ok(block.clone());
        }
        file.number(self.directory.len() as u64);
        for ((guid, name), block) in self.directory.iter().zip(&deflated) {
            file.bytes.extend(guid.to_bytes_le());
            file.text(name);
            file.number(block.len() as u64);
        }
        file.bytes.extend(deflated.concat());
        Ok(file.bytes)
    }

    /// Decodes a file, for comparison.
    #[allow(dead_code, reason = "used only by the test of the embedded files")]
    pub fn decode(mut file: &[u8]) -> Result<Self> {
        let inflate = |block: &[u8]| {
            miniz_oxide::inflate::decompress_to_vec(block).map_err(|error| anyhow::anyhow!("damaged block: {error}"))
        };
        if let Ok(block) = inflate(file) {
            return Ok(Self { directory: Vec::new(), blocks: vec![block] });
        }
        let mut catalog = Self { directory: Vec::new(), blocks: Vec::new() };
        let mut sizes = Vec::new();
        for _ in 0..number(&mut file)? {
            let guid = Guid::from_bytes_le(take(&mut file, 16)?.try_into()?);
            let size = number(&mut file)?;
            let name = String::from_utf8(take(&mut file, size)?.to_vec())?;
            catalog.directory.push((guid, name));
            sizes.push(number(&mut file)?);
        }
        for size in sizes {
            catalog.blocks.push(inflate(take(&mut file, size)?)?);
        }
        Ok(catalog)
    }
}

fn take<'f>(file: &mut &'f [u8], size: usize) -> Result<&'f [u8]> {
    let (bytes, remaining) = file.split_at_checked(size).context("truncated file")?;
    *file = remaining;
    Ok(bytes)
}

fn number(file: &mut &[u8]) -> Result<usize> {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = take(file, 1)?[0];
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok(value)
}

#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }
}

/// Texts, maps and layouts, each stored once.
#[derive(Default)]
struct SharedItems {
    texts: Vec<String>,
    text_index: HashMap<String, usize>,
    maps: Encoder,
    map_index: HashMap<String, usize>,
    layouts: Vec<Vec<u8>>,
    layout_index: HashMap<Vec<u8>, usize>,
}

impl SharedItems {
    fn text(&mut self, text: &str) -> u64 {
        if let Some(&index) = self.text_index.get(text) {
            return index as u64;
        }
        let index = self.texts.len();
        self.texts.push(text.to_owned());
        self.text_index.insert(text.to_owned(), index);
        index as u64
    }

    fn map(&mut self, name: &str, map: &Value) -> Result<()> {
        let index = self.text(name);
        self.maps.number(index);
        self.maps.number(u64::from(map["kind"] == "bitMap"));
        let mut entries = map["values"]
            .as_object()
            .context("map without values")?
            .iter()
            .map(|(key, name)| Ok((parse_number(key)?, name.as_str().context("map name")?)))
            .collect::<Result<Vec<_>>>()?;
        entries.sort();
        self.maps.number(entries.len() as u64);
        for (key, name) in entries {
            let index = self.text(name);
            self.maps.number(key);
            self.maps.number(index);
        }
        self.map_index.insert(name.to_owned(), self.map_index.len());
        Ok(())
    }

    /// Adds a layout; members of structs follow the top-level properties.
    fn layout(&mut self, top_level: usize, properties: &[Property]) -> u64 {
        let mut out = Encoder::default();
        out.number(properties.len() as u64);
        out.number(top_level as u64);
        for property in properties {
            let name = self.text(&property.name);
            out.number(name);
            out.number(property.in_type as u64);
            self.property(&mut out, property);
        }
        if let Some(&index) = self.layout_index.get(&out.bytes) {
            return index as u64;
        }
        let index = self.layouts.len();
        self.layouts.push(out.bytes.clone());
        self.layout_index.insert(out.bytes, index);
        index as u64
    }

    fn property(&self, out: &mut Encoder, property: &Property) {
        let (length, length_value) = match property.length {
            Length::Natural => (0, None),
            Length::Fixed(length) => (1, Some(length)),
            Length::FromProperty(index) => (2, Some(index)),
            Length::FromPropertyPlusOne(index) => (3, Some(index)),
        };
        let (count, count_value) = match property.count {
            Count::One => (0, None),
            Count::Fixed(count) => (1, Some(count)),
            Count::FromProperty(index) => (2, Some(index)),
            Count::ToEnd => (3, None),
        };
        let map = property.map_name.as_deref().and_then(|name| self.map_index.get(name));
        let flags = u64::from(property.out_type != OutType::Default)
            | length << 1
            | count << 3
            | u64::from(property.padding != [0; 2]) << 5
            | u64::from(property.is_optional) << 6
            | u64::from(map.is_some()) << 7
            | u64::from(property.in_type == InType::Struct) << 8;
        out.number(flags);
        if property.out_type != OutType::Default {
            out.number(property.out_type as u64);
        }
        for value in [length_value, count_value].into_iter().flatten() {
            out.number(value.into());
        }
        if property.padding != [0; 2] {
            property.padding.iter().for_each(|&padding| out.number(padding.into()));
        }
        if let Some(&map) = map {
            out.number(map as u64);
        }
        if property.in_type == InType::Struct {
            out.number(property.members.0.into());
            out.number(property.members.1.into());
        }
    }

    /// Encodes the shared items of a block, followed by the entries that refer to them.
    fn finish(self, entries: Encoder) -> Vec<u8> {
        let mut out = Encoder::default();
        out.number(self.texts.len() as u64);
        self.texts.iter().for_each(|text| out.text(text));
        out.number(self.map_index.len() as u64);
        out.bytes.extend(self.maps.bytes);
        out.number(self.layouts.len() as u64);
        out.bytes.extend(self.layouts.concat());
        out.bytes.extend(entries.bytes);
        out.bytes
    }
}

/// Providers that are not in the reference, and names of additional providers, generated by `tools/provider_facts.py`.
const FURTHER_PROVIDERS: &str = include_str!("further_providers.json");

/// Out-types, lengths, widths and padding that the manifests of both sources leave out, by provider.
const FIELD_FACTS: &str = include_str!("field_facts.json");

/// Converts the manifest providers from `providers.json` and [`FURTHER_PROVIDERS`]. Some have only a name.
pub fn providers(json: &str) -> Result<Catalog> {
    let reference: Value = serde_json::from_str(json)?;
    let further: Value = serde_json::from_str(FURTHER_PROVIDERS)?;
    let facts: Value = serde_json::from_str(FIELD_FACTS)?;
    let mut by_guid: BTreeMap<&str, &Value> = BTreeMap::new();
    for provider in
        list(&reference["providers"])?.iter().chain(list(&further["providers"])?).chain(list(&further["names"])?)
    {
        by_guid.entry(text(&provider["guid"])?).or_insert(provider);
    }
    let mut catalog = Catalog { directory: Vec::new(), blocks: Vec::new() };
    for provider in by_guid.into_values() {
        let name = text(&provider["name"])?;
        catalog.directory.push((Guid::parse_str(text(&provider["guid"])?)?, name.to_owned()));
        let mut provider = provider.clone();
        if let Some(facts) = facts[name].as_array() {
            add_facts(&mut provider, facts);
        }
        catalog.blocks.push(self::provider(&provider).with_context(|| name.to_owned())?);
    }
    Ok(catalog)
}

/// Adds `facts` to the matching fields.
fn add_facts(provider: &mut Value, facts: &[Value]) {
    for list in ["layouts", "events"] {
        for fields in provider[list].as_array_mut().into_iter().flatten() {
            let fields = if list == "events" { &mut fields["fields"] } else { fields };
            if let Some(fields) = fields.as_array_mut() {
                add_field_facts(fields, &Value::Null, facts);
            }
        }
    }
}

/// Adds `facts` to the matching fields of an event, or of `structure` in an event.
fn add_field_facts(fields: &mut [Value], structure: &Value, facts: &[Value]) {
    for index in 0..fields.len() {
        let (earlier_fields, later_fields) = fields.split_at_mut(index);
        let field = &mut later_fields[0];
        let matching = facts.iter().filter(|fact| {
            ["name", "inType"].iter().all(|&part| fact[part] == field[part])
                && fact["memberOf"] == *structure
                && (fact["counted"].is_null() || fact["counted"] == field["length"])
        });
        for fact in matching.cloned().collect::<Vec<_>>() {
            for part in ["length", "outType", "padding"] {
                // A field of the same name in another event may have another length, and thus another meaning.
                let is_applicable = match fact[part].as_str() {
                    Some(text) if part == "length" => {
                        text.parse::<u16>().is_ok() || find_earlier(earlier_fields, text).is_some()
                    }
                    Some(_) => true,
                    None => fact[part].is_array(),
                };
                if is_applicable && field[part].is_null() {
                    field[part] = fact[part].clone();
                }
            }
            if fact["isType"].is_string() {
                field["inType"] = fact["isType"].clone();
            }
        }
        let name = field["name"].clone();
        if let Some(members) = field["members"].as_array_mut() {
            add_field_facts(members, &name, facts);
        }
    }
}

fn provider(provider: &Value) -> Result<Vec<u8>> {
    let mut shared = SharedItems::default();
    let empty = serde_json::Map::new();
    for (name, map) in provider["maps"].as_object().unwrap_or(&empty) {
        shared.map(name, map)?;
    }
    let mut out = Encoder::default();
    let mut keywords = provider["keywords"]
        .as_object()
        .unwrap_or(&empty)
        .iter()
        .map(|(name, mask)| Ok((parse_number(text(mask)?)?, name.as_str())))
        .collect::<Result<Vec<_>>>()?;
    keywords.sort();
    out.number(keywords.len() as u64);
    for (mask, name) in keywords {
        let name = shared.text(name);
        out.number(mask);
        out.number(name);
    }
    let events = provider["events"].as_array().map_or(&[][..], Vec::as_slice);
    out.number(events.len() as u64);
    for event in events {
        let number = |name: &str| event[name].as_u64().with_context(|| name.to_owned());
        out.number(number("id")?);
        out.number(number("version")?);
        out.number(number("level")?);
        // Stored plus 1; 0 if only the name is known.
        out.number(event["opcode"].as_u64().map_or(0, |opcode| opcode + 1));
        out.number(event["task"].as_u64().map_or(0, |task| task + 1));
        out.number(parse_number(text(&event["keywords"])?)?);
        for name in ["symbol", "taskName", "opcodeName"] {
            let name_index = shared.text(event[name].as_str().unwrap_or_default());
            out.number(name_index);
        }
        let fields = match event["layout"].as_u64() {
            Some(layout) => &provider["layouts"][usize::try_from(layout)?],
            None => &event["fields"],
        };
        let (top_level, properties) = manifest_properties(list(fields)?, event["numericPartial"] == true)?;
        let layout = shared.layout(top_level, &properties);
        out.number(layout);
    }
    Ok(shared.finish(out))
}

/// Returns the number of top-level fields, and all properties. Members of structs follow the top-level properties.
fn manifest_properties(fields: &[Value], has_only_names: bool) -> Result<(usize, Vec<Property>)> {
    let first_unknown = first_unknown_struct(fields)?;
    let mut properties: Vec<Property> = Vec::with_capacity(fields.len());
    let mut structs: Vec<(usize, &[Value])> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let name = text(&field["name"])?;
        if index == first_unknown {
            properties.push(Property::new(name, InType::Opaque));
            break;
        }
        let mut property = manifest_property(&fields[..index], field, has_only_names)?;
        if let Some(members) = field["members"].as_array() {
            property.in_type = InType::Struct;
            structs.push((index, members));
        }
        // Without its size, the fields after it cannot be found.
        let size_unknown = property.in_type == InType::Binary && property.length == Length::Natural;
        if size_unknown && index + 1 < fields.len() {
            property.in_type = InType::Opaque;
            properties.push(property);
            break;
        }
        properties.push(property);
    }
    let top_level = properties.len();
    for (index, members) in structs.into_iter().filter(|(index, _)| *index < top_level) {
        let first_member = u16::try_from(properties.len())?;
        for (position, member) in members.iter().enumerate() {
            let mut property = manifest_property(&members[..position], member, false)?;
            // Members refer to other members.
            if let Length::FromProperty(index) = &mut property.length {
                *index += first_member;
            }
            if let Count::FromProperty(index) = &mut property.count {
                *index += first_member;
            }
            properties.push(property);
        }
        properties[index].members = (first_member, u16::try_from(members.len())?);
    }
    Ok((top_level, properties))
}

/// Converts a field without its members. Lengths and counts refer to indexes in `earlier_fields`.
fn manifest_property(earlier_fields: &[Value], field: &Value, has_only_names: bool) -> Result<Property> {
    let name = text(&field["name"])?;
    let type_name = text(&field["inType"])?;
    let in_type = match field["members"].as_array() {
        Some(_) => InType::Struct,
        None => InType::from_manifest_name(type_name).with_context(|| format!("unknown type {type_name}"))?,
    };
    let mut property = Property::new(name, in_type);
    property.map_name = field["map"].as_str().map(Into::into);
    property.out_type = field["outType"].as_str().map_or(OutType::Default, OutType::from_manifest_name);
    if let Some(count) = field["count"].as_str() {
        property.count = match count.parse() {
            Ok(number) => Count::Fixed(number),
            Err(_) => Count::FromProperty(find_earlier(earlier_fields, count).context("count")?),
        };
    }
    property.length = match field["length"].as_str() {
        Some(length) => match length.parse() {
            Ok(number) => Length::Fixed(number),
            Err(_) => Length::FromProperty(find_earlier(earlier_fields, length).context("length")?),
        },
        None => implied_length(earlier_fields, name, in_type, has_only_names),
    };
    for (padding, bytes) in property.padding.iter_mut().zip(field["padding"].as_array().into_iter().flatten()) {
        *padding = bytes.as_u64().context("padding")?.try_into()?;
    }
    Ok(property)
}

/// Returns the index of the first struct whose members are not in the reference. The reference was read from manifests
/// in which the type of a struct is the index of its first member, usually a number above all types. The members of the
/// first struct follow the last top-level field, so its type is the number of fields, which may look like another type.
fn first_unknown_struct(fields: &[Value]) -> Result<usize> {
    let numbers: Vec<Option<u64>> = fields
        .iter()
        .map(|field| {
            let name = text(&field["inType"])?;
            if field["members"].is_array() {
                return Ok(None);
            }
            if name == "Struct" {
                return Ok(Some(24));
            }
            if let Some(in_type) = InType::from_manifest_name(name) {
                return Ok(Some(in_type as u64));
            }
            let digits = name.trim_start_matches("type#");
            digits.parse().map(Some).with_context(|| format!("unknown type {name}"))
        })
        .collect::<Result<_>>()?;
    let exceeds_types = |number: &Option<u64>| number.is_some_and(|number| number >= 24);
    if !numbers.iter().any(exceeds_types) {
        return Ok(fields.len());
    }
    let first = numbers.iter().position(|&number| number == Some(fields.len() as u64));
    let above_types = numbers.iter().position(exceeds_types);
    Ok(first.into_iter().chain(above_types).min().unwrap_or(fields.len()))
}

/// If the reference has only names and types, the length of `X` is given by an earlier `XLength` or `XSize`.
fn implied_length(earlier_fields: &[Value], name: &str, in_type: InType, has_only_names: bool) -> Length {
    let has_length_field = match in_type {
        InType::Binary => true,
        InType::UnicodeString => has_only_names,
        _ => false,
    };
    if !has_length_field {
        return Length::Natural;
    }
    let suffixes: &[&str] = if in_type == InType::Binary { &["Length", "Size"] } else { &["Length"] };
    suffixes
        .iter()
        .find_map(|suffix| find_earlier(earlier_fields, &format!("{name}{suffix}")))
        .map_or(Length::Natural, Length::FromProperty)
}

/// Finds the last field with this name. Some manifests write it with spaces or in another case.
fn find_earlier(fields: &[Value], name: &str) -> Option<u16> {
    let normalize =
        |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let normalized_name = normalize(name);
    let index =
        fields.iter().rposition(|field| field["name"].as_str().map(normalize) == Some(normalized_name.clone()))?;
    u16::try_from(index).ok()
}

/// Converts the kernel events from `kernel-mof.json`.
pub fn kernel(json: &str) -> Result<Catalog> {
    let reference: Value = serde_json::from_str(json)?;
    let mut shared = SharedItems::default();
    let mut out = Encoder::default();
    let groups = list(&reference["groups"])?;
    out.number(groups.len() as u64);
    for (index, group) in groups.iter().enumerate() {
        if parse_number(text(&group["group"])?)? != index as u64 {
            bail!("groups are out of order");
        }
        out.bytes.extend(Guid::parse_str(text(&group["guid"])?)?.to_bytes_le());
        let name = shared.text(text(&group["name"])?);
        out.number(name);
    }
    let events = list(&reference["events"])?;
    out.number(events.len() as u64);
    for event in events {
        out.number(parse_number(text(&event["hook"])?)?);
        for name in ["name", "class"] {
            let index = shared.text(text(&event[name])?);
            out.number(index);
        }
        out.bytes.extend(Guid::parse_str(text(&event["provider_guid"])?)?.to_bytes_le());
        let versions: BTreeMap<u64, &Value> = list(&event["versions"])?
            .iter()
            .map(|version| Ok((version["version"].as_u64().context("version")?, version)))
            .collect::<Result<_>>()?;
        out.number(versions.len() as u64);
        for (number, version) in versions {
            let layout = kernel_layout(&mut shared, &version["fields"])
                .with_context(|| format!("{} version {number}", event["hook"]))?;
            out.number(number);
            out.number(layout);
        }
    }
    let merged = list(&reference["full_header_events"])?;
    out.number(merged.len() as u64);
    for event in merged {
        out.bytes.extend(Guid::parse_str(text(&event["provider_guid"])?)?.to_bytes_le());
        out.number(event["opcode"].as_u64().context("opcode")?);
        out.number(event["version"].as_u64().context("version")?);
        for name in ["class", "name"] {
            let index = shared.text(text(&event[name])?);
            out.number(index);
        }
        let layout = kernel_layout(&mut shared, &event["fields"]).with_context(|| format!("{}", event["name"]))?;
        out.number(layout);
    }
    Ok(Catalog { directory: Vec::new(), blocks: vec![shared.finish(out)] })
}

fn kernel_layout(shared: &mut SharedItems, fields: &Value) -> Result<u64> {
    let fields = list(fields)?;
    let mut properties = kernel_properties(fields, 0)?;
    for (index, field) in fields.iter().enumerate() {
        let Some(members) = field.get("members") else {
            continue;
        };
        let members = kernel_properties(list(members)?, 0)?;
        properties[index].members = (properties.len() as u16, members.len() as u16);
        properties.extend(members);
    }
    Ok(shared.layout(fields.len(), &properties))
}

fn kernel_properties(fields: &[Value], start: u64) -> Result<Vec<Property>> {
    let mut ends = [Some(start); 2];
    let mut properties: Vec<Property> = Vec::with_capacity(fields.len());
    for field in fields {
        let name = text(&field["name"])?;
        let type_name = text(&field["type"])?;
        let mut property =
            kernel_property(name, type_name, &properties).with_context(|| format!("{name}: {type_name}"))?;
        for (width_index, offset) in ["off32", "off64"].into_iter().enumerate() {
            if let (Some(end), Some(offset)) = (ends[width_index], field[offset].as_u64()) {
                property.padding[width_index] = offset.checked_sub(end).context("overlapping fields")?.try_into()?;
                ends[width_index] = Some(offset);
            }
            let size = kernel_size(&property, if width_index == 0 { 4 } else { 8 });
            ends[width_index] = ends[width_index].zip(size).map(|(end, size)| end + size);
        }
        properties.push(property);
    }
    Ok(properties)
}

fn kernel_property(name: &str, type_name: &str, earlier_properties: &[Property]) -> Result<Property> {
    let index = |name: &str| -> Result<u16> {
        let index = earlier_properties.iter().position(|property| &*property.name == name);
        Ok(index.with_context(|| format!("no field {name}"))?.try_into()?)
    };
    let Some((element, count)) = type_name.strip_suffix(']').and_then(|element_type| element_type.split_once('['))
    else {
        return kernel_scalar(name, type_name);
    };
    let number: Option<u16> = count.parse().ok();
    if element == "wchar" {
        let mut property = Property::new(name, InType::UnicodeArray);
        property.length = match (number, count.strip_suffix("+1")) {
            (Some(units), _) => Length::Fixed(units),
            (None, Some(field)) => Length::FromPropertyPlusOne(index(field)?),
            (None, None) => Length::FromProperty(index(count)?),
        };
        return Ok(property);
    }
    let mut property = kernel_scalar(name, element)?;
    property.count = match number {
        Some(count) => Count::Fixed(count),
        None => Count::FromProperty(index(count)?),
    };
    // Byte arrays without an interpretation are binary values.
    if let (InType::UInt8, Count::Fixed(size)) = (property.in_type, property.count) {
        property.in_type = InType::Binary;
        property.length = Length::Fixed(size);
        property.count = Count::One;
    }
    Ok(property)
}

fn kernel_scalar(name: &str, type_name: &str) -> Result<Property> {
    let (in_type, out_type) = match type_name {
        "u8" => (InType::UInt8, OutType::Default),
        "i8" => (InType::Int8, OutType::Default),
        "u16" => (InType::UInt16, OutType::Default),
        "i16" => (InType::Int16, OutType::Default),
        "u32" => (InType::UInt32, OutType::Default),
        "i32" => (InType::Int32, OutType::Default),
        "x32" => (InType::HexInt32, OutType::Default),
        "u64" => (InType::UInt64, OutType::Default),
        "i64" => (InType::Int64, OutType::Default),
        "x64" => (InType::HexInt64, OutType::Default),
        "ptr" | "ptr*" => (InType::Pointer, OutType::Default),
        "size" => (InType::SizeT, OutType::Default),
        "qpc" => (InType::UInt64, OutType::EtwTime),
        "filetime" => (InType::FileTime, OutType::Default),
        "guid" => (InType::Guid, OutType::Default),
        "astr" => (InType::AnsiString, OutType::Default),
        "wstr" | "wstr?" => (InType::UnicodeString, OutType::Default),
        "sid" => (InType::WbemSid, OutType::Default),
        "be16" => (InType::UInt16, OutType::Port),
        "ipv4" => (InType::UInt32, OutType::Ipv4),
        "ipv6" => (InType::Binary, OutType::Ipv6),
        "bytes" => (InType::Binary, OutType::Default),
        "struct" => (InType::Struct, OutType::Default),
        "struct16" => (InType::Binary, OutType::Default),
        type_name => bail!("unknown type {type_name}"),
    };
    let mut property = Property::new(name, in_type);
    property.out_type = out_type;
    match type_name {
        "ptr*" => property.count = Count::ToEnd,
        "wstr?" => property.is_optional = true,
        "ipv6" | "struct16" => property.length = Length::Fixed(16),
        _ => {}
    }
    Ok(property)
}

/// Returns the size in bytes, if it is constant.
fn kernel_size(property: &Property, pointer: u64) -> Option<u64> {
    let element = match property.in_type {
        InType::UInt8 | InType::Int8 => 1,
        InType::UInt16 | InType::Int16 => 2,
        InType::UInt32 | InType::Int32 | InType::HexInt32 => 4,
        InType::UInt64 | InType::Int64 | InType::HexInt64 | InType::FileTime => 8,
        InType::Guid => 16,
        InType::Pointer | InType::SizeT => pointer,
        InType::UnicodeArray | InType::Binary => match property.length {
            Length::Fixed(length) if property.in_type == InType::Binary => length.into(),
            Length::Fixed(units) => u64::from(units) * 2,
            _ => return None,
        },
        _ => return None,
    };
    match property.count {
        Count::One => Some(element),
        Count::Fixed(count) => Some(element * u64::from(count)),
        Count::FromProperty(_) | Count::ToEnd => None,
    }
}

fn parse_number(text: &str) -> Result<u64> {
    Ok(match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16)?,
        None => text.parse()?,
    })
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().context("not a list")
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().context("not a text")
}
