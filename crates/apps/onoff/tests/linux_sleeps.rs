//! Linux sleeps: depth, battery drain, return of the network. Also units of users and containers.

use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::linux::suspend::LinuxSleep;
use onoff::answers::transitions::suspend::SuspendOptions;
use onoff::{Boot, Session, Sleeps};
use onoff_testkit::linux::{LinuxDevice, LinuxMachine, LinuxSleepPlan, SimulationResult};

const MS: i64 = 1_000_000;

fn simulated(change: fn(&mut LinuxSleepPlan)) -> SimulationResult {
    let devices = vec![LinuxDevice::new("sda", "sd").callbacks_ms(40, 70)];
    let mut plan = LinuxSleepPlan { devices, asleep_ms: 20_000, ..LinuxSleepPlan::default() };
    change(&mut plan);
    LinuxMachine::healthy().simulate_sleep(&plan)
}

/// Returns the single sleep of a recording, and its report as text.
fn sleep(files: Vec<(String, Vec<u8>)>) -> (LinuxSleep, String) {
    let session = Session::from_bytes(files).unwrap();
    let result = session.sleeps(&SuspendOptions::default()).unwrap();
    let mut text = Vec::new();
    result.write_text(&mut text).unwrap();
    let Sleeps::Linux(report) = result.report else { panic!("{:?}", result.report) };
    (report.transitions[0].clone(), String::from_utf8(text).unwrap())
}

#[test]
fn suspend_to_idle_has_low_power_share() {
    for (form, files) in [
        ("all", simulated(|plan| plan.suspend_to_idle = Some(Some(15_000))).files.all_files()),
        ("without a trace", simulated(|plan| plan.suspend_to_idle = Some(Some(15_000))).files.files_without_trace()),
    ] {
        let (sleep, text) = sleep(files);
        let power = sleep.details.low_power.as_ref().unwrap();
        assert_eq!(power.hardware_ns, Some(15_000 * MS), "{form}");
        if form == "all" {
            let slept = sleep.details.asleep.slept_ns.unwrap();
            assert!((slept - 20_000 * MS).abs() < 10 * MS, "{slept}");
            assert!((power.hardware_percent.unwrap() - 75.0).abs() < 1.0, "{power:?}");
            assert_eq!(power.entries, 1);
            assert!(text.contains("in its low-power state for 15.0 s (75 %) of the sleep"), "{text}");
        }
        assert!(text.contains("Woken by IRQ 9"), "{form}: {text}");
    }
    // Without counters the share is unknown, and suspend to RAM has no such state.
    let (sleep, text) = sleep(simulated(|plan| plan.suspend_to_idle = Some(None)).files.all_files());
    assert_eq!(sleep.details.low_power.unwrap().hardware_ns, None);
    assert!(text.contains("low-power state was not recorded"), "{text}");
    let (sleep, text) = self::sleep(simulated(|_| {}).files.all_files());
    assert_eq!(sleep.details.low_power, None);
    assert!(!text.contains("low-power"), "{text}");
}

#[test]
fn wall_clock_log_gives_sleep_without_phases() {
    let line = |time: &str, message: &str| format!("Nov 02 {time} laptop kernel: {message}\n");
    let mut text =
        line("09:00:00", "Linux version 6.12.38+deb13-amd64") + &line("09:10:00", "PM: suspend entry (deep)");
    for message in [
        "Freezing user space processes",
        "ACPI: PM: Preparing to enter system sleep state S3",
        "ACPI: PM: Low-level resume complete",
        "PM: resume of devices complete after 221.000 msecs",
        "PM: suspend exit",
    ] {
        // One hour later, because the messages were not read earlier.
        text += &line("10:10:03", message);
    }
    let (sleep, report) = sleep(vec![("journal.txt".to_owned(), text.into_bytes())]);
    assert_eq!(sleep.details.outcome, onoff::answers::transitions::linux::suspend::SleepOutcome::Slept);
    assert_eq!(
        (sleep.total_ns, sleep.details.suspend.duration_ns, sleep.details.resume.duration_ns),
        (None, None, None)
    );
    assert_eq!((sleep.details.asleep.slept_ns, sleep.details.longest_gap.is_none()), (None, true));
    assert!(!report.contains("between") && report.contains("221 ms"), "{report}");
}

#[test]
fn reports_battery_drain() {
    let (sleep, text) = sleep(simulated(|plan| plan.battery_uwh = Some(50_000)).files.all_files());
    let [battery] = &sleep.details.batteries[..] else { panic!("{:?}", sleep.details.batteries) };
    assert_eq!((battery.name.as_str(), battery.used_uwh), ("BAT0", 50_000));
    // 50 mWh in 20 s is 9 W.
    assert!((battery.mean_mw.unwrap() - 9_000.0).abs() < 10.0, "{battery:?}");
    assert!(text.contains("BAT0 used 0.05 Wh, 9000 mW on average"), "{text}");
    let (sleep, text) = self::sleep(simulated(|_| {}).files.all_files());
    assert!(sleep.details.batteries.is_empty() && !text.contains("Battery"), "{text}");
    // The battery was charged during the sleep.
    let (_, text) = self::sleep(simulated(|plan| plan.battery_uwh = Some(-1_000_000)).files.all_files());
    assert!(text.contains("BAT0 charged by 1.00 Wh"), "{text}");
}

#[test]
fn resume_includes_network() {
    let simulated = simulated(|plan| plan.wireless_ms = Some((1_800, 700)));
    for files in [simulated.files.all_files(), simulated.files.files_without_trace()] {
        let (sleep, text) = sleep(files);
        let [wireless] = &sleep.details.reconnections[..] else { panic!("{:?}", sleep.details.reconnections) };
        assert_eq!(wireless.interface, "wlan0");
        // The times match the simulated resume to 1 ms.
        let ms_since_resume = |time_ns: Option<i64>| time_ns.unwrap() / MS - simulated.truth.resumed_us / 1_000;
        assert!((ms_since_resume(wireless.associated_ns) - 1_800).abs() <= 1, "{wireless:?}");
        assert!((ms_since_resume(wireless.address_ns) - 2_500).abs() <= 1, "{wireless:?}");
        assert!((wireless.took_ns.unwrap() - 2_500 * MS).abs() < 30 * MS, "{wireless:?}");
        assert!(text.contains("Network, times from the start of the resume: wlan0 associated 1.8"), "{text}");
    }
    // Interface changes long before or after do not belong to the resume.
    let (sleep, text) = sleep(self::simulated(|_| {}).files.all_files());
    assert!(sleep.details.reconnections.is_empty() && !text.contains("Network after"), "{text}");
}

/// Formats a log entry of a user's systemd instance.
fn user_unit_entry(uid: u32, ms: i64, unit: &str, id: &str, message: &str) -> String {
    let (real_us, monotonic_us) = (1_795_338_000_000_000 + ms * 1_000, ms * 1_000);
    format!(
        "__REALTIME_TIMESTAMP={real_us}\n__MONOTONIC_TIMESTAMP={monotonic_us}\n_BOOT_ID=5a1e0b6c7d8f4e219a3b4c5d6e7f8091\n\
         _MACHINE_ID=5c61d648e6dd4ef099ea0f4ccc0fe160\n_TRANSPORT=journal\n_PID=700\n_UID={uid}\n_COMM=systemd\nSYSLOG_IDENTIFIER=systemd\n\
         _SYSTEMD_UNIT=user@{uid}.service\nUSER_UNIT={unit}\nMESSAGE_ID={id}\nJOB_RESULT=done\nMESSAGE={message}\n\n"
    )
}

const STARTING: &str = "7d4958e842da4a758f6c1cdc7b36dcc5";
const STARTED: &str = "39f53479d3a045ac8e11786248231fbf";
const FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";

#[test]
fn distinguishes_user_units() {
    let boot = |journal: Vec<u8>| {
        let session = Session::from_bytes([("journal.export".to_owned(), journal)]).unwrap();
        let result = session.boot(&BootOptions::default()).unwrap();
        let mut text = Vec::new();
        result.write_text(&mut text).unwrap();
        let Boot::Linux(report) = result.report else { panic!("{:?}", result.report) };
        (*report, String::from_utf8(text).unwrap())
    };
    let journal = LinuxMachine::healthy().simulate_boot().files.journal;
    let (without_users, text) = boot(journal.clone());
    assert!(without_users.details.other_units.is_empty() && !text.contains("Units of users"), "{text}");
    let mut journal = journal;
    // The system has a dbus.service as well.
    for (uid, ms, unit, id, message) in [
        (1000, 6_000, "dbus.service", STARTING, "Starting dbus.service - D-Bus User Message Bus..."),
        (1000, 9_500, "dbus.service", STARTED, "Started dbus.service - D-Bus User Message Bus."),
        (1001, 6_100, "dbus.service", STARTING, "Starting dbus.service - D-Bus User Message Bus..."),
        (1001, 6_400, "dbus.service", FAILED, "Failed to start dbus.service - D-Bus User Message Bus."),
        (1000, 6_200, "default.target", STARTED, "Reached target default.target - Main User Target."),
        (1000, 6_300, "stuck.service", STARTING, "Starting stuck.service - Never..."),
    ] {
        journal.extend(user_unit_entry(uid, ms, unit, id, message).into_bytes());
    }
    let (report, text) = boot(journal);
    let units: Vec<(&str, &str, Option<i64>, bool)> = report
        .details
        .other_units
        .iter()
        .map(|unit| (unit.owner.as_str(), unit.name.as_str(), unit.duration_ns.map(|ns| ns / MS), unit.failed))
        .collect();
    assert_eq!(
        units,
        [
            ("user@1000.service", "dbus.service", Some(3_500), false),
            ("user@1001.service", "dbus.service", Some(300), true),
            ("user@1000.service", "default.target", Some(0), false),
            ("user@1000.service", "stuck.service", None, false),
        ]
    );
    assert!(text.contains("User and container units"), "{text}");
    // The system boot is unchanged: target, units, duration.
    assert_eq!(report.details.startup_ns, without_users.details.startup_ns);
    assert_eq!(report.details.default_target, without_users.details.default_target);
    assert_eq!(report.units, without_users.units);
    assert!(report.details.still_starting.is_empty());
}

/// Formats a log entry of the system's systemd instance.
fn system_unit_entry(ms: i64, unit: &str, id: &str, message: &str) -> String {
    let (real_us, monotonic_us) = (1_795_338_000_000_000 + ms * 1_000, ms * 1_000);
    format!(
        "__REALTIME_TIMESTAMP={real_us}\n__MONOTONIC_TIMESTAMP={monotonic_us}\n_BOOT_ID=5a1e0b6c7d8f4e219a3b4c5d6e7f8091\n\
         _MACHINE_ID=5c61d648e6dd4ef099ea0f4ccc0fe160\n_TRANSPORT=journal\n_PID=1\n_UID=0\n_COMM=systemd\nSYSLOG_IDENTIFIER=systemd\n\
         _SYSTEMD_UNIT=init.scope\nUNIT={unit}\nMESSAGE_ID={id}\nJOB_RESULT=done\nMESSAGE={message}\n\n"
    )
}

#[test]
fn distinguishes_container_units() {
    let boot = |journal: Vec<u8>| {
        let session = Session::from_bytes([("journal.export".to_owned(), journal)]).unwrap();
        let result = session.boot(&BootOptions::default()).unwrap();
        let Boot::Linux(report) = result.report else { panic!("{:?}", result.report) };
        let units = report.details.other_units.iter();
        units
            .map(|unit| (unit.owner.clone(), unit.name.clone(), unit.duration_ns.map(|ns| ns / MS)))
            .collect::<Vec<_>>()
    };
    let mut journal = LinuxMachine::healthy().simulate_boot().files.journal;
    let container = "docker-4f0a1c.scope";
    for (ms, unit, id, message) in [
        (5_000, "docker.service", STARTING, "Starting docker.service - Docker Application Container Engine..."),
        (5_600, "docker.service", STARTED, "Started docker.service - Docker Application Container Engine."),
        (5_700, container, STARTING, "Starting docker-4f0a1c.scope - libcontainer container 4f0a1c..."),
        (6_000, container, STARTED, "Started docker-4f0a1c.scope - libcontainer container 4f0a1c."),
        (6_100, "systemd-nspawn@web.service", STARTING, "Starting systemd-nspawn@web.service - Container web..."),
        (8_100, "systemd-nspawn@web.service", STARTED, "Started systemd-nspawn@web.service - Container web."),
        // Neither is a container: the socket of a container engine, and the slice for containers.
        (8_200, "podman-api.socket", STARTED, "Listening on podman-api.socket - Podman API Socket."),
        (8_300, "machine-web.slice", STARTED, "Created slice machine-web.slice - Slice."),
    ] {
        journal.extend(system_unit_entry(ms, unit, id, message).into_bytes());
    }
    let expected = [("docker-4f0a1c.scope", 300), ("systemd-nspawn@web.service", 2_000)];
    let expected = expected.map(|(name, ms)| ("container".to_owned(), name.to_owned(), Some(ms)));
    assert_eq!(boot(journal), expected);
    assert!(boot(LinuxMachine::healthy().simulate_boot().files.journal).is_empty());
}
