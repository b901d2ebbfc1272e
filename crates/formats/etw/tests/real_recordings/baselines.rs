//! Event counts by kind, compared with those of another reader (PerfView).

use std::collections::BTreeMap;

use onoff_etw::kernel::SampledProfile;
use onoff_etw::{SchemaSource, Schemas};

use super::files;

/// PerfView's name of a kernel event. PerfView merges or renames some kinds.
fn baseline_name(class: &str, event: &str) -> Option<String> {
    let class = match class {
        "DiskIo" => "DiskIO",
        "PageFault" => "Memory",
        "SystemConfigEx" => "SysConfig",
        class => class,
    };
    let event = match (class, event) {
        ("EventTrace", "Header") => return Some("Windows Kernel/EventTrace".to_owned()),
        ("EventTrace", "RDComplete") => "RundownComplete",
        ("PerfInfo", "SampledProfile") => "Sample",
        ("Process" | "Thread", "End") => "Stop",
        ("Process" | "Thread" | "Image", "DCEnd") => "DCStop",
        ("Image", "UnLoad") => "Unload",
        ("Image", "KernelBase") => return Some("MSNT_SystemTrace/Image/KernelBase".to_owned()),
        ("SystemConfig", "Platform") => {
            return Some("MSNT_SystemTrace/SystemConfig/Platform".to_owned());
        }
        ("SysConfig", "NetworkInterface") => return None,
        ("SysConfig", "DeviceFamily") => "Opcode(37)",
        ("ImageId", "Info") => return Some("KernelTraceControl/ImageID".to_owned()),
        ("ImageId", event) => return Some(format!("KernelTraceControl/ImageID/{event}")),
        ("EventMetadata", event) => return Some(format!("KernelTraceControl/MetaData/{event}")),
        // PerfView attaches these to events or files.
        ("StackWalk" | "FileIo", _) => return None,
        (_, event) => event,
    };
    Some(format!("Windows Kernel/{class}/{event}"))
}

/// Kinds that PerfView does not count: it uses thread rundowns internally, and does not know the others.
const NOT_COUNTED_BY_PERFVIEW: [&str; 5] = [
    "Windows Kernel/Image/HypercallPage",
    "Windows Kernel/SystemConfig/DPI",
    "Windows Kernel/SystemConfig/OpticalDisk",
    "Windows Kernel/Thread/DCStart",
    "Windows Kernel/Thread/DCStop",
];

fn compare(file: &str, baseline: &str, expected_kinds: usize) {
    let Some(bytes) = files::read(file) else {
        return;
    };
    let Some(baseline) = files::read(&format!("baseline/{baseline}")) else {
        return;
    };
    let baseline = String::from_utf8(baseline).expect("UTF-8");
    let expected: BTreeMap<String, u64> = baseline
        .lines()
        .filter_map(|line| line.strip_prefix("COUNT ")?.rsplit_once(':'))
        .map(|(name, count)| (name.to_owned(), count.parse().expect("a count")))
        .collect();

    let schemas: Schemas = files::learn(&bytes);
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    files::for_each(&bytes, |record| {
        let description = schemas.describe(record);
        // PerfView ignores samples of idle processors.
        let is_idle_sample =
            SampledProfile::parse(record).is_some_and(|sample| sample.thread_id == 0 && !sample.is_in_dpc_or_isr());
        let name = match description.source {
            _ if is_idle_sample => None,
            SchemaSource::Kernel => baseline_name(description.provider, description.event),
            SchemaSource::Embedded if description.provider == "PerfView" => Some(match description.opcode {
                opcode @ ("Start" | "Stop") => format!("PerfView/{}/{opcode}", description.task),
                _ => format!("PerfView/{}", description.task),
            }),
            _ => None,
        };
        if let Some(name) = name {
            *counted.entry(name).or_default() += 1;
        }
    });
    let kernel_prefixes = ["Windows Kernel/", "KernelTraceControl/", "MSNT_SystemTrace/", "PerfView/"];
    let mut compared = 0;
    for (name, count) in &expected {
        if kernel_prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            assert_eq!(counted.get(name), Some(count), "{file}: {name}");
            compared += 1;
        }
    }
    for name in counted.keys().filter(|name| !NOT_COUNTED_BY_PERFVIEW.contains(&name.as_str())) {
        assert!(expected.contains_key(name), "{file}: {name} is not in the baseline");
    }
    assert_eq!(compared, expected_kinds, "{file}: kinds compared");
}

#[test]
fn counts_match_for_windows_8_recording() {
    compare("net.4.5.2.x64.etl", "net.4.5.2.x64.baseline.txt", 70);
}

#[test]
fn counts_match_for_windows_7_recording() {
    compare("net.4.5.x86-2016.etl.xz", "net.4.5.x86-2016.baseline.txt", 67);
}
