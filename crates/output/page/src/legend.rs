//! Names of tones, track groups, step kinds and tables. They are sent with the page, so that TypeScript has no copy.

use onoff_blame::waits::StepKind;
use onoff_lanes::TrackGroup;
use onoff_lanes::path_tracks::step_tone;
use onoff_lanes::slices::Tone;
use serde::Serialize;

use crate::ranges::{SUBJECTS, Subject};

/// Names that the page displays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageLegend {
    /// Tones, indexed by number.
    pub tones: Vec<PageName>,
    /// Groups of tracks.
    pub groups: Vec<PageName>,
    /// Kinds of steps on the critical path.
    pub steps: Vec<PageStepKind>,
    /// Subjects of range tables.
    pub subjects: Vec<Subject>,
}

/// A serialized name with its display title.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageName {
    pub name: &'static str,
    pub title: &'static str,
}

/// A kind of step on the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageStepKind {
    pub name: &'static str,
    /// Index into `PageLegend::tones`.
    pub tone: u8,
}

impl Default for PageLegend {
    fn default() -> Self {
        Self {
            tones: Tone::ALL.iter().map(|&tone| tone_name(tone)).collect(),
            groups: GROUPS.iter().map(|&group| group_name(group)).collect(),
            steps: StepKind::ALL
                .iter()
                .map(|&kind| PageStepKind { name: kind.as_str(), tone: step_tone(kind) as u8 })
                .collect(),
            subjects: SUBJECTS.to_vec(),
        }
    }
}

const GROUPS: [TrackGroup; 13] = [
    TrackGroup::Firmware,
    TrackGroup::Network,
    TrackGroup::Requests,
    TrackGroup::Processors,
    TrackGroup::Disks,
    TrackGroup::CriticalPath,
    TrackGroup::Devices,
    TrackGroup::Services,
    TrackGroup::Session,
    TrackGroup::Notifications,
    TrackGroup::Power,
    TrackGroup::Processes,
    TrackGroup::Log,
];

fn group_name(group: TrackGroup) -> PageName {
    let (name, title) = match group {
        TrackGroup::Firmware => ("firmware", "Firmware"),
        TrackGroup::Network => ("network", "Network boot"),
        TrackGroup::Requests => ("requests", "File requests"),
        TrackGroup::Processors => ("processors", "CPU"),
        TrackGroup::Disks => ("disks", "Disks"),
        TrackGroup::CriticalPath => ("critical_path", "Critical path"),
        TrackGroup::Devices => ("devices", "Devices and drivers"),
        TrackGroup::Services => ("services", "Services"),
        TrackGroup::Session => ("session", "Session and policy"),
        TrackGroup::Notifications => ("notifications", "Notifications"),
        TrackGroup::Power => ("power", "Power requests"),
        TrackGroup::Processes => ("processes", "Processes"),
        TrackGroup::Log => ("log", "Log"),
    };
    PageName { name, title }
}

fn tone_name(tone: Tone) -> PageName {
    let (name, title) = match tone {
        Tone::Present => ("present", "alive"),
        Tone::Container => ("container", "host process starting"),
        Tone::Load => ("load", "image load"),
        Tone::Initialize => ("initialize", "starting or stopping"),
        Tone::Blocked => ("blocked", "driver blocking its caller"),
        Tone::Pended => ("pended", "pended: completes later"),
        Tone::Ran => ("ran", "running"),
        Tone::Ready => ("ready", "ready, but no CPU was free"),
        Tone::Disk => ("disk", "waiting for a disk"),
        Tone::Timer => ("timer", "waiting for a timer"),
        Tone::Interrupt => ("interrupt", "waiting for a device"),
        Tone::Service => ("service", "waiting for a service"),
        Tone::Unknown => ("unknown", "unknown"),
        Tone::Notified => ("notified", "notified, until the response"),
        Tone::Work => ("work", "work"),
        Tone::Failed => ("failed", "failed or timed out"),
        Tone::Thread => ("thread", "waiting for a thread"),
    };
    PageName { name, title }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_names_match_their_serialization() {
        for (group, name) in GROUPS.iter().zip(PageLegend::default().groups) {
            assert_eq!(serde_json::to_value(group).unwrap(), name.name);
        }
    }

    #[test]
    fn tones_are_listed_by_number() {
        for (number, tone) in Tone::ALL.iter().enumerate() {
            assert_eq!(usize::from(*tone as u8), number);
        }
    }
}
