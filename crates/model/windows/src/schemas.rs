//! Event schemas: supplied by the user, or contained in a recording.

use std::ops::ControlFlow;

use onoff_etl::{BufferScratch, Guid, HeaderKind, Record, Recording};
use onoff_etw::Schemas;
use onoff_trace::Losses;

use super::counters;
use onoff_input::error::Error;
use onoff_input::options::NamedBytes;
use onoff_input::options::Options;

/// Class of the records that merging adds to describe events (`EventMetadata`).
pub(super) const EVENT_METADATA_CLASS: Guid = Guid::from_u128(0xbbccf6c1_6cd1_48c4_80ff_839482e37671);

/// Bytes at the start of each file that are searched for names of PDB files.
const NAMES_BYTES: usize = 1 << 20;

const MANIFEST_EVENT: u16 = 0xFFFE;
const MANIFEST_OPCODE: u8 = 0xFE;

/// True if `record` describes other events: a schema, or a part of a manifest logged by a provider.
#[inline]
pub(super) fn describes_others(record: &Record<'_>) -> bool {
    match record.kind() {
        HeaderKind::Event => {
            record.opcode() == MANIFEST_OPCODE
                && record.descriptor().is_some_and(|descriptor| descriptor.id == MANIFEST_EVENT)
        }
        HeaderKind::Full => record.class_guid() == Some(EVENT_METADATA_CLASS),
        _ => false,
    }
}

/// Returns the schemas known before the recording is read: the built-in catalog, the schemas supplied by the user, and the
/// names of PDB files, which are at the start of each file.
///
/// # Errors
/// A manifest, DLL or trace message format file that cannot be read, or that describes no events.
pub(crate) fn initial(recording: &Recording<'_>, options: &Options) -> Result<Schemas, Error> {
    let mut schemas = Schemas::new();
    for manifest in &options.manifests {
        add(&mut schemas, manifest)?;
    }
    let mut scratch = BufferScratch::default();
    for file in 0..recording.files().len() {
        let mut budget = NAMES_BYTES;
        for buffer in recording.buffers().iter().filter(|buffer| buffer.file == file) {
            // Losses are counted when all buffers are read.
            let _ = recording.for_each_in_buffer(buffer, &mut scratch, |record| {
                if record.hook().is_some() {
                    schemas.observe(record);
                }
                ControlFlow::<()>::Continue(())
            });
            let Some(remaining) = budget.checked_sub(buffer.fill) else { break };
            budget = remaining;
        }
    }
    Ok(schemas)
}

/// Counts messages whose format is not known, and says where it is.
pub(super) fn count_unknown_message(record: &Record<'_>, count: u64, schemas: &Schemas, losses: &mut Losses) {
    losses.add(&counters::MESSAGE_UNFORMATTED, count);
    losses.set_first_place(&counters::MESSAGE_UNFORMATTED, || {
        let guid = record.class_guid().map(|guid| guid.to_string()).unwrap_or_default();
        let place = format!("message {} of {guid}", record.message_number().unwrap_or_default());
        match schemas.message_pdbs() {
            [] => place,
            pdbs => format!("{place}; the recording names {}", pdbs.join(", ")),
        }
    });
}

/// True for a manifest, program, library or trace message format file that describes events of a provider.
#[must_use]
pub fn describes_events(bytes: &[u8]) -> bool {
    let mut schemas = Schemas::new();
    match bytes.starts_with(b"MZ") {
        true => schemas.add_provider_binary(bytes).is_ok_and(|providers| providers > 0),
        false => {
            let text = text(bytes);
            // An invalid manifest counts too, so that its use reports an error.
            text.contains("instrumentationManifest") || Schemas::is_message_format(&text)
        }
    }
}

fn add(schemas: &mut Schemas, manifest: &NamedBytes) -> Result<(), Error> {
    let invalid = |reason: String| Error::Schema { path: manifest.name.clone().into(), reason };
    let text = || text(&manifest.bytes);
    let descriptions = if manifest.bytes.starts_with(b"MZ") {
        schemas.add_provider_binary(&manifest.bytes).map_err(|error| invalid(error.to_string()))?
    } else if let Some(text) = Some(text()).filter(|text| Schemas::is_message_format(text)) {
        schemas.add_message_formats(&text).map_err(|error| invalid(error.to_string()))?
    } else {
        schemas.add_manifest(&text()).map_err(|error| invalid(error.to_string()))?
    };
    if descriptions == 0 {
        return Err(invalid("contains no event provider".into()));
    }
    Ok(())
}

/// Decodes a manifest or trace message format file: UTF-8, or UTF-16 with a byte order mark.
fn text(bytes: &[u8]) -> String {
    let decode_utf16 = |bytes: &[u8], from_bytes: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        let units = pairs.iter().map(|&pair| from_bytes(pair));
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Adds the losses of schema processing to `losses`.
pub fn count(schemas: &Schemas, losses: &mut Losses) {
    let schema_losses = schemas.losses();
    losses.add(&counters::SCHEMA_MALFORMED, schema_losses.malformed_records);
    losses.add(&counters::MANIFEST_REFUSED, schema_losses.rejected_chunks + schema_losses.rejected_manifests);
    losses.add(&counters::SCHEMAS_TOO_MANY, schema_losses.too_many);
}
