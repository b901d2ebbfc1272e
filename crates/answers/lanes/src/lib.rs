//! Lanes: for each track of a recording, a range and a width in pixels, what a screen can show. Pixels are counted here, in one
//! place, whatever draws them. Indexes are made once; a drawing costs time in proportion to its pixels, not to the events.

#![forbid(unsafe_code)]

pub mod path_tracks;
pub mod request_tracks;
pub mod shares;
pub mod slices;
pub mod tracks;

use serde::Serialize;

use shares::{DrawnShares, ShareLane};
use slices::{Drawn, SliceLane};

/// What a track is about. The groups are shown in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrackGroup {
    /// The firmware, before the kernel.
    Firmware,
    /// Packets of a network boot.
    Network,
    /// What programs asked of their files.
    Requests,
    /// How busy each processor was.
    Processors,
    /// How busy each disk was.
    Disks,
    /// Who waited for whom.
    CriticalPath,
    /// Devices and drivers.
    Devices,
    /// Services and units.
    Services,
    /// Session, policy and the kernel's own steps.
    Session,
    /// Who was notified of a transition.
    Notifications,
    /// Power requests to devices.
    Power,
    /// Processes.
    Processes,
    /// Milestones.
    Log,
}

/// What a track holds.
#[derive(Clone, Debug)]
pub enum Lane {
    /// Intervals.
    Slices(SliceLane),
    /// A share over time.
    Shares(ShareLane),
}

/// A track.
#[derive(Clone, Debug)]
pub struct Track {
    /// What it is about.
    pub group: TrackGroup,
    /// Within the group: the bus of a device, the load-order group of a service; may be empty.
    pub section: String,
    /// Name, as people know it.
    pub name: String,
    /// What else to say of it, e.g. a command line; may be empty.
    pub note: String,
    /// The lane.
    pub lane: Lane,
}

/// A track as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrackSummary {
    /// Number: its place in the list.
    pub id: u32,
    /// What it is about.
    pub group: TrackGroup,
    /// Within the group.
    pub section: String,
    /// Name.
    pub name: String,
    /// More of it.
    pub note: String,
    /// What its lane shows.
    pub kind: LaneKind,
    /// Rows.
    pub rows: usize,
    /// Sum of its times, ns.
    pub total_ns: i64,
}

/// What a lane shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LaneKind {
    /// Intervals.
    Slices,
    /// Shares of a resource.
    Shares,
}

/// What a screen shows of a track.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DrawnLane {
    /// Intervals.
    Slices(Drawn),
    /// A share over time.
    Shares(DrawnShares),
}

impl Track {
    /// What `pixels` pixels show of `from_ns..to_ns`.
    #[must_use]
    pub fn draw(&self, from_ns: i64, to_ns: i64, pixels: u32) -> DrawnLane {
        match &self.lane {
            Lane::Slices(lane) => DrawnLane::Slices(lane.draw(from_ns, to_ns, pixels)),
            Lane::Shares(lane) => DrawnLane::Shares(lane.draw(from_ns, to_ns, pixels)),
        }
    }

    /// The track as a list shows it; `id` is its place there.
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
                Lane::Shares(_) => LaneKind::Shares,
            },
            rows: self.rows(),
            total_ns: self.total_ns(),
        }
    }

    /// Rows that it takes.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.lane {
            Lane::Slices(lane) => lane.rows().max(1),
            Lane::Shares(_) => 1,
        }
    }

    /// The sum of its intervals' lengths, or its busy time, ns.
    #[must_use]
    pub fn total_ns(&self) -> i64 {
        match &self.lane {
            Lane::Slices(lane) => lane.total_ns(),
            Lane::Shares(lane) => lane.busy_ns(),
        }
    }
}
