//! Tests real recordings, if the samples folder is available: `ONOFF_SAMPLES`, or `shared/samples` next to the
//! workspace.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use onoff_files::{Options, open};
use onoff_sources::Limits;
use onoff_trace::{TableName, TableSet, Trace};

fn samples() -> Option<PathBuf> {
    onoff_testkit::real_recordings::samples_folder("etl")
}

/// Returns the path of a sample, packed or not.
fn sample(folder: &Path, name: &str) -> PathBuf {
    let plain = folder.join(name);
    if plain.exists() { plain } else { folder.join(format!("{name}.xz")) }
}

fn read(path: PathBuf, wanted: TableSet) -> Trace {
    open(std::slice::from_ref(&path), wanted, &Options::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the file names, event counts and processor counts from the table in SOURCES.md.
fn listed_samples(folder: &Path) -> Vec<(String, u64, u32)> {
    let text = std::fs::read_to_string(folder.join("SOURCES.md")).unwrap();
    text.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, name, events, _, _, processors, ..] = cells[..] else {
                return None;
            };
            Some((name.into(), events.parse().ok()?, processors.parse().ok()?))
        })
        .collect()
}

#[test]
fn inventory_counts_every_event() {
    let Some(folder) = samples() else { return };
    let listed = listed_samples(&folder);
    assert!(listed.len() >= 20, "too few samples in the table: {}", listed.len());
    for (name, events, processors) in listed {
        let trace = read(sample(&folder, &name), TableSet::from_names(&[TableName::Inventory]));
        let inventory = trace.inventory.unwrap();
        assert_eq!(inventory.events, events, "{name}");
        let by_provider: u64 = inventory.providers.iter().map(|row| row.events).sum();
        let by_kind: u64 = inventory.kinds.iter().map(|row| row.events).sum();
        assert_eq!((by_provider, by_kind), (events, events), "{name}");
        assert!(trace.system.processors >= processors, "{name}");
        assert_eq!(trace.losses.count("bad_record"), 0, "{name}");
        assert_eq!(trace.losses.count("short_payload"), 0, "{name}");
    }
}

#[test]
fn names_the_60_processes_that_exit_in_a_shutdown() {
    let Some(folder) = samples() else { return };
    let trace = read(
        sample(&folder, "ShutdownPerfDiagLogger.etl"),
        TableSet::from_names(&[TableName::Processes, TableName::Threads, TableName::Images]),
    );
    let exits: Vec<&str> = trace
        .processes
        .iter()
        .filter(|process| process.end_ns.is_some())
        .map(|process| trace.text(process.image))
        .collect();
    assert_eq!(exits.len(), 60);
    assert!(exits.iter().all(|image| !image.is_empty()));
    for image in ["explorer.exe", "svchost.exe", "sihost.exe", "MsMpEng.exe"] {
        assert!(exits.contains(&image), "{image} is among {exits:?}");
    }
    assert!(trace.processes.iter().all(|process| { process.end_ns.is_none_or(|end_ns| end_ns <= trace.duration_ns) }));
    assert_eq!(trace.losses.count("short_payload"), 0);
}

/// Reads the counts per kind at the end of another reader's baseline.
fn baseline(folder: &Path, name: &str) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(folder.join("baseline").join(name)).unwrap();
    text.lines()
        .filter_map(|line| {
            let (kind, count) = line.strip_prefix("COUNT ")?.rsplit_once(':')?;
            Some((kind.into(), count.parse().ok()?))
        })
        .collect()
}

/// Counts the samples that the baseline ignores: samples of the idle thread outside interrupts and DPCs.
fn idle_samples(folder: &Path, name: &str) -> usize {
    let files = onoff_files::open_all(&[sample(folder, &format!("{name}.etl"))], &Limits::default()).unwrap();
    let recording = onoff_etl::Recording::open(&files.inputs()).unwrap();
    let mut idle = 0;
    let walk = recording.for_each(|record| {
        if let Some(sample) = onoff_etw::kernel::SampledProfile::parse(record) {
            idle += usize::from(sample.thread_id == 0 && sample.flags & 3 == 0);
        }
        ControlFlow::<()>::Continue(())
    });
    assert!(walk.outcome.is_continue());
    idle
}

#[test]
fn table_sizes_match_another_reader() {
    let Some(folder) = samples() else { return };
    for name in ["net.4.5.2.x64", "net.4.5.x86-2016"] {
        let counts = baseline(&folder, &format!("{name}.baseline.txt"));
        let count = |kind: &str| counts[&format!("Windows Kernel/{kind}")] as usize;
        let trace = read(sample(&folder, &format!("{name}.etl")), TableSet::all().without(TableName::Events));
        assert_eq!(
            trace.disk_ios.len(),
            count("DiskIO/Read") + count("DiskIO/Write") + count("DiskIO/FlushBuffers"),
            "{name}: disk requests"
        );
        assert_eq!(trace.hard_faults.len(), count("Memory/HardFault"), "{name}");
        let started = trace.processes.iter().filter(|process| process.start_ns.is_some());
        assert_eq!(started.count(), count("Process/Start"), "{name}");
        let ended = trace.processes.iter().filter(|process| process.end_ns.is_some());
        assert_eq!(ended.count(), count("Process/Stop"), "{name}");
        assert_eq!(trace.processes.len(), count("Process/Start") + count("Process/DCStart"), "{name}: processes");
        let started = trace.threads.iter().filter(|thread| thread.start_ns.is_some());
        assert_eq!(started.count(), count("Thread/Start"), "{name}");
        let ended = trace.threads.iter().filter(|thread| thread.end_ns.is_some());
        assert_eq!(ended.count(), count("Thread/Stop"), "{name}");
        let loaded = trace.images.iter().filter(|image| image.load_ns.is_some());
        assert_eq!(loaded.count(), count("Image/Load"), "{name}");
        let unloaded = trace.images.iter().filter(|image| image.unload_ns.is_some());
        assert_eq!(unloaded.count(), count("Image/Unload"), "{name}");
        let inventory = trace.inventory.as_ref().unwrap();
        let sample_kinds = inventory.kinds.iter().filter(|kind| kind.id == 0x0f2e);
        let sample_count: u64 = sample_kinds.map(|kind| kind.events).sum();
        assert_eq!(trace.samples.len() as u64, sample_count, "{name}");
        assert_eq!(sample_count as usize - idle_samples(&folder, name), count("PerfInfo/Sample"), "{name}");
        assert_eq!(trace.system.disks.len(), count("SystemConfig/PhyDisk"));
        assert_eq!(trace.losses.count("short_payload"), 0, "{name}");
        assert_eq!(trace.losses.count("disk_start_missing"), 0, "{name}");
    }
}

#[test]
fn modules_have_symbol_identities() {
    let Some(folder) = samples() else { return };
    let trace = read(sample(&folder, "net.4.5.2.x64.etl"), TableSet::from_names(&[TableName::Images]));
    let identity = |base: u64| {
        let image = trace.images.iter().find(|image| image.base == base);
        image.map(|image| (trace.text(image.pdb_name), trace.text(image.pdb_id)))
    };
    // The baseline contains the start of some identities: base, first digits of the GUID, age, name.
    let text = std::fs::read_to_string(folder.join("baseline/net.4.5.2.x64.baseline.txt")).unwrap();
    let mut compared = 0;
    for line in text.lines().filter(|line| line.contains("DbgID_RSDS PID=")) {
        let field = |name: &str| {
            let (_, rest) = line.split_once(&format!(" {name}="))?;
            rest.split(';').next()
        };
        let base = field("ImageBase").unwrap().trim_start_matches("0x");
        let base = u64::from_str_radix(base, 16).unwrap();
        let digits = field("GuidSig").unwrap().trim_end_matches('.');
        let digits = digits.replace('-', "").to_ascii_uppercase();
        let age = field("Age").unwrap();
        let (name, id) = identity(base).unwrap_or_else(|| panic!("no module at {base:#x}"));
        assert_eq!(name, field("PDBFileName").unwrap());
        assert!(id.starts_with(&digits), "{id} does not start with {digits}");
        assert_eq!(&id[32..], format!("{:X}", age.parse::<u32>().unwrap()));
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
    let identified = trace.images.iter().filter(|image| !image.pdb_id.is_empty());
    assert!(identified.count() * 10 >= trace.images.len() * 9);
}

#[test]
fn resolves_keyed_stacks() {
    let Some(folder) = samples() else { return };
    let trace = read(sample(&folder, "net.4.5.2.x64.etl"), TableSet::from_names(&[TableName::Stacks]));
    assert!(trace.stacks.len() > 1000);
    let resolved = trace.stacks.iter().filter(|stack| !trace.stack_pool.get(stack.stack).is_empty());
    let unresolved = trace.losses.count("stack_key_unknown") as usize;
    assert_eq!(resolved.count() + unresolved, trace.stacks.len());
    assert!(unresolved * 100 <= trace.stacks.len(), "{unresolved}");
}

#[test]
fn reads_processes_from_provider_events() {
    let Some(folder) = samples() else { return };
    let trace = read(sample(&folder, "Process.etl"), TableSet::all().without(TableName::Events));
    let inventory = trace.inventory.as_ref().unwrap();
    let count = |id: u32| {
        let provider = "Microsoft-Windows-Kernel-Process";
        let kinds = inventory.kinds.iter();
        let matching_kinds = kinds.filter(|kind| kind.provider == provider && kind.id == id);
        matching_kinds.map(|kind| kind.events as usize).sum::<usize>()
    };
    let started = trace.processes.iter().filter(|process| process.start_ns.is_some());
    assert_eq!(started.count(), count(1));
    let ended = trace.processes.iter().filter(|process| process.end_ns.is_some());
    assert_eq!(ended.count(), count(2));
    let threads = trace.threads.iter().filter(|thread| thread.start_ns.is_some());
    assert_eq!(threads.count(), count(3));
    let loads = trace.images.iter().filter(|image| image.load_ns.is_some());
    assert_eq!(loads.count(), count(5));
    assert_eq!(trace.losses.count("phase_event_unreadable"), 0);
}

#[test]
fn generic_events_have_fields() {
    let Some(folder) = samples() else { return };
    let trace = read(sample(&folder, "HTTP_Server.etl"), TableSet::from_names(&[TableName::Events]));
    assert_eq!(trace.events.len(), 2041);
    let fields: u64 = trace.events.iter().map(|event| u64::from(event.fields)).sum();
    assert_eq!(trace.event_fields.len() as u64, fields);
    let last_event = trace.events.iter().last().unwrap();
    assert_eq!(last_event.first_field + u64::from(last_event.fields), fields);
}

#[test]
fn manifest_takes_precedence_over_catalog() {
    let Some(folder) = samples() else { return };
    let paths = [sample(&folder, "HTTP_Server.etl")];
    let wanted = TableSet::from_names(&[TableName::Events]);
    let field_names = |options: &Options| -> Vec<String> {
        let trace = open(&paths, wanted, options).unwrap();
        assert_eq!(trace.events.len(), 2041);
        assert_eq!(trace.losses.count("schema_unknown"), 0);
        assert_eq!(trace.losses.count("event_fields_incomplete"), 0);
        trace.event_fields.iter().map(|field| trace.text(field.name).to_owned()).collect()
    };
    let catalog_names = field_names(&Options::default());
    assert!(catalog_names.iter().any(|name| name == "RequestId"));
    assert!(!catalog_names.iter().any(|name| name == "Payload"));

    let manifest = std::fs::read_to_string(folder.join("HTTP_Server.man")).unwrap();
    let changed_manifest = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(changed_manifest.path(), manifest.replace("\"RequestId\"", "\"NumberOfTheRequest\"")).unwrap();
    let manifest_names =
        field_names(&Options { manifests: vec![changed_manifest.path().to_owned()], ..Options::default() });
    let renamed = catalog_names.iter().map(|name| match name.as_str() {
        "RequestId" => "NumberOfTheRequest",
        name => name,
    });
    assert!(manifest_names.iter().eq(renamed));
}

#[test]
fn reads_classic_logs_of_every_version_and_width() {
    let Some(folder) = samples() else { return };
    let mut files = 0;
    for entry in std::fs::read_dir(folder.join("sawbuck")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let trace = read(path, TableSet::all());
        assert_eq!(trace.losses.count("short_payload"), 0, "{name}");
        assert_eq!(trace.losses.count("bad_record"), 0, "{name}");
        files += 1;
        // A 32-bit program replayed the 64-bit layouts, so the headers contain a pointer size of 4 bytes.
        if name.contains("_64_") {
            continue;
        }
        let images: Vec<&str> = trace.processes.iter().map(|process| trace.text(process.image)).collect();
        if name.contains("process") {
            // Some recordings start with the existing processes.
            let existing_images = ["Idle", "System", "smss.exe"];
            assert_eq!(images.last(), Some(&"notepad.exe"), "{name}");
            assert!(images.len() == 1 || images[..3] == existing_images, "{name}: {images:?}");
            let last_process = trace.processes.iter().last().unwrap();
            assert!(last_process.start_ns.is_some() && last_process.end_ns > last_process.start_ns, "{name}");
        } else {
            assert_eq!(trace.images.len(), 25, "{name}");
            assert!(trace.images.iter().all(|image| !image.path.is_empty()), "{name}");
        }
    }
    assert!(files >= 14, "{files}");
}

#[test]
fn dotnet_methods_match_the_rundown() {
    let Some(folder) = samples() else { return };
    // 290 methods were loaded during the recording, and 288 of them were unloaded; the rundown at the end lists 16,702
    // including the other two.
    let trace = read(sample(&folder, "net.4.5.2.x64.etl"), TableSet::from_names(&[TableName::Methods]));
    let loaded = trace.methods.iter().filter(|row| row.start_ns.is_some());
    assert_eq!(loaded.count(), 290);
    let unloaded = trace.methods.iter().filter(|row| row.end_ns.is_some());
    assert_eq!(unloaded.count(), 288);
    assert_eq!(trace.methods.len(), 16_702 + 288);
    let with_module = trace.methods.iter().filter(|row| !trace.text(row.module).is_empty()).count();
    assert!(with_module * 100 > trace.methods.len() * 99, "{with_module} of {}", trace.methods.len());
}
