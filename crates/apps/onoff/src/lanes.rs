//! What a screen can show of a recording.

use onoff_blame::account::has_no_path;
use onoff_blame::waits::{PathOptions, Waits, phases};
use onoff_lanes::tracks::{TABLES, tracks};
use onoff_lanes::{DrawnLane, Track, TrackSummary};
use onoff_transitions::TransitionOptions;
use onoff_usage::units::Unit;

use crate::error::Error;
use crate::session::Session;

/// The tracks of a recording with their indexes: made once, drawn as often as somebody looks.
#[derive(Debug)]
pub struct Lanes {
    tracks: Vec<Track>,
}

impl Session {
    /// The tracks of the recording: processors, disks, the critical path of each phase, devices, services, sessions,
    /// notifications, power requests, processes, milestones.
    ///
    /// # Errors
    /// A recording that cannot be read, or that is a network capture.
    pub fn lanes(&self) -> Result<Lanes, Error> {
        let trace = self.system_tables(TABLES)?;
        // A phase that ends when the computer is idle has no path: nobody at its end was waited for.
        let with_path = phases(&trace, None).into_iter().filter(|phase| !has_no_path(&phase.name));
        let waits = Waits::of(&trace);
        let paths: Vec<_> = match trace.context_switches.is_empty() {
            true => Vec::new(),
            false => with_path.map(|phase| waits.phase(phase.range, PathOptions::default())).collect(),
        };
        let units: Vec<Unit> = onoff_transitions::all(&trace, &TransitionOptions::default())
            .into_iter()
            .flat_map(|one| one.units)
            .collect();
        Ok(Lanes { tracks: tracks(&trace, &paths, &units) })
    }
}

impl Lanes {
    /// The tracks, in the order in which they are shown.
    #[must_use]
    pub fn tracks(&self) -> Vec<TrackSummary> {
        self.tracks.iter().zip(0..).map(|(track, id)| track.summary(id)).collect()
    }

    /// What `pixels` pixels show of `from_ns..to_ns` of a track: of intervals at most two entries per pixel and row, of a share
    /// one step per pixel. In time proportional to the pixels. `None` for a track that does not exist.
    #[must_use]
    pub fn draw(&self, track: u32, from_ns: i64, to_ns: i64, pixels: u32) -> Option<DrawnLane> {
        Some(self.tracks.get(track as usize)?.draw(from_ns, to_ns, pixels))
    }
}
