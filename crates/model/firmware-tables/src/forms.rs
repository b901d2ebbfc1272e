//! The forms that firmware's times come in, told by what a file holds.

use onoff_firmware::Signature;
use onoff_trace::firmware::FirmwareForm;

use super::gathering::Gathering;
use super::{acpidump, coreboot, dp_command, edk2_xml, serial_log, slim_bootloader, tables, text};

/// Whether a file called `name` that begins with these bytes has a form that is read.
pub fn is_known_form(name: &str, bytes: &[u8]) -> bool {
    consider(name, bytes, &mut Gathering::default())
}

/// Adds the file if it is of a known form.
pub fn consider(name: &str, bytes: &[u8], gathering: &mut Gathering) -> bool {
    if Signature::at(bytes).is_some() && !text_follows(bytes) {
        gathering.input(name, FirmwareForm::Table);
        gathering.holds(bytes);
        tables::add(name, bytes, gathering);
        return true;
    }
    if !text::may_be_text(bytes) {
        let is_one = coreboot::add_table(name, bytes, gathering);
        if is_one {
            gathering.holds(bytes);
        }
        return is_one;
    }
    let text = text::decoded(bytes);
    if edk2_xml::is_it(&text) {
        edk2_xml::add(name, &text, gathering);
    } else if serial_log::is_it(&text) {
        serial_log::add(name, &text, gathering);
    } else if dp_command::is_it(&text) {
        dp_command::add(name, &text, gathering);
    } else if slim_bootloader::is_it(&text) {
        slim_bootloader::add(name, &text, gathering);
    } else if coreboot::is_it(&text) {
        coreboot::add(name, &text, gathering);
    } else if acpidump::is_it(&text) {
        acpidump::add(name, &text, gathering);
    } else {
        return false;
    }
    gathering.holds(bytes);
    true
}

/// Whether the four letters begin a text such as `FPDT @ 0x..` and no table: a length is never that long.
fn text_follows(bytes: &[u8]) -> bool {
    bytes.get(4..8).is_some_and(|length| length.iter().all(|byte| (b' '..0x7f).contains(byte)))
}
