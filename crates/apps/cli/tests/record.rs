//! `onoff record`: dry runs, errors, and files for Windows. Complete jobs are tested in the crate
//! onoff-record.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use crate::harness::Folder;
use onoff_evidence::missing_evidence::{for_boot, for_shutdown, for_suspend};
use onoff_record::windows::providers::{LIGHT, PROVIDERS};
use onoff_trace::{TableSet, Trace};

/// A root folder that looks like a computer with systemd-boot.
#[cfg(target_os = "linux")]
fn computer() -> Folder {
    const LOADER: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
    let folder = Folder::new();
    let put = |path: &str, bytes: &[u8]| {
        let place = folder.path("computer").join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, bytes).unwrap();
    };
    let variable = |name: &str, payload: Vec<u8>| {
        let bytes = [vec![6, 0, 0, 0], payload].concat();
        put(&format!("sys/firmware/efi/efivars/{name}-{LOADER}"), &bytes);
    };
    let text = |text: &str| {
        let units = text.encode_utf16().chain([0]);
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    put("sys/kernel/tracing/trace", b"");
    put(
        "sys/kernel/tracing/available_events",
        b"sched:sched_switch\nsched:sched_waking\ninitcall:initcall_start\ninitcall:initcall_finish\n",
    );
    put("sys/kernel/tracing/trace_clock", b"local [mono] boot\n");
    put("proc/cpuinfo", b"processor : 0\nprocessor : 1\n");
    put("proc/meminfo", b"MemTotal: 1048576 kB\n");
    put("proc/self/mountinfo", b"29 1 254:2 / / rw - ext4 /dev/vda2 rw\n");
    put("run/systemd/system/x", b"");
    put("usr/lib/systemd/system-shutdown/x", b"");
    put("sys/power/state", b"freeze mem\n");
    put("sys/power/mem_sleep", b"[s2idle]\n");
    put("boot/loader/entries/a.conf", b"title A\nlinux /a\n");
    variable("LoaderInfo", text("systemd-boot 255"));
    variable("LoaderEntrySelected", text("a.conf"));
    variable("LoaderFeatures", 8_u64.to_le_bytes().to_vec());
    folder
}

/// Removes paths and permissions of the test run.
#[cfg(target_os = "linux")]
fn everywhere_the_same(folder: &Folder, text: &str) -> String {
    let own = folder.path("out").display().to_string();
    let mut same = String::new();
    for line in text.replace(&own, "/out").lines() {
        let of_this_machine = ["  rights ", "  disk space "].iter().any(|it| line.contains(it));
        if !of_this_machine {
            same += line;
            same.push('\n');
        }
    }
    same
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
        let printed = everywhere_the_same(&folder, &folder.answer(arguments));
        insta::assert_snapshot!(name, printed);
    }
    assert!(!folder.path("out").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn check_lists_available_and_missing() {
    let folder = computer();
    let output = folder.run("record --check --out out --root computer");
    let printed = String::from_utf8(output.stdout).unwrap();
    insta::assert_snapshot!("check", everywhere_the_same(&folder, &printed));
    let output = folder.run("record hibernate --wake-after 30 --check --out out --root computer");
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("missing  sleep states  this kernel supports 'freeze mem', not 'disk'"), "{printed}");
    assert!(printed.contains("missing  wake alarm"), "{printed}");
    let unread = folder.unread(folder.command("record hibernate --wake-after 30 --check --out out --root computer"));
    assert_eq!(unread.status.code(), Some(2));
}

#[test]
#[cfg(target_os = "linux")]
fn rejects_impossible_jobs_with_advice() {
    let folder = computer();
    std::fs::remove_dir_all(folder.path("computer/sys/firmware")).unwrap();
    let (code, printed) = folder.refusal("record boot --dry-run --root computer");
    assert_eq!(code, 2);
    assert!(
        printed.contains("run this command again with '--loader manual'")
            && printed.contains("Options: trace_event=sched:sched_switch,"),
        "{printed}"
    );
    folder.answer("record boot --dry-run --root computer --loader manual");
    let (code, printed) = folder.refusal("record hibernate --dry-run --root computer");
    assert_eq!(code, 2);
    assert!(printed.contains("this kernel supports 'freeze mem', not 'disk'"), "{printed}");
    let (code, printed) = folder.refusal("record");
    assert_eq!((code, printed.contains("name what to record: boot, shutdown")), (64, true), "{printed}");
    let (code, printed) = folder.refusal("record boot --trace-flags sched+nonsense");
    assert_eq!((code, printed.contains("'nonsense' is invalid; use sched, irq,")), (64, true), "{printed}");
}

#[test]
fn windows_plan_has_paper_commands_and_profile() {
    let folder = Folder::new();
    for what in ["boot", "shutdown", "suspend", "hibernate", "reboot-cycle"] {
        let own = folder.path("out").display().to_string();
        let printed = folder.answer(&format!("record {what} --plan windows --out out"));
        let printed = printed.replace(&own, "/out").replace("/out\\", "/out/");
        insta::assert_snapshot!(format!("windows_{what}"), printed);
    }
    let written = std::fs::read_to_string(folder.path("out/onoff.wprp")).unwrap();
    assert_eq!(written, onoff_record::windows::profile::text());
}

/// The steps of Microsoft's paper on Windows Embedded Standard 7, "Using Superfetch with Write Filters", in its order.
#[test]
fn plan_trains_below_write_filter_in_paper_order() {
    let folder = Folder::new();
    let printed = folder.answer("record boot --plan windows --train --out out");
    let mut from = 0;
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
        // The boot is recorded last.
        "xbootmgr -trace",
    ] {
        let at = printed[from..].find(step);
        from += at.unwrap_or_else(|| panic!("'{step}' is not in it, or too early\n{printed}"));
    }
    // The number of restarts follows the option; without training, filters are not mentioned.
    assert!(folder.answer("record boot --plan windows --train 5 --out five").contains("Restart 5 times"));
    let plain = folder.answer("record boot --plan windows --out plain");
    assert!(!plain.contains("uwfmgr") && !plain.contains("EnablePrefetcher"), "{plain}");
}

/// The profile enables everything that reports would list as missing; an empty profile lacks it all.
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
    let enabled = PROVIDERS.map(|it| (it.name.to_owned(), it.guid.to_owned(), format!("{:#x}", it.keyword), it.level));
    assert_eq!(BTreeSet::from(enabled), providers);
    for flag in flags {
        assert!(LIGHT.iter().any(|it| it.xperf == flag), "{flag}");
    }
}
