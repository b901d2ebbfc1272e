//! Decoder for the encoding shared by both catalog files.

use std::sync::Arc;

use onoff_etl::Guid;

use crate::schema::{Count, InType, Layout, Length, OutType, Property, ValueMap};

/// A cursor over catalog bytes. All methods return `None` if the file is damaged.
pub(crate) struct Block<'b> {
    remaining: &'b [u8],
}

impl<'b> Block<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { remaining: bytes }
    }

    pub fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (bytes, remaining) = self.remaining.split_at_checked(count)?;
        self.remaining = remaining;
        Some(bytes)
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads the number of items that follow, each of at least one byte.
    pub fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.remaining.len()).then_some(count)
    }

    pub fn number_u16(&mut self) -> Option<u16> {
        self.number()?.try_into().ok()
    }

    pub fn text(&mut self) -> Option<&'b str> {
        let size = self.count()?;
        std::str::from_utf8(self.bytes(size)?).ok()
    }

    pub fn guid(&mut self) -> Option<Guid> {
        Some(Guid::from_bytes_le(self.bytes(16)?.try_into().ok()?))
    }

    /// Reads the start of a block: `n` texts; `n` maps, each with text index (name), `n` 1 for a bit map, `n` entries
    /// of value and text index; `n` layouts, each with `n` properties, `n` of them top-level, and the properties.
    pub fn read_shared(&mut self) -> Option<SharedItems> {
        let mut shared = SharedItems::default();
        for _ in 0..self.count()? {
            shared.texts.push(self.text()?.into());
        }
        for _ in 0..self.count()? {
            let name = shared.text(self)?;
            let is_bit_map = self.number()? != 0;
            let entries =
                (0..self.count()?).map(|_| Some((self.number()?, shared.text(self)?))).collect::<Option<_>>()?;
            shared.maps.push((name, Arc::new(ValueMap { is_bit_map, entries })));
        }
        for _ in 0..self.count()? {
            let layout = self.layout(&shared)?;
            shared.layouts.push(Arc::new(layout));
        }
        Some(shared)
    }

    fn layout(&mut self, shared: &SharedItems) -> Option<Layout> {
        let count = self.count()?;
        let top_level = usize::try_from(self.number()?).ok()?;
        let properties = (0..count).map(|_| self.property(shared)).collect::<Option<Vec<_>>>()?;
        (top_level <= properties.len()).then_some(Layout { properties, top_level })
    }

    /// Reads a property: text index (name), `n` in-type, `n` flags, then the fields selected by the flags: out-type,
    /// length, count, paddings, map index, members. Flags: bit 0 out-type; bits 1-2 length (natural, fixed, from
    /// property, from property + terminator); bits 3-4 count (one, fixed, from property, rest); bit 5 paddings; bit 6
    /// optional; bit 7 map; bit 8 members.
    fn property(&mut self, shared: &SharedItems) -> Option<Property> {
        let mut property = Property::new(shared.text(self)?, InType::from_number(self.number_u16()?)?);
        let flags = self.number()?;
        if flags & 1 != 0 {
            property.out_type = OutType::from_number(self.number_u16()?);
        }
        property.length = match flags >> 1 & 3 {
            0 => Length::Natural,
            1 => Length::Fixed(self.number_u16()?),
            2 => Length::FromProperty(self.number_u16()?),
            _ => Length::FromPropertyPlusOne(self.number_u16()?),
        };
        property.count = match flags >> 3 & 3 {
            0 => Count::One,
            1 => Count::Fixed(self.number_u16()?),
            2 => Count::FromProperty(self.number_u16()?),
            _ => Count::ToEnd,
        };
        if flags & 0x20 != 0 {
            property.padding = [self.number()?.try_into().ok()?, self.number()?.try_into().ok()?];
        }
        property.is_optional = flags & 0x40 != 0;
        if flags & 0x80 != 0 {
            let (name, map) = shared.maps.get(usize::from(self.number_u16()?))?;
            property.map_name = Some(Arc::clone(name));
            property.map = Some(Arc::clone(map));
        }
        if flags & 0x100 != 0 {
            property.members = (self.number_u16()?, self.number_u16()?);
        }
        Some(property)
    }
}

/// The items to which the entries of a block refer by index.
#[derive(Default)]
pub(crate) struct SharedItems {
    texts: Vec<Arc<str>>,
    maps: Vec<(Arc<str>, Arc<ValueMap>)>,
    layouts: Vec<Arc<Layout>>,
}

impl SharedItems {
    /// Reads a text index and returns the text.
    pub fn text(&self, block: &mut Block<'_>) -> Option<Arc<str>> {
        self.texts.get(usize::try_from(block.number()?).ok()?).cloned()
    }

    /// Reads a layout index and returns the layout.
    pub fn layout(&self, block: &mut Block<'_>) -> Option<Arc<Layout>> {
        self.layouts.get(usize::try_from(block.number()?).ok()?).cloned()
    }
}
