//! Recognizes the formats of firmware times by content.

use onoff_firmware::Signature;
use onoff_trace::firmware::FirmwareFormat;

use super::collector::FirmwareTableCollector;
use super::{acpidump, coreboot, dp_command, edk2_xml, serial_log, slim_bootloader, tables, text};

/// True if a file called `name` that starts with these bytes has a supported format.
pub fn is_supported_format(name: &str, bytes: &[u8]) -> bool {
    add_file(name, bytes, &mut FirmwareTableCollector::default())
}

/// Adds the file if its format is supported. Returns false otherwise.
pub fn add_file(name: &str, bytes: &[u8], collector: &mut FirmwareTableCollector) -> bool {
    if Signature::from_prefix(bytes).is_some() && !is_text_after_signature(bytes) {
        collector.add_input(name, FirmwareFormat::Table);
        collector.set_content(bytes);
        tables::add(name, bytes, collector);
        return true;
    }
    if !text::may_be_text(bytes) {
        let is_table = coreboot::add_table(name, bytes, collector);
        if is_table {
            collector.set_content(bytes);
        }
        return is_table;
    }
    let text = text::decode(bytes);
    if edk2_xml::recognizes(&text) {
        edk2_xml::add(name, &text, collector);
    } else if serial_log::recognizes(&text) {
        serial_log::add(name, &text, collector);
    } else if dp_command::recognizes(&text) {
        dp_command::add(name, &text, collector);
    } else if slim_bootloader::recognizes(&text) {
        slim_bootloader::add(name, &text, collector);
    } else if coreboot::recognizes(&text) {
        coreboot::add(name, &text, collector);
    } else if acpidump::recognizes(&text) {
        acpidump::add(name, &text, collector);
    } else {
        return false;
    }
    collector.set_content(bytes);
    true
}

/// True if the four letters start a text such as `FPDT @ 0x..` and not a table, whose length is never that large.
fn is_text_after_signature(bytes: &[u8]) -> bool {
    bytes.get(4..8).is_some_and(|length| length.iter().all(|byte| (b' '..0x7f).contains(byte)))
}
