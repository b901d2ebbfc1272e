//! `--format svg` of `onoff boot`, `shutdown` and `suspend`.

use onoff_page::page::PageTransition;
use onoff_page::picture;
use onoff_transitions::{TransitionKind, Variant};

use super::view;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// Draws the first transition of this kind.
pub fn resolve(
    kind: TransitionKind,
    recording: impl Into<Recording>,
    destination: impl Into<Destination>,
) -> Invocation {
    Invocation::new(recording, destination, move |recording, destination| run(&recording, kind, destination))
        .single_recording()
}

fn run(recording: &Recording, kind: TransitionKind, destination: &Destination) -> Result<(), Failure> {
    let loaded = view::one_recording(recording)?;
    // With fast startup, a boot is a resume with a new session, as in `onoff boot`.
    let is_fast_startup = |transition: &&PageTransition| {
        kind == TransitionKind::Boot && transition.variant == Variant::FastStartup.as_str()
    };
    let transitions = &loaded.content.transitions;
    let of_kind = transitions.iter().find(|transition| transition.kind == kind.as_str());
    let Some(transition) = of_kind.or_else(|| transitions.iter().find(is_fast_startup)) else {
        let other_kinds: Vec<&str> = transitions.iter().map(|transition| transition.kind.as_str()).collect();
        let others = match other_kinds.is_empty() {
            true => "no other transitions".to_owned(),
            false => format!("only: {}", other_kinds.join(", ")),
        };
        let message = format!("no {} with known phases in this recording; {others}", kind.as_str());
        return Err(Failure::NoData(message));
    };
    destination.write(|out| Ok(picture::transition(&loaded.content, transition, out)?))
}
