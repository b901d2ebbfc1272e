//! Finds the compiled manifests in the resources of a PE file (Portable Executable: programs and libraries of Windows).
//!
//! Layout: Microsoft's *PE Format*, sections "Optional Header Data Directories" and "The .rsrc Section".

use crate::reader::Reader;

/// Resource type of compiled manifests.
const WEVT_TEMPLATE: &str = "WEVT_TEMPLATE";
/// Maximum number of entries in one level of the resource tree, and of resources found. Real files have one of each.
const MAX_ENTRIES: usize = 256;
/// Set in entries whose name is a text, and in entries that refer to another level.
const HIGH_BIT: u32 = 1 << 31;

/// Sections of a PE file: address in memory, size, offset in the file.
struct Sections(Vec<[u32; 3]>);

impl Sections {
    /// Converts an address in memory to an offset in the file.
    fn file_offset(&self, address: u32) -> Option<usize> {
        let section =
            self.0.iter().find(|[start, size, _]| address.checked_sub(*start).is_some_and(|offset| offset < *size))?;
        let [start, _, file_offset] = section;
        usize::try_from(file_offset.checked_add(address - start)?).ok()
    }
}

/// Finds all `WEVT_TEMPLATE` resources of a PE file; `None` if it is not a PE file or is damaged.
pub(super) fn compiled_manifests(pe: &[u8]) -> Option<Vec<&[u8]>> {
    let header = usize::try_from(reader(pe.get(0x3c..)?).u32()?).ok()?;
    if !pe.starts_with(b"MZ") || !pe.get(header..)?.starts_with(b"PE\0\0") {
        return None;
    }
    let mut file_header = reader(pe.get(header + 4..)?);
    file_header.skip(2)?;
    let section_count = usize::from(file_header.u16()?);
    file_header.skip(12)?;
    let optional_size = usize::from(file_header.u16()?);
    file_header.skip(2)?;
    let optional_header = file_header.take(optional_size)?;
    // The offset of the directories depends on the width of addresses.
    let directories_offset = match reader(optional_header).u16()? {
        0x10b => 96,
        0x20b => 112,
        _ => return None,
    };
    let mut sections = Vec::new();
    for _ in 0..section_count {
        let mut section = reader(file_header.take(40)?);
        section.skip(8)?;
        let (memory_size, start, file_size, file_offset) =
            (section.u32()?, section.u32()?, section.u32()?, section.u32()?);
        sections.push([start, memory_size.max(file_size), file_offset]);
    }
    let sections = Sections(sections);
    // The third directory lists the resources. Its address is 0 if there are none.
    let Some(directory) = optional_header
        .get(directories_offset + 16..)
        .and_then(|entry| reader(entry).u32())
        .filter(|&address| address != 0)
    else {
        return Some(Vec::new());
    };
    let tree = pe.get(sections.file_offset(directory)?..)?;
    let mut resources = Vec::new();
    for (_, names) in entries(tree, 0)?.into_iter().filter(|&(name, _)| is_named(tree, name)) {
        for (_, languages) in entries(tree, sublevel(names)?)? {
            for (_, leaf) in entries(tree, sublevel(languages)?)? {
                if leaf & HIGH_BIT != 0 || resources.len() == MAX_ENTRIES {
                    return None;
                }
                let mut leaf = reader(tree.get(usize::try_from(leaf).ok()?..)?);
                let (address, size) = (leaf.u32()?, usize::try_from(leaf.u32()?).ok()?);
                resources.push(pe.get(sections.file_offset(address)?..)?.get(..size)?);
            }
        }
    }
    Some(resources)
}

/// Reads the entries of a level of the tree: name or number, and reference.
fn entries(tree: &[u8], level: usize) -> Option<Vec<(u32, u32)>> {
    let mut fields = reader(tree.get(level..)?);
    fields.skip(12)?;
    let count = usize::from(fields.u16()?) + usize::from(fields.u16()?);
    (count <= MAX_ENTRIES).then_some(())?;
    (0..count).map(|_| Some((fields.u32()?, fields.u32()?))).collect()
}

/// Returns the level that an entry refers to; `None` if it refers to data.
fn sublevel(entry: u32) -> Option<usize> {
    (entry & HIGH_BIT != 0).then(|| usize::try_from(entry & !HIGH_BIT).ok()).flatten()
}

/// True if the entry's name is `WEVT_TEMPLATE`.
fn is_named(tree: &[u8], name: u32) -> bool {
    let units = || {
        let mut text = reader(tree.get(sublevel(name)?..)?);
        let length = usize::from(text.u16()?);
        text.take(length * 2)
    };
    units().is_some_and(|units| {
        let units = units.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        units.eq(WEVT_TEMPLATE.encode_utf16())
    })
}

fn reader(bytes: &[u8]) -> Reader<'_> {
    Reader::new(bytes, 4)
}
