//! The recording profile for the Windows Performance Recorder.
//!
//! Elements, attributes, values and order follow Microsoft's "Authoring Recording Profiles" and "WPRControlProfiles
//! Schema": collectors, system providers, event providers, profiles; each profile in a file and a memory version.

use super::providers::{KernelFlag, LIGHT, PROVIDERS, Provider, STACKS, VERBOSE};

/// Name of the profiles.
pub const NAME: &str = "OnOff";

/// Level of detail.
#[derive(Clone, Copy)]
enum Detail {
    Light,
    Verbose,
}

impl Detail {
    const ALL: [Self; 2] = [Self::Light, Self::Verbose];

    const fn word(self) -> &'static str {
        match self {
            Self::Light => "Light",
            Self::Verbose => "Verbose",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Light => "Turning on and off: how long",
            Self::Verbose => "Turning on and off: why, with stacks",
        }
    }

    /// Returns the number of 1 MiB buffers of the kernel logger when it writes to a file. A boot fills the default
    /// buffers faster than the disk can write them.
    const fn system_buffers(self) -> u32 {
        match self {
            Self::Light => 256,
            Self::Verbose => 512,
        }
    }

    fn flags(self) -> Vec<KernelFlag> {
        match self {
            Self::Light => LIGHT.to_vec(),
            Self::Verbose => LIGHT.iter().chain(&VERBOSE).copied().collect(),
        }
    }
}

/// Logging mode.
#[derive(Clone, Copy)]
enum Mode {
    File,
    Memory,
}

impl Mode {
    const ALL: [Self; 2] = [Self::File, Self::Memory];

    const fn word(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::Memory => "Memory",
        }
    }
}

/// Returns the profile as XML.
#[must_use]
pub fn profile_xml() -> String {
    let mut xml = Xml::default();
    xml.line("<?xml version=\"1.0\" encoding=\"utf-8\"?>");
    xml.line(&format!("<!-- Written by 'onoff record', version {}. -->", env!("CARGO_PKG_VERSION")));
    xml.open("WindowsPerformanceRecorder Version=\"1.0\" Author=\"onoff\"");
    xml.open("Profiles");
    collectors(&mut xml);
    for detail in Detail::ALL {
        system_provider(&mut xml, detail);
    }
    for provider in &PROVIDERS {
        event_provider(&mut xml, provider);
    }
    for detail in Detail::ALL {
        for mode in Mode::ALL {
            profile(&mut xml, detail, mode);
        }
    }
    xml.close("Profiles");
    xml.close("WindowsPerformanceRecorder");
    xml.text
}

fn collectors(xml: &mut Xml) {
    for detail in Detail::ALL {
        let word = detail.word();
        for mode in Mode::ALL {
            xml.open(&format!(
                "SystemCollector Id=\"SystemCollector_{word}_{}\" Name=\"NT Kernel Logger\"",
                mode.word()
            ));
            xml.empty("BufferSize Value=\"1024\"");
            match mode {
                Mode::File => xml.empty(&format!("Buffers Value=\"{}\"", detail.system_buffers())),
                // A ring buffer, saved when the recording stops.
                Mode::Memory => xml.empty("Buffers Value=\"15\" PercentageOfTotalMemory=\"true\""),
            }
            xml.close("SystemCollector");
        }
    }
    for mode in Mode::ALL {
        xml.open(&format!("EventCollector Id=\"EventCollector_{}\" Name=\"onoff\"", mode.word()));
        xml.empty("BufferSize Value=\"1024\"");
        match mode {
            Mode::File => xml.empty("Buffers Value=\"64\""),
            Mode::Memory => xml.empty("Buffers Value=\"5\" PercentageOfTotalMemory=\"true\""),
        }
        xml.close("EventCollector");
    }
}

fn system_provider(xml: &mut Xml, detail: Detail) {
    xml.open(&format!("SystemProvider Id=\"SystemProvider_{}\"", detail.word()));
    xml.open("Keywords");
    for flag in detail.flags() {
        xml.empty(&format!("Keyword Value=\"{}\"", flag.profile));
    }
    xml.close("Keywords");
    if matches!(detail, Detail::Verbose) {
        xml.open("Stacks");
        for stack in STACKS {
            xml.empty(&format!("Stack Value=\"{stack}\""));
        }
        xml.close("Stacks");
    }
    xml.close("SystemProvider");
}

fn event_provider(xml: &mut Xml, provider: &Provider) {
    // By GUID: providers can be found by name only once they are registered, which is too late for a boot.
    let non_paged = if provider.in_kernel { " NonPagedMemory=\"true\"" } else { "" };
    xml.open(&format!(
        "EventProvider Id=\"EventProvider_{}\" Name=\"{}\"{non_paged} Level=\"{}\"",
        provider.name, provider.guid, provider.level
    ));
    xml.open("Keywords");
    // Keyword 0 enables all keywords.
    let keyword = if provider.keyword == u64::MAX { 0 } else { provider.keyword };
    xml.empty(&format!("Keyword Value=\"{keyword:#x}\""));
    xml.close("Keywords");
    xml.close("EventProvider");
}

fn profile(xml: &mut Xml, detail: Detail, mode: Mode) {
    let (detail_word, mode_word) = (detail.word(), mode.word());
    xml.open(&format!(
        "Profile Id=\"{NAME}.{detail_word}.{mode_word}\" Name=\"{NAME}\" Description=\"{}\" LoggingMode=\"{mode_word}\" DetailLevel=\"{detail_word}\"",
        detail.description()
    ));
    xml.open("ProblemCategories");
    xml.empty("ProblemCategory Value=\"First Level Triage\"");
    xml.close("ProblemCategories");
    xml.open("Collectors");
    xml.open(&format!("SystemCollectorId Value=\"SystemCollector_{detail_word}_{mode_word}\""));
    xml.empty(&format!("SystemProviderId Value=\"SystemProvider_{detail_word}\""));
    xml.close("SystemCollectorId");
    xml.open(&format!("EventCollectorId Value=\"EventCollector_{mode_word}\""));
    xml.open("EventProviders");
    for provider in &PROVIDERS {
        xml.empty(&format!("EventProviderId Value=\"EventProvider_{}\"", provider.name));
    }
    xml.close("EventProviders");
    xml.close("EventCollectorId");
    xml.close("Collectors");
    xml.close("Profile");
}

/// Writes indented XML.
#[derive(Default)]
struct Xml {
    text: String,
    depth: usize,
}

impl Xml {
    fn line(&mut self, line: &str) {
        self.text += &"  ".repeat(self.depth);
        self.text += line;
        self.text.push('\n');
    }

    fn open(&mut self, tag: &str) {
        self.line(&format!("<{tag}>"));
        self.depth += 1;
    }

    fn empty(&mut self, tag: &str) {
        self.line(&format!("<{tag} />"));
    }

    fn close(&mut self, name: &str) {
        self.depth -= 1;
        self.line(&format!("</{name}>"));
    }
}
