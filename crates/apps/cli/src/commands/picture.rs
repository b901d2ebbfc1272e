//! A transition as a picture: `--format svg` of `onoff boot`, `shutdown` and `suspend`.

use onoff_page::page::PageTransition;
use onoff_page::picture;
use onoff_transitions::{TransitionKind, Variant};

use super::view;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// The picture of a recording's transition of that kind.
pub fn of(kind: TransitionKind, recording: impl Into<Recording>, destination: impl Into<Destination>) -> Invocation {
    Invocation::new(recording, destination, move |recording, to| run(&recording, kind, to)).about_one()
}

fn run(recording: &Recording, kind: TransitionKind, destination: &Destination) -> Result<(), Failure> {
    let shown = view::one_recording(recording)?;
    // On a computer with fast startup a boot is a resume with a new session, as in `onoff boot`.
    let is_fast = |one: &&PageTransition| kind == TransitionKind::Boot && one.variant == Variant::FastStartup.as_str();
    let all = &shown.recording.transitions;
    let its = all.iter().find(|one| one.kind == kind.as_str()).or_else(|| all.iter().find(is_fast));
    let Some(transition) = its else {
        let held: Vec<&str> = shown.recording.transitions.iter().map(|transition| transition.kind.as_str()).collect();
        let holds = if held.is_empty() { "none of any kind".to_owned() } else { held.join(", ") };
        let message = format!("the recording holds no {} with known phases; it holds {holds}", kind.as_str());
        return Err(Failure::NothingToAnswer(message));
    };
    destination.write(|out| Ok(picture::transition(&shown.recording, transition, out)?))
}
