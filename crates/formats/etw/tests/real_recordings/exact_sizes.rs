//! Every event with a known schema decodes to the exact size of its payload.

use std::collections::BTreeMap;

use onoff_etw::{Fields, SchemaLosses, SchemaSource, Status};

use super::files;

/// Expected result of decoding a file: number of records, and number of exactly decoded records by schema source.
struct ExpectedResult {
    file: &'static str,
    records: u64,
    exact: &'static [(SchemaSource, u64)],
    /// Provider and event, decoding status, count.
    exceptions: &'static [(&'static str, Status, u64)],
}

use SchemaSource::{Catalog, Embedded, Kernel, TraceLogging};

const FILES: &[ExpectedResult] = &[
    all_exact("AMSITrace.etl", 21, &[(Kernel, 2), (TraceLogging, 19)]),
    all_exact("CldFlt0.etl", 17, &[(Kernel, 4)]),
    all_exact("CldFlt1.etl", 7, &[(Kernel, 4)]),
    all_exact("CldFlt2.etl", 2, &[(Kernel, 2)]),
    all_exact("Process.etl", 10344, &[(Kernel, 1), (Catalog, 10343)]),
    all_exact("SelfDescribingSingleEvent.etl", 23, &[(Kernel, 22), (TraceLogging, 1)]),
    all_exact("ShutdownPerfDiagLogger.etl", 17078, &[(Kernel, 17078)]),
    all_exact("TraceLoggingTester.etl.xz", 172_716, &[(Kernel, 125_156), (Embedded, 47490), (TraceLogging, 70)]),
    all_exact("WindowsUpdate.20251008.140245.443.8.etl", 82, &[(Kernel, 2), (TraceLogging, 80)]),
    all_exact("diagsession-diaghub.kernel.1.etl", 16335, &[(Kernel, 16334)]),
    all_exact(
        "diagsession-diaghub.user_paged.1.etl.xz",
        22035,
        &[(Kernel, 1), (Catalog, 21757), (Embedded, 20), (TraceLogging, 256)],
    ),
    all_exact("gcevents.etl", 71, &[(Kernel, 2), (Catalog, 69)]),
    all_exact("gcrundownevents.etl", 112, &[(Kernel, 2), (Catalog, 110)]),
    all_exact("lxcore_kernel.etl", 4, &[(Kernel, 2), (TraceLogging, 2)]),
    ExpectedResult {
        file: "net.4.5.2.x64.etl",
        records: 179_474,
        exact: &[(Kernel, 111_331), (Catalog, 1363), (Embedded, 51531)],
        exceptions: &[
            // Declared as an array of two elements, but of variable length.
            ("Microsoft-Windows-DotNETRuntime/CLRStack", Status::Trailing, 14983),
            GC_PER_HEAP_HISTORY_X64,
            CLR_ENABLE_PARAMETERS,
        ],
    },
    ExpectedResult {
        file: "net.4.5.x86-2016.etl.xz",
        records: 185_961,
        exact: &[(Kernel, 63673), (Catalog, 121_095), (Embedded, 141)],
        exceptions: &[GC_PER_HEAP_HISTORY_X86, CLR_ENABLE_PARAMETERS],
    },
    all_exact("powershell.etl", 114, &[(Kernel, 2), (Catalog, 112)]),
    all_exact("primitive-types.etl", 7, &[(Kernel, 2), (TraceLogging, 5)]),
    all_exact("smallEtlFile.etl", 2, &[(Kernel, 1), (Catalog, 1)]),
    all_exact("sawbuck/image_data_32_v0.etl", 27, &[(Kernel, 27)]),
    all_exact("sawbuck/image_data_32_v2.etl", 27, &[(Kernel, 27)]),
    all_exact("sawbuck/process_data_32_v1.etl", 3, &[(Kernel, 3)]),
    all_exact("sawbuck/rel0671_image_data_32_v1.etl", 27, &[(Kernel, 27)]),
    all_exact("sawbuck/test_data_32_v0.etl", 27, &[(Kernel, 27)]),
    all_exact("sawbuck/test_data_32_v2.etl", 27, &[(Kernel, 27)]),
];

/// The manifest declares one field fewer than the program writes.
const CLR_ENABLE_PARAMETERS: (&str, Status, u64) = ("PerfView/ClrEnableParameters", Status::Trailing, 2);

/// The manifest declares no fields for this version.
const GC_PER_HEAP_HISTORY_X64: (&str, Status, u64) = (GC_PER_HEAP_HISTORY, Status::Trailing, 264);
const GC_PER_HEAP_HISTORY_X86: (&str, Status, u64) = (GC_PER_HEAP_HISTORY, Status::Trailing, 1050);
const GC_PER_HEAP_HISTORY: &str = "Microsoft-Windows-DotNETRuntimePrivate/GCPerHeapHistory";

const fn all_exact(file: &'static str, records: u64, exact: &'static [(SchemaSource, u64)]) -> ExpectedResult {
    ExpectedResult { file, records, exact, exceptions: &[] }
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
        let records = files::for_each(&bytes, |record| {
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
