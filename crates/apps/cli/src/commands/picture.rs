//! `--format svg` of `onoff boot`, `shutdown` and `suspend`.

use onoff_page::page::PageTransition;
use onoff_page::picture;
use onoff_transitions::{TransitionKind, Variant};

use super::view;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// Draws the first transition of this kind.
pub fn of(kind: TransitionKind, recording: impl Into<Recording>, destination: impl Into<Destination>) -> Invocation {
    Invocation::new(recording, destination, move |recording, to| run(&recording, kind, to)).single_recording()
}

fn run(recording: &Recording, kind: TransitionKind, destination: &Destination) -> Result<(), Failure> {
    let shown = view::one_recording(recording)?;
    // With fast startup, a boot is a resume with a new session, as in `onoff boot`.
    let is_fast = |one: &&PageTransition| kind == TransitionKind::Boot && one.variant == Variant::FastStartup.as_str();
    let all = &shown.content.transitions;
    let found = all.iter().find(|one| one.kind == kind.as_str()).or_else(|| all.iter().find(is_fast));
    let Some(transition) = found else {
        let others: Vec<&str> = all.iter().map(|transition| transition.kind.as_str()).collect();
        let others =
            if others.is_empty() { "no other transitions".to_owned() } else { format!("only: {}", others.join(", ")) };
        let message = format!("no {} with known phases in this recording; {others}", kind.as_str());
        return Err(Failure::NoData(message));
    };
    destination.write(|out| Ok(picture::transition(&shown.content, transition, out)?))
}
