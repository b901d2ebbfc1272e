//! `onoff record`: dry runs, errors, and files for Windows. The crate onoff-record tests complete jobs.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use crate::harness::Folder;
use onoff_evidence::missing_evidence::{for_boot, for_shutdown, for_suspend};
use onoff_record::windows::providers::{LIGHT, PROVIDERS};
use onoff_trace::{TableSet, Trace};

/// Creates a root folder that looks like a computer with systemd-boot.
#[cfg(target_os = "linux")]
fn computer() -> Folder {
    const LOADER: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
    let folder = Folder::new();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path("computer").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let variable = |name: &str, payload: Vec<u8>| {
        let bytes = [vec![6, 0, 0, 0], payload].concat();
        write(&format!("sys/firmware/efi/efivars/{name}-{LOADER}"), &bytes);
    };
    let utf_16 = |text: &str| {
        let units = text.encode_utf16().chain([0]);
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    write("sys/kernel/tracing/trace", b"");
    write(
        "sys/kernel/tracing/available_events",
        b"sched:sched_switch\nsched:sched_waking\ninitcall:initcall_start\ninitcall:initcall_finish\n",
    );
    write("sys/kernel/tracing/trace_clock", b"local [mono] boot\n");
    write("proc/cpuinfo", b"processor : 0\nprocessor : 1\n");
    write("proc/meminfo", b"MemTotal: 1048576 kB\n");
    write("proc/self/mountinfo", b"29 1 254:2 / / rw - ext4 /dev/vda2 rw\n");
    write("run/systemd/system/x", b"");
    write("usr/lib/systemd/system-shutdown/x", b"");
    write("sys/power/state", b"freeze mem\n");
    write("sys/power/mem_sleep", b"[s2idle]\n");
    write("boot/loader/entries/a.conf", b"title A\nlinux /a\n");
    variable("LoaderInfo", utf_16("systemd-boot 255"));
    variable("LoaderEntrySelected", utf_16("a.conf"));
    variable("LoaderFeatures", 8_u64.to_le_bytes().to_vec());
    folder
}

/// Removes the paths and permissions of the test run.
#[cfg(target_os = "linux")]
fn without_local_details(folder: &Folder, text: &str) -> String {
    let out_path = folder.path("out").display().to_string();
    let mut normalized = String::new();
    for line in text.replace(&out_path, "/out").lines() {
        let is_machine_specific = ["  rights ", "  disk space "].iter().any(|item| line.contains(item));
        if !is_machine_specific {
            normalized += line;
            normalized.push('\n');
        }
    }
    normalized
}

#[test]
#[cfg(target_os = "linux")]
fn dry_run_lists_steps() {
    let folder = computer();
    for (name, arguments) in [
        ("dry_run_boot", "record boot --runs 3 --train 1 --out out --dry-run --root computer"),
        ("dry_run_shutdown", "record shutdown --post-boot-delay 30 --out out --dry-run --root computer"),
        ("dry_run_suspend", "record suspend --out out --dry-run --root computer --trace-flags sched"),
    ] {
        let output = without_local_details(&folder, &folder.answer(arguments));
        insta::assert_snapshot!(name, output);
    }
    assert!(!folder.path("out").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn check_lists_available_and_missing() {
    let folder = computer();
    let output = folder.run("record --check --out out --root computer");
    let text = String::from_utf8(output.stdout).unwrap();
    insta::assert_snapshot!("check", without_local_details(&folder, &text));
    let output = folder.run("record hibernate --wake-after 30 --check --out out --root computer");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("missing  sleep states  this kernel supports 'freeze mem', not 'disk'"), "{text}");
    assert!(text.contains("missing  wake alarm"), "{text}");
    let output = folder
        .run_with_closed_pipe(folder.command("record hibernate --wake-after 30 --check --out out --root computer"));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
#[cfg(target_os = "linux")]
fn rejects_impossible_jobs_with_advice() {
    let folder = computer();
    std::fs::remove_dir_all(folder.path("computer/sys/firmware")).unwrap();
    let (code, message) = folder.failure("record boot --dry-run --root computer");
    assert_eq!(code, 2);
    assert!(
        message.contains("run this command again with '--loader manual'")
            && message.contains("Options: trace_event=sched:sched_switch,"),
        "{message}"
    );
    folder.answer("record boot --dry-run --root computer --loader manual");
    let (code, message) = folder.failure("record hibernate --dry-run --root computer");
    assert_eq!(code, 2);
    assert!(message.contains("this kernel supports 'freeze mem', not 'disk'"), "{message}");
    let (code, message) = folder.failure("record");
    assert_eq!((code, message.contains("name what to record: boot, shutdown")), (64, true), "{message}");
    let (code, message) = folder.failure("record boot --trace-flags sched+nonsense");
    assert_eq!((code, message.contains("'nonsense' is invalid; use sched, irq,")), (64, true), "{message}");
}

#[test]
fn windows_plan_has_paper_commands_and_profile() {
    let folder = Folder::new();
    for transition in ["boot", "shutdown", "suspend", "hibernate", "reboot-cycle"] {
        let out_path = folder.path("out").display().to_string();
        let output = folder.answer(&format!("record {transition} --plan windows --out out"));
        let output = output.replace(&out_path, "/out").replace("/out\\", "/out/");
        insta::assert_snapshot!(format!("windows_{transition}"), output);
    }
    let profile = std::fs::read_to_string(folder.path("out/onoff.wprp")).unwrap();
    assert_eq!(profile, onoff_record::windows::profile::profile_xml());
}

/// Checks the steps of Microsoft's paper on Windows Embedded Standard 7, "Using Superfetch with Write Filters", in
/// order.
#[test]
fn plan_trains_below_write_filter_in_paper_order() {
    let folder = Folder::new();
    let output = folder.answer("record boot --plan windows --train --out out");
    let mut position = 0;
    for step in [
        // The list of programs, with 123 plans.
        "123",
        "uwfmgr filter disable",
        "fbwfmgr /disable",
        "ewfmgr C: -commitanddisable",
        "/v EnablePrefetcher /t REG_DWORD /d 3",
        "/v EnableSuperfetch /t REG_DWORD /d 3",
        "sc config SysMain start= auto",
        "Restart 3 times",
        "idle for at least 5 minutes",
        "the most important ones last",
        // Only file-based filters have exclusions; EWF does not.
        r"uwfmgr file add-exclusion C:\Windows\Prefetch",
        "uwfmgr registry add-exclusion",
        r"fbwfmgr /addexclusion C: \Windows\Prefetch",
        "uwfmgr filter enable",
        "fbwfmgr /enable",
        "ewfmgr C: -enable",
        "shutdown /r",
        // UWF undoes the training.
        "sc qc SysMain",
        // The boot is recorded last.
        "xbootmgr -trace",
    ] {
        let offset = output[position..].find(step);
        position += offset.unwrap_or_else(|| panic!("'{step}' is missing or too early\n{output}"));
    }
    // The option sets the number of restarts. Without training, filters are not mentioned.
    assert!(folder.answer("record boot --plan windows --train 5 --out five").contains("Restart 5 times"));
    let without_training = folder.answer("record boot --plan windows --out plain");
    assert!(
        !without_training.contains("uwfmgr") && !without_training.contains("EnablePrefetcher"),
        "{without_training}"
    );
}

/// The profile enables everything that reports list as missing for an empty recording.
#[test]
fn profile_enables_all_analyzed_events() {
    let trace = Trace { requested_tables: TableSet::all(), ..Trace::default() };
    let mut providers = BTreeSet::new();
    let mut flags = BTreeSet::new();
    for missing_evidence in [for_boot(&trace), for_shutdown(&trace), for_suspend(&trace)] {
        for item in missing_evidence.items {
            flags.extend(item.kernel_flags);
            if !item.provider.is_empty() {
                providers.insert((item.provider, item.guid, item.keyword, item.level));
            }
        }
    }
    let enabled = PROVIDERS.map(|provider| {
        (provider.name.to_owned(), provider.guid.to_owned(), format!("{:#x}", provider.keyword), provider.level)
    });
    assert_eq!(BTreeSet::from(enabled), providers);
    for flag in flags {
        assert!(LIGHT.iter().any(|light_flag| light_flag.xperf == flag), "{flag}");
    }
}
