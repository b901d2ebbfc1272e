//! The actions, one file each.

pub mod boot;
pub mod diskidlehistogram;
pub mod diskio;
pub mod dumper;
pub mod filename;
pub mod hardfault;
pub mod pagefault;
pub mod pnp;
pub mod services;

use super::action::Action;

/// Every action, by name.
pub const ACTIONS: &[&Action] = &[
    &boot::ACTION,
    &diskidlehistogram::ACTION,
    &diskio::ACTION,
    &dumper::ACTION,
    &filename::ACTION,
    &hardfault::ACTION,
    &pagefault::ACTION,
    &pnp::ACTION,
    &services::ACTION,
];

/// The action of this name.
pub fn find(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().copied().find(|action| {
        std::iter::once(&action.name)
            .chain(action.aliases)
            .any(|known| known.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_stand_by_name_and_each_has_a_line_about_it() {
        assert!(ACTIONS.is_sorted_by_key(|action| action.name));
        for action in ACTIONS {
            assert!(!action.summary.is_empty(), "{}", action.name);
            assert!(!action.summary.ends_with('.'), "{}", action.name);
            assert_eq!(
                find(&action.name.to_uppercase()).map(|found| found.name),
                Some(action.name)
            );
        }
    }
}
