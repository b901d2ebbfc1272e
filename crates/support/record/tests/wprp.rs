//! Checks the recording profile against Microsoft's documentation: "Authoring Recording Profiles" (order of
//! definitions, file and memory versions, form of identifiers), the page of each element (attributes, children), and
//! "WPRControlProfiles Schema" (values).
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashSet;

use onoff_record::windows::profile::profile_xml;
use roxmltree::{Document, Node};

/// Required and optional attributes of an element, and its children in order.
struct Rule {
    element: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    children: &'static [&'static str],
}

const fn rule(
    element: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    children: &'static [&'static str],
) -> Rule {
    Rule { element, required, optional, children }
}

const RULES: [Rule; 20] = [
    rule(
        "WindowsPerformanceRecorder",
        &["Version", "Author"],
        &["Team", "Copyright", "Company", "Comments", "Tag"],
        &["Profiles", "TraceMergeProperties", "OnOffTransitionConfigurations"],
    ),
    rule(
        "Profiles",
        &[],
        &[],
        &[
            "SystemCollector",
            "EventCollector",
            "HeapEventCollector",
            "SystemProvider",
            "EventProvider",
            "HeapEventProvider",
            "Profile",
        ],
    ),
    rule("SystemCollector", &["Id", "Name"], &["Base", "Realtime"], &["BufferSize", "Buffers", "StackCaching"]),
    rule(
        "EventCollector",
        &["Id", "Name"],
        &["Base", "Private", "ProcessPrivate", "Secure", "Realtime"],
        &["BufferSize", "Buffers", "StackCaching"],
    ),
    rule("BufferSize", &["Value"], &[], &[]),
    rule("Buffers", &["Value"], &["PercentageOfTotalMemory", "MaximumBufferSpace"], &[]),
    rule(
        "SystemProvider",
        &["Id"],
        &["Base"],
        &["Keywords", "CaptureStateOnStart", "CaptureStateOnSave", "CaptureStateOnDemand", "Stacks", "PoolTags"],
    ),
    rule(
        "EventProvider",
        &["Id", "Name"],
        &["Base", "NonPagedMemory", "Stack", "SID", "TSID", "Level", "CaptureStateOnly", "Strict", "EventKey"],
        &["Keywords", "CaptureStateOnStart", "CaptureStateOnSave", "CaptureStateOnDemand", "Stacks", "EventFilters"],
    ),
    rule("Keywords", &[], &["Operation"], &["Keyword"]),
    rule("Keyword", &["Value"], &["Strict"], &[]),
    rule("Stacks", &[], &["Operation"], &["Stack"]),
    rule("Stack", &["Value"], &[], &[]),
    rule(
        "Profile",
        &["Id", "Name", "Description", "LoggingMode", "DetailLevel"],
        &["Base", "Strict", "Internal", "Default"],
        &["ProblemCategories", "Collectors", "TraceMergeProperties"],
    ),
    rule("ProblemCategories", &[], &["Operation"], &["ProblemCategory"]),
    rule("ProblemCategory", &["Value"], &[], &[]),
    rule("Collectors", &[], &["Operation"], &["SystemCollectorId", "EventCollectorId", "HeapEventCollectorId"]),
    rule("SystemCollectorId", &["Value"], &[], &["BufferSize", "Buffers", "SystemProviderId", "SystemProvider"]),
    rule("EventCollectorId", &["Value"], &[], &["BufferSize", "Buffers", "EventProviders"]),
    rule("EventProviders", &[], &["Operation"], &["EventProviderId", "EventProvider"]),
    rule("SystemProviderId", &["Value"], &[], &["Keywords", "Stacks", "PoolTags"]),
];

const ID_RULE: Rule =
    rule("EventProviderId", &["Value"], &[], &["Keywords", "CaptureStateOnStart", "CaptureStateOnSave"]);

/// Values of `SystemKeywordEnumeration` that are useful for on/off transitions.
const SYSTEM_KEYWORDS: [&str; 24] = [
    "AllFaults",
    "Alpc",
    "CompactCSwitch",
    "CpuConfig",
    "CSwitch",
    "DiskIO",
    "DiskIOInit",
    "DPC",
    "Drivers",
    "FileIO",
    "FileIOInit",
    "Filename",
    "FilterIO",
    "HardFaults",
    "Interrupt",
    "Loader",
    "MemoryInfo",
    "NetworkTrace",
    "Power",
    "Priority",
    "ProcessThread",
    "ReadyThread",
    "Registry",
    "SampledProfile",
];
const SYSTEM_STACKS: [&str; 6] =
    ["SampledProfile", "CSwitch", "ReadyThread", "ThreadCreate", "ProcessCreate", "ImageLoad"];
const SYSTEM_COLLECTORS: [&str; 2] = ["NT Kernel Logger", "Circular Kernel Context Logger"];

fn check(node: Node<'_, '_>) {
    let name = node.tag_name().name();
    let rule = RULES.iter().find(|rule| rule.element == name).unwrap_or(&ID_RULE);
    assert_eq!(rule.element, name, "an element that is not in the schema");
    for required in rule.required {
        assert!(node.has_attribute(*required), "{name} without {required}");
    }
    for attribute in node.attributes() {
        let is_in_schema = rule.required.contains(&attribute.name()) || rule.optional.contains(&attribute.name());
        assert!(is_in_schema, "{name} with {}", attribute.name());
    }
    let mut previous = 0;
    for child in node.children().filter(Node::is_element) {
        let child_name = child.tag_name().name();
        let position = rule.children.iter().position(|child| *child == child_name);
        let position = position.unwrap_or_else(|| panic!("{child_name} in {name}"));
        assert!(position >= previous, "{child_name} in {name} comes too late");
        previous = position;
        check(child);
    }
}

fn all<'a>(document: &'a Document<'_>, name: &str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| node.tag_name().name() == name).collect()
}

#[test]
fn elements_and_attributes_match_schema() {
    let text = profile_xml();
    let document = Document::parse(&text).unwrap();
    assert_eq!(document.root_element().tag_name().name(), "WindowsPerformanceRecorder");
    check(document.root_element());
}

#[test]
fn identifiers_are_unique_and_references_resolve() {
    let text = profile_xml();
    let document = Document::parse(&text).unwrap();
    let mut definitions: HashSet<(&str, &str)> = HashSet::new();
    for node in document.descendants() {
        let Some(id) = node.attribute("Id") else {
            continue;
        };
        assert!(!id.is_empty() && !id.contains([':', ' ']), "{id}");
        assert!(definitions.insert((node.tag_name().name(), id)), "{id} twice");
    }
    let mut references = 0;
    for node in document.descendants() {
        if let Some(kind) = node.tag_name().name().strip_suffix("Id") {
            let id = node.attribute("Value").unwrap();
            assert!(definitions.contains(&(kind, id)), "{kind} {id} is not defined");
            references += 1;
        }
    }
    assert!(references > 40, "{references}");
}

#[test]
fn each_detail_level_has_file_and_memory_version() {
    let text = profile_xml();
    let document = Document::parse(&text).unwrap();
    let profiles = all(&document, "Profile");
    assert!((1..=4).contains(&profiles.len()));
    let mut versions = HashSet::new();
    for profile in profiles {
        let value = |name| profile.attribute(name).unwrap();
        assert_eq!(value("Id"), format!("{}.{}.{}", value("Name"), value("DetailLevel"), value("LoggingMode")));
        assert_eq!(value("Name"), "OnOff");
        assert!(["Light", "Verbose"].contains(&value("DetailLevel")));
        assert!(["File", "Memory"].contains(&value("LoggingMode")));
        versions.insert((value("DetailLevel"), value("LoggingMode")));
    }
    assert_eq!(versions.len(), 4);
}

#[test]
fn values_match_schema() {
    let text = profile_xml();
    let document = Document::parse(&text).unwrap();
    for collector in all(&document, "SystemCollector") {
        assert!(SYSTEM_COLLECTORS.contains(&collector.attribute("Name").unwrap()));
    }
    for keyword in all(&document, "Keyword") {
        let value = keyword.attribute("Value").unwrap();
        let owner = keyword.parent().unwrap().parent().unwrap();
        if owner.tag_name().name() == "SystemProvider" {
            assert!(SYSTEM_KEYWORDS.contains(&value), "{value}");
        } else {
            assert!(u64::from_str_radix(value.strip_prefix("0x").unwrap(), 16).is_ok(), "{value}");
        }
    }
    for stack in all(&document, "Stack") {
        assert!(SYSTEM_STACKS.contains(&stack.attribute("Value").unwrap()));
    }
    for provider in all(&document, "EventProvider") {
        assert!((1..=5).contains(&provider.attribute("Level").unwrap().parse::<u8>().unwrap()));
        let name = provider.attribute("Name").unwrap();
        assert_eq!(name.len(), 36, "a GUID: {name}");
        assert!(provider.attribute("NonPagedMemory").is_none_or(|value| value == "true"));
    }
    for buffers in all(&document, "Buffers") {
        let value: u32 = buffers.attribute("Value").unwrap().parse().unwrap();
        let is_percentage = buffers.attribute("PercentageOfTotalMemory") == Some("true");
        let max = if is_percentage { 100 } else { 1024 };
        assert!((1..=max).contains(&value));
    }
}

/// The copy in the repository is for users who do not have the program.
#[test]
fn profile_in_repository_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../windows/onoff.wprp");
    let committed = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    assert_eq!(committed, profile_xml(), "regenerate it with 'make reference'");
}
