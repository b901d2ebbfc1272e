//! Tracks as the page lists them.

use onoff_lanes::{Track, TrackSummary};
use serde::Serialize;

/// A track.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageTrack {
    /// What it is.
    #[serde(flatten)]
    pub summary: TrackSummary,
    /// What became of it, in a comparison.
    pub mark: Option<PageMark>,
}

/// What became of what a track shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageMark {
    /// `slower`, `faster`, `new`, `gone`, `moved`.
    pub verdict: &'static str,
    /// The same with how much.
    pub text: String,
}

/// The tracks as the page lists them.
#[must_use]
pub fn track_list(tracks: &[Track]) -> Vec<PageTrack> {
    let summaries = tracks.iter().zip(0..).map(|(track, id)| track.summary(id));
    summaries.map(|summary| PageTrack { summary, mark: None }).collect()
}
