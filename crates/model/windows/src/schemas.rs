//! Event schemas: what the user gives, and the records by which a recording explains its own events.

use onoff_etl::{Guid, HeaderKind, Record};
use onoff_etw::Schemas;
use onoff_trace::Losses;

use super::counters;
use onoff_input::error::Error;
use onoff_input::options::NamedBytes;
use onoff_input::options::Options;

/// Class of the records that merging adds to describe events (`EventMetadata`).
pub(super) const EVENT_METADATA_CLASS: Guid = Guid::from_u128(0xbbccf6c1_6cd1_48c4_80ff_839482e37671);

const MANIFEST_EVENT: u16 = 0xFFFE;
const MANIFEST_OPCODE: u8 = 0xFE;

/// Whether `record` explains other events: a description, or a part of a manifest that a provider logs of itself.
#[inline]
pub(super) fn explains(record: &Record<'_>) -> bool {
    match record.kind() {
        HeaderKind::Event => {
            record.opcode() == MANIFEST_OPCODE
                && record.descriptor().is_some_and(|descriptor| descriptor.id == MANIFEST_EVENT)
        }
        HeaderKind::Full => record.class_guid() == Some(EVENT_METADATA_CLASS),
        _ => false,
    }
}

/// The schemas known before the recording is read: the catalog's and the user's.
///
/// # Errors
/// A manifest or DLL that cannot be read, or that describes no event.
pub(crate) fn known(options: &Options) -> Result<Schemas, Error> {
    let mut schemas = Schemas::new();
    for manifest in &options.manifests {
        add(&mut schemas, manifest)?;
    }
    Ok(schemas)
}

/// Whether the bytes are a manifest, or a program or library, that describes events of a provider.
#[must_use]
pub fn describes_events(bytes: &[u8]) -> bool {
    let mut schemas = Schemas::new();
    match bytes.starts_with(b"MZ") {
        true => schemas.add_provider_binary(bytes).is_ok_and(|providers| providers > 0),
        false => {
            let text = text(bytes);
            // A manifest that cannot be understood is one all the same: who wants it is told.
            text.contains("instrumentationManifest")
        }
    }
}

fn add(schemas: &mut Schemas, manifest: &NamedBytes) -> Result<(), Error> {
    let refused = |reason: String| Error::Schema { path: manifest.name.clone().into(), reason };
    let providers = if manifest.bytes.starts_with(b"MZ") {
        schemas.add_provider_binary(&manifest.bytes).map_err(|error| refused(error.to_string()))?
    } else {
        schemas.add_manifest(&text(&manifest.bytes)).map_err(|error| refused(error.to_string()))?
    };
    if providers == 0 {
        return Err(refused("describes no event provider".into()));
    }
    Ok(())
}

/// A manifest's text: UTF-8 or UTF-16, as its byte order mark says.
fn text(bytes: &[u8]) -> String {
    let units = |bytes: &[u8], from: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        let units = pairs.iter().map(|&pair| from(pair));
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => units(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Adds what could not be learned to `losses`.
pub fn count(schemas: &Schemas, losses: &mut Losses) {
    let lost = schemas.losses();
    losses.add(&counters::SCHEMA_MALFORMED, lost.malformed_records);
    losses.add(&counters::MANIFEST_REFUSED, lost.refused_chunks + lost.refused_manifests);
    losses.add(&counters::SCHEMAS_TOO_MANY, lost.too_many);
}
