//! Builds the tracks of a recording, and draws them at any resolution.

use onoff_blame::account::has_no_path;
use onoff_blame::waits::{PathOptions, Waits, phases};
use onoff_lanes::tracks::{TABLES, tracks};
use onoff_lanes::{DrawnLane, Track, TrackSummary};
use onoff_transitions::TransitionOptions;
use onoff_usage::units::Unit;

use crate::error::Error;
use crate::session::Session;

/// The indexed tracks of a recording, which are built once and drawn many times.
#[derive(Debug)]
pub struct Lanes {
    tracks: Vec<Track>,
}

impl Session {
    /// Builds the tracks: processors, disks, the critical path of each phase, devices, services, sessions,
    /// notifications, power requests, processes, milestones.
    ///
    /// # Errors
    /// The recording is unreadable, or a network capture.
    pub fn lanes(&self) -> Result<Lanes, Error> {
        let trace = self.system_tables(TABLES)?;
        // A phase that ends when the computer is idle has no critical path.
        let phases_with_path = phases(&trace).into_iter().filter(|phase| !has_no_path(&phase.name));
        let waits = Waits::new(&trace);
        let paths: Vec<_> = match trace.context_switches.is_empty() {
            true => Vec::new(),
            false => phases_with_path.map(|phase| waits.phase(phase.range, PathOptions::default())).collect(),
        };
        let units: Vec<Unit> = onoff_transitions::find_all(&trace, &TransitionOptions::default())
            .into_iter()
            .flat_map(|transition| transition.units)
            .collect();
        Ok(Lanes { tracks: tracks(&trace, &paths, &units) })
    }
}

impl Lanes {
    /// Returns the tracks in display order.
    #[must_use]
    pub fn tracks(&self) -> Vec<TrackSummary> {
        self.tracks.iter().zip(0..).map(|(track, id)| track.summary(id)).collect()
    }

    /// Draws `from_ns..to_ns` of a track for a width of `pixels`: at most two entries per pixel and row for intervals,
    /// one step per pixel for shares. Takes time proportional to `pixels`. `None` for an unknown track.
    #[must_use]
    pub fn draw(&self, track: u32, from_ns: i64, to_ns: i64, pixels: u32) -> Option<DrawnLane> {
        Some(self.tracks.get(track as usize)?.draw(from_ns, to_ns, pixels))
    }
}
