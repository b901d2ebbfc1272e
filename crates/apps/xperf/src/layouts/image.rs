//! `xperf -a image`: modules of each process. `xperf -a symcache`: identities of modules and their symbols.

use std::collections::BTreeSet;
use std::io::{self, Write};

use onoff_trace::{Image, Trace};
use onoff_usage::processes::Images as ProcessImages;

use super::microseconds;
use super::process_name::ProcessName;
use onoff_report::text::printable::printable;

/// Writes the modules that were loaded at some point in `from_ns..until_ns`, by load time.
pub fn write(trace: &Trace, from_ns: i64, until_ns: i64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "      Load,     Unload,     Process Name ( PID),          ImageBase,           ImageEnd,   CheckSum, \
         TimeDateStamp, FileName"
    )?;
    let process_images = ProcessImages::new(trace);
    for image in trace.images.iter() {
        let is_loaded_in_range =
            image.load_ns.is_none_or(|load| load < until_ns) && image.unload_ns.is_none_or(|unload| unload >= from_ns);
        if is_loaded_in_range {
            write_image(trace, &process_images, &image, out)?;
        }
    }
    Ok(())
}

fn write_image(
    trace: &Trace,
    process_images: &ProcessImages<'_>,
    image: &Image,
    out: &mut dyn Write,
) -> io::Result<()> {
    let digits = (trace.system.pointer_bits / 4).max(8) as usize + 2;
    let load_ns = image.load_ns.unwrap_or(0);
    // The main image of a process may be loaded just before the process start is recorded.
    let name = process_images
        .image_at(image.pid, load_ns)
        .or_else(|| process_images.image_at(image.pid, image.unload_ns.unwrap_or(trace.duration_ns)));
    writeln!(
        out,
        "{:>10}, {:>10}, {}, {:#0digits$x}, {:#0digits$x}, {:#010x}, {:>13}, \"{}\"",
        time_or(image.load_ns, "MIN"),
        time_or(image.unload_ns, "MAX"),
        ProcessName(name, Some(image.pid)),
        image.base,
        image.base.saturating_add(image.size),
        image.checksum,
        format!("{:#010x}", image.time_stamp),
        printable(&trace.system.drive_paths.readable(trace.text(image.path))),
    )
}

/// Formats a time in µs, or `placeholder` (`MIN`, `MAX`) for a time outside the recording.
fn time_or(time_ns: Option<i64>, placeholder: &str) -> String {
    time_ns.map_or_else(|| placeholder.to_owned(), |ns| microseconds(Some(ns)).to_string())
}

/// The columns of the list of symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SymbolColumns {
    /// Identity of the image: time stamp, size and name.
    pub image_id: bool,
    /// Identity of the symbols: the record of the debug directory.
    pub debug_id: bool,
}

/// Writes the identity of each module once, by name.
pub fn write_symbols(trace: &Trace, columns: SymbolColumns, out: &mut dyn Write) -> io::Result<()> {
    let title = match (columns.image_id, columns.debug_id) {
        (true, false) => "TimeDateStamp,  ImageSize, OrigFileName",
        (false, true) => "CodeView Record",
        _ => "TimeDateStamp,  ImageSize, OrigFileName, CodeView Record",
    };
    writeln!(out, "{title}")?;
    let modules: BTreeSet<(String, u32, u64, String)> = trace
        .images
        .iter()
        .map(|image| {
            let path = trace.text(image.path);
            let name = path.rsplit(['\\', '/']).next().unwrap_or(path);
            let symbols = codeview(trace.text(image.pdb_id), trace.text(image.pdb_name));
            (name.to_owned(), image.time_stamp, image.size, symbols)
        })
        .collect();
    // Modules without symbols are omitted if the list shows symbols.
    let is_shown = |symbols: &str| !symbols.is_empty() || !columns.debug_id;
    for (name, time_stamp, size, symbols) in modules.into_iter().filter(|(.., symbols)| is_shown(symbols)) {
        let name = printable(&name);
        match (columns.image_id, columns.debug_id) {
            (true, false) => writeln!(out, "   {time_stamp:#010x}, {size:#010x}, \"{name}\"")?,
            // Public readers expect the record at the start of the line.
            (false, true) => writeln!(out, "\"{symbols}\"")?,
            _ => writeln!(out, "   {time_stamp:#010x}, {size:#010x}, \"{name}\", \"{symbols}\"")?,
        }
    }
    Ok(())
}

/// Formats `[RSDS] PdbSig: {…}; Age: n; Pdb: path` from a symbol store id: 32 hex digits of the GUID, then the age.
/// Empty if not recorded.
fn codeview(id: &str, name: &str) -> String {
    let parsed = id.split_at_checked(32).and_then(|(guid, age)| {
        let age = u32::from_str_radix(age, 16).ok()?;
        guid.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| (guid.to_ascii_lowercase(), age))
    });
    let Some((guid, age)) = parsed else { return String::new() };
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    let guid = parts.map(|part| guid.get(part).unwrap_or_default().to_owned()).join("-");
    format!("[RSDS] PdbSig: {{{guid}}}; Age: {age}; Pdb: {}", printable(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_symbol_store_id_as_published() {
        assert_eq!(
            codeview("7B2A902887CD448D85001A18CDCF61662F1", r"u:\buildbot\client.pdb"),
            r"[RSDS] PdbSig: {7b2a9028-87cd-448d-8500-1a18cdcf6166}; Age: 753; Pdb: u:\buildbot\client.pdb"
        );
        for invalid in ["", "7B2A", "7B2A902887CD448D85001A18CDCF6166", "é7B2A902887CD448D85001A18CDCF61662F1"] {
            assert_eq!(codeview(invalid, "a.pdb"), "", "{invalid}");
        }
    }
}
