//! Colors of phases. A phase has the same color in every recording, in the page and in pictures.

use onoff_evidence::phase_name::PhaseName;

use crate::page::PagePhase;

/// Number of colors.
pub const COUNT: usize = 10;

/// Assigns colors by name. Neighbors differ.
pub(crate) fn assign(phases: &mut [PagePhase]) {
    let mut previous = None;
    for phase in phases {
        let known = PhaseName::ALL.iter().position(|name| name.as_str() == phase.name);
        let number = known.unwrap_or_else(|| phase.name.bytes().map(usize::from).sum());
        phase.shade = number % COUNT;
        if previous == Some(phase.shade) {
            phase.shade = (phase.shade + 1) % COUNT;
        }
        previous = Some(phase.shade);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shades(names: &[&str]) -> Vec<usize> {
        let phase = |name: &&str| PagePhase { name: (*name).to_owned(), ..PagePhase::default() };
        let mut phases: Vec<PagePhase> = names.iter().map(phase).collect();
        assign(&mut phases);
        phases.iter().map(|phase| phase.shade).collect()
    }

    #[test]
    fn phase_keeps_its_color_and_neighbors_differ() {
        let windows = ["firmware", "loader", "PreSMSS", "SMSSInit", "WinLogonInit", "ExplorerInit", "PostBoot"];
        let with_firmware = shades(&windows);
        assert_eq!(shades(&windows[2..]), with_firmware[2..]);
        assert!(with_firmware.windows(2).all(|pair| pair[0] != pair[1]));
        assert_ne!(shades(&["transfer", "transfer"])[0], shades(&["transfer", "transfer"])[1]);
    }
}
