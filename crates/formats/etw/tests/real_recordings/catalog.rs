//! What the catalog says of events, against what Windows said of the same events: the schemas that it wrote into a merged
//! recording.

use std::collections::BTreeMap;

use onoff_etl::Guid;
use onoff_etw::{Fields, SchemaSource, Schemas};

use super::files;

/// The events of `provider` decoded by `schemas` and by the catalog alone; gives how many have the same fields with the same
/// values, and the same name, and of each kind that has not, how many.
fn compared(bytes: &[u8], schemas: &Schemas, provider: Guid) -> (u64, BTreeMap<String, u64>) {
    let catalog = Schemas::new();
    let (mut same, mut others) = (0, BTreeMap::new());
    files::each(bytes, |record| {
        if record.descriptor().is_none() || record.class_guid() != Some(provider) {
            return;
        }
        let described = schemas.describe(record);
        if !matches!(described.source, SchemaSource::Embedded | SchemaSource::User) {
            return;
        }
        let (mut theirs, mut ours) = (Fields::new(), Fields::new());
        let _ = schemas.decode(record, &mut theirs);
        let decoded = catalog.decode(record, &mut ours);
        assert_eq!(decoded.source, SchemaSource::Catalog, "{described:?}");
        let values = |fields: &Fields<'_>| -> Vec<(String, String)> {
            fields.iter().map(|field| (field.name().to_owned(), field.to_string())).collect()
        };
        let names = catalog.describe(record);
        let is_named =
            (described.provider, described.task, described.opcode) == (names.provider, names.task, names.opcode);
        let is_same = values(&theirs) == values(&ours) && is_named;
        if is_same {
            same += 1;
        } else {
            *others.entry(format!("{}/{}", described.task, described.opcode)).or_default() += 1;
        }
    });
    (same, others)
}

const RUNTIME: Guid = Guid::from_u128(0xe13c0d23_ccbc_4e12_931b_d9cc2eee27e4);
const RUNTIME_RUNDOWN: Guid = Guid::from_u128(0xa669021c_c450_4609_a035_5af59af4df18);

#[test]
fn dotnet_events_are_what_windows_wrote_of_them_into_the_recording() {
    let Some(bytes) = files::read("net.4.5.2.x64.etl") else {
        return;
    };
    let schemas = files::learn(&bytes);
    // Of stacks Windows' schema, as the runtime's manifest, has the first two frames only; the catalog has them all.
    let stacks = BTreeMap::from([("CLRStack/CLRStackWalk".to_owned(), 14_983)]);
    assert_eq!(compared(&bytes, &schemas, RUNTIME), (17_747, stacks));
    assert_eq!(compared(&bytes, &schemas, RUNTIME_RUNDOWN), (33_011, BTreeMap::new()));
}
