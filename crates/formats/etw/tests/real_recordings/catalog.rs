//! Compares the catalog with the schemas that Windows wrote into a merged recording.

use std::collections::BTreeMap;

use onoff_etl::Guid;
use onoff_etw::{Fields, SchemaSource, Schemas};

use super::files;

/// Decodes the events of `provider` with `schemas` and with the catalog alone. Returns the number of events with equal
/// fields, values and names, and the number of other events by kind.
fn compare(bytes: &[u8], schemas: &Schemas, provider: Guid) -> (u64, BTreeMap<String, u64>) {
    let catalog = Schemas::new();
    let (mut equal_events, mut other_events) = (0, BTreeMap::new());
    files::for_each(bytes, |record| {
        if record.descriptor().is_none() || record.class_guid() != Some(provider) {
            return;
        }
        let description = schemas.describe(record);
        if !matches!(description.source, SchemaSource::Embedded | SchemaSource::User) {
            return;
        }
        let (mut expected, mut actual) = (Fields::new(), Fields::new());
        let _ = schemas.decode(record, &mut expected);
        let decoded = catalog.decode(record, &mut actual);
        assert_eq!(decoded.source, SchemaSource::Catalog, "{description:?}");
        let values = |fields: &Fields<'_>| -> Vec<(String, String)> {
            fields.iter().map(|field| (field.name().to_owned(), field.to_string())).collect()
        };
        let catalog_description = catalog.describe(record);
        let has_same_names = (description.provider, description.task, description.opcode)
            == (catalog_description.provider, catalog_description.task, catalog_description.opcode);
        let is_same = values(&expected) == values(&actual) && has_same_names;
        if is_same {
            equal_events += 1;
        } else {
            *other_events.entry(format!("{}/{}", description.task, description.opcode)).or_default() += 1;
        }
    });
    (equal_events, other_events)
}

const RUNTIME: Guid = Guid::from_u128(0xe13c0d23_ccbc_4e12_931b_d9cc2eee27e4);
const RUNTIME_RUNDOWN: Guid = Guid::from_u128(0xa669021c_c450_4609_a035_5af59af4df18);

#[test]
fn dotnet_catalog_matches_schemas_in_recording() {
    let Some(bytes) = files::read("net.4.5.2.x64.etl") else {
        return;
    };
    let schemas = files::learn(&bytes);
    // The schema of Windows, like the runtime's manifest, has only the first two frames of a stack; the catalog has
    // all.
    let stacks = BTreeMap::from([("CLRStack/CLRStackWalk".to_owned(), 14_983)]);
    assert_eq!(compare(&bytes, &schemas, RUNTIME), (17_747, stacks));
    assert_eq!(compare(&bytes, &schemas, RUNTIME_RUNDOWN), (33_011, BTreeMap::new()));
}
