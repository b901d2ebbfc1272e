//! All rules, ordered by code.

use crate::rule::Rule;
use crate::rules::{account, boot, image, linux, recording, shutdown, suspend};

macro_rules! rules {
    ($($group:ident: $($name:ident),* $(,)?;)*) => {
        pub const RULES: &[Rule] = &[$($($group::$name::RULE),*),*];
    };
}

rules! {
    account:
        critical_path_time;
    boot:
        antivirus,
        background_disk,
        boot_driver_slow,
        catalog_signed_boot_driver,
        cpu_hog,
        disk_retries,
        disk_slow,
        driver_enumeration_not_pended,
        driver_load_slow,
        driver_start_not_pended,
        firmware_long,
        logon_subscriber_slow,
        long_dpc,
        memory_pressure,
        network_connections,
        nfs_client,
        os_loader_long,
        phase_beyond_normal,
        policy_script,
        policy_slow,
        post_boot_busy,
        processor_limited,
        read_ahead_unused,
        registry_slow,
        reported_slow,
        service_chain,
        service_could_start_later,
        service_failed,
        service_in_group_slow,
        service_start_slow,
        service_timed_out,
        shell_reads_folder,
        startup_applications,
        usb_device_slow,
        video_driver_slow;
    image:
        active_setup,
        application_waits,
        autologger_on,
        boot_driver_catalog,
        boot_entry_limits,
        boot_execute,
        boot_menu_waits,
        driver_verifier,
        fast_startup_off,
        fast_startup_power_cut,
        fast_startup_without_hibernation,
        file_system_filters,
        filter_discards_prefetch,
        filter_maintenance_on,
        filter_paging_file,
        filter_untrained,
        firmware_post_long,
        horm_blocked,
        horm_data_volume,
        injected_dlls,
        logon_extensions,
        network_drives,
        network_window_small,
        nfs_client,
        overlay_fills,
        page_file_cleared,
        pending_changes,
        plans_at_limit,
        policy_scripts,
        policy_scripts_wait,
        policy_waits,
        prefetch_fills_overlay,
        prefetcher_off,
        print_monitors,
        resume_slow,
        service_could_trigger,
        service_dependency,
        service_early_group,
        service_not_needed,
        shell_replaced,
        shutdown_waits,
        startup_programs,
        superfetch_limited,
        superfetch_service_off,
        test_signing,
        usb_devices,
        write_filter_on;
    linux:
        boot_failed,
        boot_unfinished,
        driver_slow,
        encrypted_volume_wait,
        file_system_check,
        firmware_or_loader_slow,
        initrd_long,
        initrd_unpack_slow,
        kernel_long,
        low_power_missed,
        modules_load_slow,
        network_slow_after_resume,
        network_wait,
        random_seed_wait,
        resume_firmware_long,
        selinux_relabel,
        sleep_aborted,
        sleep_device_slow,
        sleep_phase_long,
        sleep_tasks_slow,
        udev_settle,
        unexplained_gap,
        unit_chain,
        unit_failed,
        unit_restarted,
        unit_slow,
        unit_slow_to_stop,
        unit_timed_out;
    recording:
        analysis_level,
        clock_set,
        losses,
        read_ahead_untrained,
        started_late,
        test_signed_drivers,
        user_wait;
    shutdown:
        application_slow,
        application_unresponsive,
        console_program_slow,
        explicit_flush,
        kernel_step_slow,
        page_file_cleared,
        reported_slow,
        script,
        service_slow,
        service_unresponsive;
    suspend:
        application_slow,
        driver_slow_to_resume,
        driver_slow_to_suspend,
        kept_awake,
        long_dpc,
        low_power_missed,
        memory_image_share,
        post_resume_busy,
        service_slow;
}

#[must_use]
pub fn find(code: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Check, HEADINGS};
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_unique_code_and_all_sections() {
        let mut codes = BTreeSet::new();
        for rule in RULES {
            assert!(codes.insert(rule.code), "{} twice", rule.code);
            let (group, name) = rule.code.split_once('/').unwrap();
            let expected = match rule.check {
                Check::Account(_) => "account",
                Check::Boot(_) | Check::Session(_) => "boot",
                Check::Image(_) => "image",
                Check::LinuxBoot(_) | Check::LinuxShutdown(_) | Check::LinuxSuspend(_) => "linux",
                Check::Shutdown(_) => "shutdown",
                Check::Suspend(_) | Check::Absences(_) => "suspend",
                Check::Recording(_) | Check::BootCaveat(_) | Check::SessionCaveat(_) => "recording",
            };
            assert_eq!(group, expected, "{}", rule.code);
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", rule.code);
            let described = rule.describe();
            let headings: Vec<&str> = described.sections.iter().map(|section| section.heading.as_str()).collect();
            assert_eq!(headings, HEADINGS, "{}", rule.code);
            for section in &described.sections {
                assert!(section.text.len() > 20, "{}: {}", rule.code, section.heading);
                assert!(section.text.ends_with('.'), "{}: {}", rule.code, section.heading);
            }
        }
    }

    #[test]
    fn codes_are_sorted() {
        assert!(RULES.is_sorted_by_key(|rule| rule.code));
        assert!(find("boot/driver-start-not-pended").is_some());
        assert!(find("boot/no-such-rule").is_none());
    }
}
