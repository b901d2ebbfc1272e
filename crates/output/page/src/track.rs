//! Tracks of the page.

use onoff_lanes::{Track, TrackSummary};
use serde::Serialize;

/// A track with its mark in a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageTrack {
    #[serde(flatten)]
    pub summary: TrackSummary,
    /// Change between baseline and candidate; `None` without a comparison.
    pub mark: Option<PageMark>,
}

/// Change of a track's subject between baseline and candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageMark {
    /// `slower`, `faster`, `new`, `gone`, `moved`.
    pub verdict: &'static str,
    /// Display text, such as `+9.00 s`.
    pub text: String,
}

/// Converts tracks for the page, without marks.
#[must_use]
pub fn track_list(tracks: &[Track]) -> Vec<PageTrack> {
    let summaries = tracks.iter().zip(0..).map(|(track, id)| track.summary(id));
    summaries.map(|summary| PageTrack { summary, mark: None }).collect()
}
