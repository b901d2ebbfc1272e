//! Rules for an installation that is not running, based on its registry.

pub(crate) mod autologger_on;
pub(crate) mod boot_driver_catalog;
pub(crate) mod boot_execute;
pub(crate) mod boot_menu_waits;
pub(crate) mod fast_startup_off;
pub(crate) mod fast_startup_power_cut;
pub(crate) mod fast_startup_without_hibernation;
pub(crate) mod filter_discards_prefetch;
pub(crate) mod filter_maintenance_on;
pub(crate) mod filter_paging_file;
pub(crate) mod filter_untrained;
pub(crate) mod firmware_post_long;
pub(crate) mod horm_blocked;
pub(crate) mod horm_data_volume;
pub(crate) mod network_drives;
pub(crate) mod network_window_small;
pub(crate) mod nfs_client;
pub(crate) mod overlay_fills;
pub(crate) mod plans_at_limit;
pub(crate) mod policy_scripts;
pub(crate) mod prefetch_fills_overlay;
pub(crate) mod prefetcher_off;
pub(crate) mod resume_slow;
pub(crate) mod service_could_trigger;
pub(crate) mod service_dependency;
pub(crate) mod service_early_group;
pub(crate) mod service_not_needed;
pub(crate) mod shutdown_waits;
pub(crate) mod startup_programs;
pub(crate) mod superfetch_limited;
pub(crate) mod superfetch_service_off;
pub(crate) mod test_signing;
pub(crate) mod usb_devices;
pub(crate) mod write_filter_on;

mod prelude {
    pub(crate) use onoff_evidence::Certainty;
    pub(crate) use onoff_image::{HiveKind, HormBlocker, ServiceEntry, ServiceStart, Setting, WriteFilterKind};

    pub(crate) use crate::context::missing_input;
    pub(crate) use crate::finding::{FindingSeverity, FindingSubject, FindingSubjectKind, RuleFinding};
    pub(crate) use crate::image_facts::ImageFacts;
    pub(crate) use crate::protected::{guard, with_guard};
    pub(crate) use crate::quantities::{counted, listed, time};
    pub(crate) use crate::rule::{Outcome, rule};
    pub(crate) use crate::thresholds;

    /// Key of the read-ahead settings.
    pub(crate) const PREFETCH: &str = r"CS\Control\Session Manager\Memory Management\PrefetchParameters";
    /// Key of the memory settings.
    pub(crate) const MEMORY: &str = r"CS\Control\Session Manager\Memory Management";
    /// Key of the fast startup setting and of the loader's records of the last start.
    pub(crate) const POWER: &str = r"CS\Control\Session Manager\Power";
}
