//! Lanes: what a screen shows of each track of a recording, for an interval and a width in pixels. All pixel arithmetic
//! is here, independent of the renderer. Indexes are built once; a drawing takes time proportional to its pixels, not
//! to the number of events.

#![forbid(unsafe_code)]

pub mod axis;
pub mod path_tracks;
pub mod process_tracks;
pub mod request_tracks;
pub mod slices;
pub mod stacked;
pub mod tracks;
pub mod utilization;

use serde::Serialize;

use slices::{DrawnSlices, SliceLane};
use stacked::{DrawnStacked, StackedLane};
use utilization::{DrawnUtilization, UtilizationLane};

/// Group of a track. Groups are shown in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrackGroup {
    /// The firmware, before the kernel.
    Firmware,
    /// Packets of a network boot.
    Network,
    /// File requests of programs.
    Requests,
    /// CPU usage.
    Processors,
    /// Disk usage.
    Disks,
    /// Critical path.
    CriticalPath,
    /// Devices and drivers.
    Devices,
    /// Services and units.
    Services,
    /// Session, policy and kernel steps.
    Session,
    /// Notifications of transitions.
    Notifications,
    /// Power requests to devices.
    Power,
    /// Processes.
    Processes,
    /// Milestones.
    Log,
}

/// Content of a track.
#[derive(Clone, Debug)]
pub enum Lane {
    /// Intervals.
    Slices(SliceLane),
    /// A utilization over time.
    Utilization(UtilizationLane),
    /// A utilization over time, by subject.
    Stacked(StackedLane),
}

/// A track.
#[derive(Clone, Debug)]
pub struct Track {
    /// Group.
    pub group: TrackGroup,
    /// Subgroup: the bus of a device, the load-order group of a service; may be empty.
    pub section: String,
    /// Display name.
    pub name: String,
    /// Note, e.g. a command line; may be empty.
    pub note: String,
    /// Content.
    pub lane: Lane,
}

/// Summary of a track for a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrackSummary {
    /// Index in the list.
    pub id: u32,
    /// Group.
    pub group: TrackGroup,
    /// Subgroup.
    pub section: String,
    /// Name.
    pub name: String,
    /// Note.
    pub note: String,
    /// Kind of its lane.
    pub kind: LaneKind,
    /// Number of rows.
    pub rows: usize,
    /// Total time, ns.
    pub total_ns: i64,
}

/// Kind of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LaneKind {
    /// Intervals.
    Slices,
    /// Utilization of a resource.
    Utilization,
    /// Utilization by subject.
    Stacked,
}

/// The drawing of a track.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DrawnLane {
    /// Intervals.
    Slices(DrawnSlices),
    /// A utilization over time.
    Utilization(DrawnUtilization),
    /// A utilization over time, by subject.
    Stacked(DrawnStacked),
}

impl Track {
    /// Draws `from_ns..to_ns` in `pixels` pixels.
    #[must_use]
    pub fn draw(&self, from_ns: i64, to_ns: i64, pixels: u32) -> DrawnLane {
        match &self.lane {
            Lane::Slices(lane) => DrawnLane::Slices(lane.draw(from_ns, to_ns, pixels)),
            Lane::Utilization(lane) => DrawnLane::Utilization(lane.draw(from_ns, to_ns, pixels)),
            Lane::Stacked(lane) => DrawnLane::Stacked(lane.draw(from_ns, to_ns, pixels)),
        }
    }

    /// Summarizes the track; `id` is its index in the list.
    #[must_use]
    pub fn summary(&self, id: u32) -> TrackSummary {
        TrackSummary {
            id,
            group: self.group,
            section: self.section.clone(),
            name: self.name.clone(),
            note: self.note.clone(),
            kind: match self.lane {
                Lane::Slices(_) => LaneKind::Slices,
                Lane::Utilization(_) => LaneKind::Utilization,
                Lane::Stacked(_) => LaneKind::Stacked,
            },
            rows: self.row_count(),
            total_ns: self.total_ns(),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        match &self.lane {
            Lane::Slices(lane) => lane.row_count().max(1),
            Lane::Utilization(_) | Lane::Stacked(_) => 1,
        }
    }

    /// Total duration of its intervals, or its busy time, ns.
    #[must_use]
    pub fn total_ns(&self) -> i64 {
        match &self.lane {
            Lane::Slices(lane) => lane.total_ns(),
            Lane::Utilization(lane) => lane.busy_ns(),
            Lane::Stacked(lane) => lane.busy_ns(),
        }
    }
}
