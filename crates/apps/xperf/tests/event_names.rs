//! The book's page of event names, fields and columns: written by `make reference`, checked against the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use onoff_sources::{EventFilter, EventStream, known_kernel_events, known_provider_events, xperf_event_names};
use onoff_trace::EventOrigin;
use onoff_xperf::layouts::dumper::has_columns;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/src/reference/event-names.md");
const SAMPLES_HEADING: &str = "## Public recordings\n";

const BEGINNING: &str = "\
# Names of events

Names of events, and whether their fields are known without a manifest and without a description in the recording. Written by `make reference`; a test compares this page
with the code. Descriptions in a recording and `--manifest` add to it.

";

/// Generates the part of the page about kernel events and providers.
fn catalog_part() -> String {
    let mut text = BEGINNING.to_owned();
    let events = known_kernel_events();
    let names: BTreeMap<u16, &str> = xperf_event_names().collect();
    let described = events.iter().filter(|event| event.layouts > 0).count();
    writeln!(
        text,
        "## The kernel\n\n{} event types, {described} with fields, {} with xperf's name in a dump.\n",
        events.len(),
        names.len()
    )
    .unwrap();
    text += "| class | events | with fields | with xperf's name | with its columns |\n| --- | ---: | ---: | ---: | ---: |\n";
    let classes: BTreeSet<&str> = events.iter().map(|event| &*event.class).collect();
    for class in classes {
        let class_events: Vec<_> = events.iter().filter(|event| &*event.class == class).collect();
        let name = |hook: u16| names.get(&hook).copied();
        let counts = [
            class_events.len(),
            class_events.iter().filter(|event| event.layouts > 0).count(),
            class_events.iter().filter(|event| name(event.hook).is_some()).count(),
            class_events.iter().filter(|event| name(event.hook).is_some_and(has_columns)).count(),
        ];
        let [total, with_fields, with_name, with_columns] = counts;
        writeln!(text, "| {class} | {total} | {with_fields} | {with_name} | {with_columns} |").unwrap();
    }

    text += "\nNames in a dump, and the kernel events with these names. Rows without xperf's columns have the fields of the event's class. \
             These rows do not come from kernel events: `Pmc`, `ImageId`, `VolumeMapping`, `WinSAT_…`.\n\n";
    text += "| name | event of the kernel | columns |\n| --- | --- | --- |\n";
    let mut hooks: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (&hook, &name) in &names {
        let event = events.iter().find(|event| event.hook == hook);
        let class_suffix = event.map_or_else(String::new, |event| format!(" {}/{}", event.class, event.name));
        hooks.entry(name).or_default().push(format!("`{hook:#06x}`{class_suffix}"));
    }
    for (name, hooks) in hooks {
        let columns = if has_columns(name) { "xperf's" } else { "the class's" };
        writeln!(text, "| `{name}` | {} | {columns} |", hooks.join(", ")).unwrap();
    }

    let providers = known_provider_events();
    let with_events: Vec<_> = providers.iter().filter(|provider| provider.events > 0).collect();
    writeln!(
        text,
        "\n## Providers\n\n{} providers. For {} of them, {} events (counting each version) are known with all their fields; for the other {}, only the name \
         (`onoff xperf -providers` lists all).\n",
        providers.len(),
        with_events.len(),
        with_events.iter().map(|provider| provider.events).sum::<usize>(),
        providers.len() - with_events.len()
    )
    .unwrap();
    text += "| provider | events | GUID |\n| --- | ---: | --- |\n";
    for provider in with_events {
        writeln!(text, "| {} | {} | `{}` |", provider.name, provider.events, provider.guid).unwrap();
    }
    text
}

/// Number of events of a recording by how much is known about them.
#[derive(Default)]
struct Coverage {
    events: u64,
    /// Events with fields.
    described: u64,
    /// WPP messages, whose text is in a file of the program that logged them.
    messages: u64,
    /// Events from a provider with a known name.
    named_provider: u64,
}

fn coverage(path: &Path) -> Option<Coverage> {
    let options = onoff_sources::Options::default();
    let files = onoff_files::open_all(&[path.to_owned()], &options.limits).ok()?;
    let mut coverage = Coverage::default();
    let stream = EventStream::open(&files, &options).ok()?.without_stack_fields();
    let end = stream.for_each(&EventFilter::default(), &options, |event| {
        coverage.events += 1;
        match event.origin {
            EventOrigin::Message => coverage.messages += 1,
            _ if event.described => coverage.described += 1,
            _ if !event.guid.is_empty() && event.provider != event.guid => coverage.named_provider += 1,
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    assert!(end.outcome.is_continue());
    Some(coverage)
}

/// Generates the part of the page about public recordings; `None` if they are not available.
fn samples_part() -> Option<String> {
    let folder = onoff_testkit::real_recordings::samples_folder("etl")?;
    let in_folder = |folder: &Path| -> Vec<PathBuf> {
        let mut recordings: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        recordings
            .retain(|path| [".etl", ".etl.xz"].iter().any(|extension| path.to_string_lossy().ends_with(extension)));
        recordings.sort();
        recordings
    };
    let mut text = SAMPLES_HEADING.to_owned();
    text += "\nEvents of the public recordings that onoff is tested with. *Messages* are software tracing (WPP), whose text is in a `.tmf` file of the program that logged them.\n\n";
    text += "| recording | events | with fields | messages | provider's name only | neither |\n| --- | ---: | ---: | ---: | ---: | ---: |\n";
    let mut total = Coverage::default();
    let mut line = |name: &str, coverage: &Coverage| {
        let neither = coverage.events - coverage.described - coverage.messages - coverage.named_provider;
        writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {neither} |",
            coverage.events, coverage.described, coverage.messages, coverage.named_provider
        )
        .unwrap();
    };
    for path in in_folder(&folder).into_iter().chain(in_folder(&folder.join("sawbuck"))) {
        let Some(coverage) = coverage(&path) else {
            continue;
        };
        line(&path.file_name().unwrap().to_string_lossy(), &coverage);
        total.events += coverage.events;
        total.described += coverage.described;
        total.messages += coverage.messages;
        total.named_provider += coverage.named_provider;
    }
    line("all", &total);
    Some(text)
}

#[test]
fn reference_page_is_up_to_date() {
    let stored = std::fs::read_to_string(PAGE).unwrap_or_default();
    let (_, stored_samples) = stored.split_once(SAMPLES_HEADING).unwrap_or_default();
    // Without the recordings, keep the stored part.
    let samples = samples_part().unwrap_or_else(|| format!("{SAMPLES_HEADING}{stored_samples}"));
    let page = format!("{}\n{samples}", catalog_part());
    if std::env::var_os("ONOFF_WRITE_REFERENCE").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let stored = std::fs::read_to_string(PAGE).unwrap();
    assert_eq!(stored, page, "docs/src/reference/event-names.md is not up to date: make reference");
}

#[test]
fn kernel_events_with_xperf_names_have_fields() {
    let events = known_kernel_events();
    for (hook, name) in xperf_event_names() {
        let event = events.iter().find(|event| event.hook == hook);
        assert!(event.is_some_and(|event| event.layouts > 0), "{hook:#06x} {name}");
    }
}
