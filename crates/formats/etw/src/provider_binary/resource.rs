//! The resources of a PE file (Portable Executable: programs and libraries of Windows) that hold compiled manifests.
//!
//! Layout: Microsoft's *PE Format*, sections "Optional Header Data Directories" and "The .rsrc Section".

use crate::reader::Reader;

/// The type of resource that compiled manifests have.
const WEVT_TEMPLATE: &str = "WEVT_TEMPLATE";
/// Entries of one level of the tree of resources, and resources of one file, that are looked at: real files have one of each.
const MAX: usize = 256;
/// Set in an entry whose name is a text, and in one that leads to another level.
const HIGH_BIT: u32 = 1 << 31;

/// Sections of a PE file: where each is in memory, how long, and where in the file.
struct Sections(Vec<[u32; 3]>);

impl Sections {
    /// The place in the file of what is at `address` once the file is loaded.
    fn place(&self, address: u32) -> Option<usize> {
        let section =
            self.0.iter().find(|[start, size, _]| address.checked_sub(*start).is_some_and(|at| at < *size))?;
        let [start, _, place] = section;
        usize::try_from(place.checked_add(address - start)?).ok()
    }
}

/// Every `WEVT_TEMPLATE` resource of a PE file; `None` where it is no PE file or a damaged one.
pub(super) fn compiled_manifests(pe: &[u8]) -> Option<Vec<&[u8]>> {
    let header = usize::try_from(at(pe.get(0x3c..)?).u32()?).ok()?;
    if !pe.starts_with(b"MZ") || !pe.get(header..)?.starts_with(b"PE\0\0") {
        return None;
    }
    let mut file_header = at(pe.get(header + 4..)?);
    file_header.skip(2)?;
    let section_count = usize::from(file_header.u16()?);
    file_header.skip(12)?;
    let optional_size = usize::from(file_header.u16()?);
    file_header.skip(2)?;
    let optional = file_header.take(optional_size)?;
    // How far the directories are from the start hangs on the width of addresses.
    let directories = match at(optional).u16()? {
        0x10b => 96,
        0x20b => 112,
        _ => return None,
    };
    let mut sections = Vec::new();
    for _ in 0..section_count {
        let mut section = at(file_header.take(40)?);
        section.skip(8)?;
        let (memory_size, start, file_size, place) = (section.u32()?, section.u32()?, section.u32()?, section.u32()?);
        sections.push([start, memory_size.max(file_size), place]);
    }
    let sections = Sections(sections);
    // The third directory is that of resources; a file without has none.
    let Some(directory) = optional.get(directories + 16..).and_then(|rest| at(rest).u32()).filter(|&at| at != 0) else {
        return Some(Vec::new());
    };
    let tree = pe.get(sections.place(directory)?..)?;
    let mut found = Vec::new();
    for (_, names) in entries(tree, 0)?.into_iter().filter(|&(name, _)| is_named(tree, name)) {
        for (_, languages) in entries(tree, inner(names)?)? {
            for (_, leaf) in entries(tree, inner(languages)?)? {
                if leaf & HIGH_BIT != 0 || found.len() == MAX {
                    return None;
                }
                let mut leaf = at(tree.get(usize::try_from(leaf).ok()?..)?);
                let (address, size) = (leaf.u32()?, usize::try_from(leaf.u32()?).ok()?);
                found.push(pe.get(sections.place(address)?..)?.get(..size)?);
            }
        }
    }
    Some(found)
}

/// The entries of a level of the tree: name or number, and where each leads.
fn entries(tree: &[u8], level: usize) -> Option<Vec<(u32, u32)>> {
    let mut reader = at(tree.get(level..)?);
    reader.skip(12)?;
    let count = usize::from(reader.u16()?) + usize::from(reader.u16()?);
    (count <= MAX).then_some(())?;
    (0..count).map(|_| Some((reader.u32()?, reader.u32()?))).collect()
}

/// The level that an entry leads to; `None` of one that leads to data.
fn inner(entry: u32) -> Option<usize> {
    (entry & HIGH_BIT != 0).then(|| usize::try_from(entry & !HIGH_BIT).ok()).flatten()
}

/// Whether an entry's name is that of compiled manifests.
fn is_named(tree: &[u8], name: u32) -> bool {
    let units = || {
        let mut text = at(tree.get(inner(name)?..)?);
        let length = usize::from(text.u16()?);
        text.take(length * 2)
    };
    units().is_some_and(|units| {
        let units = units.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        units.eq(WEVT_TEMPLATE.encode_utf16())
    })
}

fn at(bytes: &[u8]) -> Reader<'_> {
    Reader::new(bytes, 4)
}
