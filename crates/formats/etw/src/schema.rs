//! Payload schemas: properties with their types, lengths, counts and maps.
//!
//! Schemas from all origins (catalog, records of the trace, manifests, DLLs) are converted to a [`Layout`], and one
//! decoder reads them.

use std::sync::Arc;

use onoff_etl::Guid;

/// Encoding of a property in the payload. The numbers are those of `TDH_IN_TYPE_*`, except for the last few, which
/// cover kernel layouts that TDH does not describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
#[allow(missing_docs, reason = "the names are those of the Windows headers without their prefix")]
pub enum InType {
    Null = 0,
    UnicodeString = 1,
    AnsiString = 2,
    Int8 = 3,
    UInt8 = 4,
    Int16 = 5,
    UInt16 = 6,
    Int32 = 7,
    UInt32 = 8,
    Int64 = 9,
    UInt64 = 10,
    Float = 11,
    Double = 12,
    /// Four bytes.
    Boolean = 13,
    Binary = 14,
    Guid = 15,
    Pointer = 16,
    FileTime = 17,
    SystemTime = 18,
    Sid = 19,
    HexInt32 = 20,
    HexInt64 = 21,
    CountedUnicodeString = 22,
    CountedAnsiString = 23,
    Struct = 24,
    CountedBinary = 25,
    WbemCountedString = 300,
    WbemCountedAnsiString = 301,
    ReversedCountedString = 302,
    ReversedCountedAnsiString = 303,
    UnterminatedString = 304,
    UnterminatedAnsiString = 305,
    UnicodeChar = 306,
    AnsiChar = 307,
    SizeT = 308,
    HexDump = 309,
    WbemSid = 310,
    /// One byte, 0 or 1.
    ByteBoolean = 400,
    /// UTF-16 text in a fixed array, padded with NUL; the length is in UTF-16 units.
    UnicodeArray = 401,
    /// Unknown type: the rest of the payload.
    Opaque = 402,
}

impl InType {
    /// Returns the type with a number in a schema; `None` for undefined numbers.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        const TDH: [InType; 26] = [
            InType::Null,
            InType::UnicodeString,
            InType::AnsiString,
            InType::Int8,
            InType::UInt8,
            InType::Int16,
            InType::UInt16,
            InType::Int32,
            InType::UInt32,
            InType::Int64,
            InType::UInt64,
            InType::Float,
            InType::Double,
            InType::Boolean,
            InType::Binary,
            InType::Guid,
            InType::Pointer,
            InType::FileTime,
            InType::SystemTime,
            InType::Sid,
            InType::HexInt32,
            InType::HexInt64,
            InType::CountedUnicodeString,
            InType::CountedAnsiString,
            InType::Struct,
            InType::CountedBinary,
        ];
        const WBEM: [InType; 11] = [
            InType::WbemCountedString,
            InType::WbemCountedAnsiString,
            InType::ReversedCountedString,
            InType::ReversedCountedAnsiString,
            InType::UnterminatedString,
            InType::UnterminatedAnsiString,
            InType::UnicodeChar,
            InType::AnsiChar,
            InType::SizeT,
            InType::HexDump,
            InType::WbemSid,
        ];
        const EXTENSIONS: [InType; 3] = [InType::ByteBoolean, InType::UnicodeArray, InType::Opaque];
        let group = match number {
            0..300 => TDH.get(usize::from(number)),
            300..400 => WBEM.get(usize::from(number - 300)),
            _ => EXTENSIONS.get(usize::from(number - 400)),
        };
        group.copied()
    }

    /// Returns the type that manifests call `win:` followed by `name`.
    #[must_use]
    pub fn from_manifest_name(name: &str) -> Option<Self> {
        Some(match name {
            "Null" => Self::Null,
            "UnicodeString" => Self::UnicodeString,
            "AnsiString" => Self::AnsiString,
            "Int8" => Self::Int8,
            "UInt8" => Self::UInt8,
            "Int16" => Self::Int16,
            "UInt16" => Self::UInt16,
            "Int32" => Self::Int32,
            "UInt32" => Self::UInt32,
            "Int64" => Self::Int64,
            "UInt64" => Self::UInt64,
            "Float" => Self::Float,
            "Double" => Self::Double,
            "Boolean" => Self::Boolean,
            "Binary" => Self::Binary,
            "GUID" => Self::Guid,
            "Pointer" => Self::Pointer,
            "FILETIME" => Self::FileTime,
            "SYSTEMTIME" => Self::SystemTime,
            "SID" => Self::Sid,
            "HexInt32" => Self::HexInt32,
            "HexInt64" => Self::HexInt64,
            "CountedUnicodeString" | "CountedUtf16String" => Self::CountedUnicodeString,
            "CountedAnsiString" | "CountedMbcsString" => Self::CountedAnsiString,
            "CountedBinary" => Self::CountedBinary,
            _ => return None,
        })
    }
}

/// Interpretation of a property beyond its encoding. The numbers are those of `TDH_OUT_TYPE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u16)]
#[allow(missing_docs, reason = "the names are those of the Windows headers without their prefix")]
pub enum OutType {
    #[default]
    Default = 0,
    String = 1,
    DateTime = 2,
    Byte = 3,
    UnsignedByte = 4,
    Short = 5,
    UnsignedShort = 6,
    Int = 7,
    UnsignedInt = 8,
    Long = 9,
    UnsignedLong = 10,
    Float = 11,
    Double = 12,
    Boolean = 13,
    Guid = 14,
    HexBinary = 15,
    HexInt8 = 16,
    HexInt16 = 17,
    HexInt32 = 18,
    HexInt64 = 19,
    ProcessId = 20,
    ThreadId = 21,
    /// Big-endian.
    Port = 22,
    Ipv4 = 23,
    Ipv6 = 24,
    SocketAddress = 25,
    CimDateTime = 26,
    /// In ticks of the log's clock.
    EtwTime = 27,
    Xml = 28,
    ErrorCode = 29,
    Win32Error = 30,
    NtStatus = 31,
    HResult = 32,
    DateTimeCultureInsensitive = 33,
    Json = 34,
    Utf8 = 35,
    Pkcs7 = 36,
    CodePointer = 37,
    DateTimeUtc = 38,
}

impl OutType {
    const ALL: [OutType; 39] = [
        OutType::Default,
        OutType::String,
        OutType::DateTime,
        OutType::Byte,
        OutType::UnsignedByte,
        OutType::Short,
        OutType::UnsignedShort,
        OutType::Int,
        OutType::UnsignedInt,
        OutType::Long,
        OutType::UnsignedLong,
        OutType::Float,
        OutType::Double,
        OutType::Boolean,
        OutType::Guid,
        OutType::HexBinary,
        OutType::HexInt8,
        OutType::HexInt16,
        OutType::HexInt32,
        OutType::HexInt64,
        OutType::ProcessId,
        OutType::ThreadId,
        OutType::Port,
        OutType::Ipv4,
        OutType::Ipv6,
        OutType::SocketAddress,
        OutType::CimDateTime,
        OutType::EtwTime,
        OutType::Xml,
        OutType::ErrorCode,
        OutType::Win32Error,
        OutType::NtStatus,
        OutType::HResult,
        OutType::DateTimeCultureInsensitive,
        OutType::Json,
        OutType::Utf8,
        OutType::Pkcs7,
        OutType::CodePointer,
        OutType::DateTimeUtc,
    ];

    /// Returns the type with a number in a schema; `Default` for undefined numbers.
    #[must_use]
    pub fn from_number(number: u16) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or_default()
    }

    /// Returns the type with a manifest name, including the prefix (`win:` or `xs:`); `Default` for undefined names.
    #[must_use]
    pub fn from_manifest_name(name: &str) -> Self {
        match name {
            "xs:string" => Self::String,
            "xs:dateTime" => Self::DateTime,
            "xs:byte" => Self::Byte,
            "xs:unsignedByte" => Self::UnsignedByte,
            "xs:short" => Self::Short,
            "xs:unsignedShort" => Self::UnsignedShort,
            "xs:int" => Self::Int,
            "xs:unsignedInt" => Self::UnsignedInt,
            "xs:long" => Self::Long,
            "xs:unsignedLong" => Self::UnsignedLong,
            "xs:float" => Self::Float,
            "xs:double" => Self::Double,
            "xs:boolean" => Self::Boolean,
            "xs:GUID" => Self::Guid,
            "xs:hexBinary" => Self::HexBinary,
            "win:HexInt8" => Self::HexInt8,
            "win:HexInt16" => Self::HexInt16,
            "win:HexInt32" => Self::HexInt32,
            "win:HexInt64" => Self::HexInt64,
            "win:PID" => Self::ProcessId,
            "win:TID" => Self::ThreadId,
            "win:Port" => Self::Port,
            "win:IPv4" => Self::Ipv4,
            "win:IPv6" => Self::Ipv6,
            "win:SocketAddress" => Self::SocketAddress,
            "win:CIMDateTime" => Self::CimDateTime,
            "win:ETWTIME" => Self::EtwTime,
            "win:Xml" => Self::Xml,
            "win:ErrorCode" => Self::ErrorCode,
            "win:Win32Error" => Self::Win32Error,
            "win:NTSTATUS" | "win:NTStatus" => Self::NtStatus,
            "win:HResult" => Self::HResult,
            "win:DateTimeCultureInsensitive" => Self::DateTimeCultureInsensitive,
            "win:Json" => Self::Json,
            "win:Utf8" => Self::Utf8,
            "win:Pkcs7WithTypeInfo" => Self::Pkcs7,
            "win:CodePointer" => Self::CodePointer,
            "win:DateTimeUtc" => Self::DateTimeUtc,
            _ => Self::Default,
        }
    }
}

/// Length of one element of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Length {
    /// Given by the type.
    #[default]
    Natural,
    /// This many bytes or UTF-16 units.
    Fixed(u16),
    /// Given by the property with this index.
    FromProperty(u16),
    /// Given by the property with this index, which does not count the terminator.
    FromPropertyPlusOne(u16),
}

/// Number of elements of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Count {
    /// One element; the property is not an array.
    #[default]
    One,
    /// An array of this many elements.
    Fixed(u16),
    /// An array whose count is the property with this index.
    FromProperty(u16),
    /// An array up to the end of the payload.
    ToEnd,
}

/// A property of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// May be empty.
    pub name: Arc<str>,
    pub in_type: InType,
    pub out_type: OutType,
    pub length: Length,
    pub count: Count,
    /// Padding before the property in bytes, for 4- and 8-byte pointers.
    pub padding: [u8; 2],
    /// True if older records end before this property.
    pub is_optional: bool,
    /// Name of the map that names its values.
    pub map_name: Option<Arc<str>>,
    /// The map, if resolved.
    pub map: Option<Arc<ValueMap>>,
    /// For [`InType::Struct`]: index of the first member in [`Layout::properties`] and number of members.
    pub members: (u16, u16),
}

impl Property {
    /// Creates a scalar property with default length and interpretation.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, in_type: InType) -> Self {
        Self {
            name: name.into(),
            in_type,
            out_type: OutType::Default,
            length: Length::Natural,
            count: Count::One,
            padding: [0; 2],
            is_optional: false,
            map_name: None,
            map: None,
            members: (0, 0),
        }
    }
}

/// The properties of a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Top-level properties in payload order, then the members of structs.
    pub properties: Vec<Property>,
    /// Number of top-level properties.
    pub top_level: usize,
}

impl Layout {
    /// Creates a layout without structs.
    #[must_use]
    pub fn flat(properties: Vec<Property>) -> Self {
        Self { top_level: properties.len(), properties }
    }

    /// True if the offset of every field is known: no opaque field covers the rest of the payload.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.properties.iter().all(|property| property.in_type != InType::Opaque)
    }
}

/// Names for values or bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueMap {
    /// True if each bit has a name, false if each value has one.
    pub is_bit_map: bool,
    /// Values or masks and their names, in schema order.
    pub entries: Vec<(u64, Arc<str>)>,
}

impl ValueMap {
    /// Iterates over the names of `value`: at most one for a value map, one per set bit for a bit map.
    pub fn names(&self, value: u64) -> impl Iterator<Item = &str> {
        let is_bit_map = self.is_bit_map;
        self.entries
            .iter()
            .filter(move |(key, _)| if is_bit_map { *key != 0 && value & key == *key } else { value == *key })
            .take(if is_bit_map { usize::MAX } else { 1 })
            .map(|(_, name)| &**name)
    }
}

/// Schema of one event of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSchema {
    pub id: u16,
    /// Version of the payload layout.
    pub version: u8,
    /// Level as declared (1 critical to 5 verbose).
    pub level: u8,
    /// Opcode as declared; `None` if only its name is known.
    pub opcode: Option<u8>,
    /// Task as declared; `None` if only its name is known.
    pub task: Option<u16>,
    /// Keyword bits as declared.
    pub keyword: u64,
    /// Symbolic name; may be empty.
    pub name: Arc<str>,
    /// Name of the task; may be empty.
    pub task_name: Arc<str>,
    /// Name of the opcode; may be empty.
    pub opcode_name: Arc<str>,
    /// Message template with `%1`, `%2`, … for the properties; may be empty.
    pub message: Arc<str>,
    pub layout: Arc<Layout>,
}

/// Schema of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderSchema {
    pub guid: Guid,
    /// May be empty.
    pub name: Arc<str>,
    /// Events, sorted by id and version.
    pub events: Vec<EventSchema>,
    /// Keyword masks and names.
    pub keywords: Vec<(u64, Arc<str>)>,
}

impl ProviderSchema {
    /// Sorts the events, as the lookups require. If several events have the same id and version, keeps the first.
    pub fn sort(&mut self) {
        self.events.sort_by_key(|event| (event.id, event.version));
        self.events.dedup_by_key(|event| (event.id, event.version));
    }

    /// Returns the event with this id and version.
    #[must_use]
    pub fn find_exact(&self, id: u16, version: u8) -> Option<&EventSchema> {
        let index = self.events.binary_search_by_key(&(id, version), |event| (event.id, event.version)).ok()?;
        self.events.get(index)
    }

    /// Returns the event with this id and the nearest version: the highest version up to `version`, because payloads
    /// mostly grow at the end, otherwise the lowest version above it.
    #[must_use]
    pub fn find_nearest(&self, id: u16, version: u8) -> Option<&EventSchema> {
        let end = self.events.partition_point(|event| (event.id, event.version) <= (id, version));
        let lower = end.checked_sub(1).and_then(|index| self.events.get(index));
        lower.filter(|event| event.id == id).or_else(|| self.events.get(end).filter(|event| event.id == id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_numbers_round_trip() {
        for number in 0..=u16::from(u8::MAX) * 2 {
            if let Some(in_type) = InType::from_number(number) {
                assert_eq!(in_type as u16, number);
            }
        }
        assert_eq!(InType::from_number(26), None);
        assert_eq!(InType::from_number(310), Some(InType::WbemSid));
        for (number, &out_type) in OutType::ALL.iter().enumerate() {
            assert_eq!(out_type as usize, number);
        }
        assert_eq!(OutType::from_number(999), OutType::Default);
    }

    #[test]
    fn nearest_version_prefers_lower_versions() {
        let event = |id, version| EventSchema { id, version, ..EventSchema::default() };
        let mut provider = ProviderSchema {
            events: vec![event(2, 3), event(1, 0), event(1, 2), event(1, 5), event(2, 3)],
            ..ProviderSchema::default()
        };
        provider.sort();
        assert_eq!(provider.events.len(), 4);
        assert_eq!(provider.find_exact(1, 2).map(|event| event.version), Some(2));
        assert_eq!(provider.find_exact(1, 3), None);
        assert_eq!(provider.find_nearest(1, 4).map(|event| event.version), Some(2));
        assert_eq!(provider.find_nearest(1, 9).map(|event| event.version), Some(5));
        assert_eq!(provider.find_nearest(2, 0).map(|event| event.version), Some(3));
        assert_eq!(provider.find_nearest(3, 0), None);
    }

    #[test]
    fn maps_name_values_and_bits() {
        let entries = vec![(0, "none".into()), (1, "read".into()), (2, "write".into())];
        let values = ValueMap { is_bit_map: false, entries: entries.clone() };
        assert_eq!(values.names(2).collect::<Vec<_>>(), ["write"]);
        assert_eq!(values.names(3).count(), 0);
        let bits = ValueMap { is_bit_map: true, entries };
        assert_eq!(bits.names(3).collect::<Vec<_>>(), ["read", "write"]);
    }
}
