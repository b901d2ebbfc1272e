//! All actions, one file each.

pub mod boot;
pub mod bootprefetch;
pub mod cpudisk;
pub mod cswitch;
pub mod diskidlehistogram;
pub mod diskio;
pub mod dpcisr;
pub mod drvdelay;
pub mod dumper;
pub mod eventmetadata;
pub mod filename;
pub mod focuschange;
pub mod hardfault;
pub mod heap;
pub mod image;
pub mod marks;
pub mod pagefault;
pub mod perfctrs;
pub mod pmc;
pub mod pnp;
pub mod pool;
pub mod pooltag;
pub mod prefetch;
pub mod process;
pub mod profile;
pub mod readythread;
pub mod registry;
pub mod services;
pub mod shutdown;
pub mod spinlock;
pub mod stack;
pub mod suspend;
pub mod symcache;
pub mod sysconfig;
pub mod tracestats;
pub mod winlogon;
pub mod winsat;

use super::action::Action;

const NO_DISK_REQUESTS: &str = "no disk requests recorded; this needs the kernel's disk events (xperf -on DISK_IO)";

/// All actions, sorted by name.
pub const ACTIONS: &[&Action] = &[
    &boot::ACTION,
    &bootprefetch::ACTION,
    &cpudisk::ACTION,
    &cswitch::ACTION,
    &diskidlehistogram::ACTION,
    &diskio::ACTION,
    &dpcisr::ACTION,
    &drvdelay::ACTION,
    &dumper::ACTION,
    &eventmetadata::ACTION,
    &filename::ACTION,
    &focuschange::ACTION,
    &hardfault::ACTION,
    &heap::ACTION,
    &image::ACTION,
    &marks::ACTION,
    &pagefault::ACTION,
    &perfctrs::ACTION,
    &pmc::ACTION,
    &pnp::ACTION,
    &pool::ACTION,
    &pooltag::ACTION,
    &prefetch::ACTION,
    &process::ACTION,
    &profile::ACTION,
    &readythread::ACTION,
    &registry::ACTION,
    &services::ACTION,
    &shutdown::ACTION,
    &spinlock::ACTION,
    &stack::ACTION,
    &suspend::ACTION,
    &symcache::ACTION,
    &sysconfig::ACTION,
    &tracestats::ACTION,
    &winlogon::ACTION,
    &winsat::ACTION,
];

/// Finds an action by name or alias, in any case.
pub fn find(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().copied().find(|action| {
        std::iter::once(&action.name).chain(action.aliases).any(|action_name| action_name.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_sorted_and_have_summaries() {
        assert!(ACTIONS.is_sorted_by_key(|action| action.name));
        for action in ACTIONS {
            assert!(!action.summary.is_empty(), "{}", action.name);
            assert!(!action.summary.ends_with('.'), "{}", action.name);
            assert_eq!(find(&action.name.to_uppercase()).map(|action| action.name), Some(action.name));
        }
    }
}
