//! Every event whose schema is known decodes to the exact size of its payload.

use std::collections::BTreeMap;

use onoff_etw::{Fields, SchemaLosses, SchemaSource, Status};

use super::files;

/// A file and what decoding its events gives: by source of the schema, how many to the exact size.
struct Expected {
    file: &'static str,
    records: u64,
    exact: &'static [(SchemaSource, u64)],
    /// Provider and event, how it ends, how many.
    exceptions: &'static [(&'static str, Status, u64)],
}

use SchemaSource::{Catalog, Embedded, Kernel, TraceLogging};

const FILES: &[Expected] = &[
    clean("AMSITrace.etl", 21, &[(Kernel, 2), (TraceLogging, 19)]),
    clean("CldFlt0.etl", 17, &[(Kernel, 4)]),
    clean("CldFlt1.etl", 7, &[(Kernel, 4)]),
    clean("CldFlt2.etl", 2, &[(Kernel, 2)]),
    clean("Process.etl", 10344, &[(Kernel, 1), (Catalog, 10343)]),
    clean("SelfDescribingSingleEvent.etl", 23, &[(Kernel, 22), (TraceLogging, 1)]),
    clean("ShutdownPerfDiagLogger.etl", 17078, &[(Kernel, 17078)]),
    clean("TraceLoggingTester.etl.xz", 172_716, &[(Kernel, 125_156), (Embedded, 47490), (TraceLogging, 70)]),
    clean("WindowsUpdate.20251008.140245.443.8.etl", 82, &[(Kernel, 2), (TraceLogging, 80)]),
    clean("diagsession-diaghub.kernel.1.etl", 16335, &[(Kernel, 16334)]),
    clean(
        "diagsession-diaghub.user_paged.1.etl.xz",
        22035,
        &[(Kernel, 1), (Catalog, 21757), (Embedded, 20), (TraceLogging, 256)],
    ),
    Expected {
        file: "gcevents.etl",
        records: 71,
        exact: &[(Kernel, 2), (Catalog, 51)],
        exceptions: &[
            // A newer runtime: what these versions have more than those that the catalog knows.
            ("Microsoft-Windows-DotNETRuntime/GCAllocationTick_V3", Status::Trailing, 12),
            ("Microsoft-Windows-DotNETRuntime/GCGlobalHeapHistory_V2", Status::Trailing, 2),
            ("Microsoft-Windows-DotNETRuntime/GCHeapStats_V1", Status::Trailing, 2),
        ],
    },
    clean("gcrundownevents.etl", 112, &[(Kernel, 2), (Catalog, 109)]),
    clean("lxcore_kernel.etl", 4, &[(Kernel, 2), (TraceLogging, 2)]),
    Expected {
        file: "net.4.5.2.x64.etl",
        records: 179_474,
        exact: &[(Kernel, 111_331), (Catalog, 1363), (Embedded, 51531)],
        exceptions: &[
            // Declared as an array of two, and in truth open.
            ("Microsoft-Windows-DotNETRuntime/CLRStack", Status::Trailing, 14983),
            GC_PER_HEAP_HISTORY_OF_X64,
            CLR_ENABLE_PARAMETERS,
        ],
    },
    Expected {
        file: "net.4.5.x86-2016.etl.xz",
        records: 185_961,
        exact: &[(Kernel, 63673), (Catalog, 121_095), (Embedded, 141)],
        exceptions: &[GC_PER_HEAP_HISTORY_OF_X86, CLR_ENABLE_PARAMETERS],
    },
    clean("powershell.etl", 114, &[(Kernel, 2), (Catalog, 112)]),
    clean("primitive-types.etl", 7, &[(Kernel, 2), (TraceLogging, 5)]),
    clean("smallEtlFile.etl", 2, &[(Kernel, 1), (Catalog, 1)]),
    clean("sawbuck/image_data_32_v0.etl", 27, &[(Kernel, 27)]),
    clean("sawbuck/image_data_32_v2.etl", 27, &[(Kernel, 27)]),
    clean("sawbuck/process_data_32_v1.etl", 3, &[(Kernel, 3)]),
    clean("sawbuck/rel0671_image_data_32_v1.etl", 27, &[(Kernel, 27)]),
    clean("sawbuck/test_data_32_v0.etl", 27, &[(Kernel, 27)]),
    clean("sawbuck/test_data_32_v2.etl", 27, &[(Kernel, 27)]),
];

/// The manifest gives the event a field less than the program writes.
const CLR_ENABLE_PARAMETERS: (&str, Status, u64) = ("PerfView/ClrEnableParameters", Status::Trailing, 2);

/// The manifest declares no field of this version.
const GC_PER_HEAP_HISTORY_OF_X64: (&str, Status, u64) = (GC_PER_HEAP_HISTORY, Status::Trailing, 264);
const GC_PER_HEAP_HISTORY_OF_X86: (&str, Status, u64) = (GC_PER_HEAP_HISTORY, Status::Trailing, 1050);
const GC_PER_HEAP_HISTORY: &str = "Microsoft-Windows-DotNETRuntimePrivate/GCPerHeapHistory";

const fn clean(file: &'static str, records: u64, exact: &'static [(SchemaSource, u64)]) -> Expected {
    Expected { file, records, exact, exceptions: &[] }
}

#[test]
fn known_schemas_decode_exactly() {
    for expected in FILES {
        let Some(bytes) = files::read(expected.file) else {
            continue;
        };
        let schemas = files::learn(&bytes);
        let mut exact: BTreeMap<SchemaSource, u64> = BTreeMap::new();
        let mut exceptions: BTreeMap<(String, String), u64> = BTreeMap::new();
        let records = files::each(&bytes, |record| {
            let mut fields = Fields::new();
            let decoded = schemas.decode(record, &mut fields);
            match decoded.status {
                Status::Exact => *exact.entry(decoded.source).or_default() += 1,
                Status::NoSchema => {}
                status => {
                    let description = schemas.describe(record);
                    let name = match description.event {
                        "" => description.task,
                        event => event,
                    };
                    let name = format!("{}/{name}", description.provider);
                    *exceptions.entry((name, format!("{status:?}"))).or_default() += 1;
                }
            }
        });
        let file = expected.file;
        assert_eq!(records, expected.records, "{file}");
        assert_eq!(exact, expected.exact.iter().copied().collect(), "{file}");
        let documented: BTreeMap<_, _> = expected
            .exceptions
            .iter()
            .map(|(name, status, count)| (((*name).to_owned(), format!("{status:?}")), *count))
            .collect();
        assert_eq!(exceptions, documented, "{file}");
        assert_eq!(schemas.losses(), SchemaLosses::default(), "{file}");
    }
}
