//! Event logs of a Windows computer with three boots, and with names planted wherever Windows writes names.

use crate::event_log::{LogRecord, LogValue, evtx, xml};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;
const DAY: i64 = 86_400 * SECOND;
/// Start of the first boot: 2024-11-15 14:28:34 UTC.
pub const FIRST_START_NS: i64 = 1_731_680_914 * SECOND;

/// The planted names, addresses and identifiers.
pub const NAMES: [&str; 12] = [
    "DESK-7",
    "WIN-SETUP1",
    "example.com",
    "CORP",
    "anna.m",
    "Anna Muster",
    "files-2",
    "10.1.2.3",
    "fe80::aa",
    "3c-52-82",
    "1004336348",
    "private word",
];

const HOST: &str = "DESK-7.corp.example.com";
const SID: &str = "S-1-5-21-1004336348-1177238915-682003330-1001";
const DIAGNOSTICS: &str = "Microsoft-Windows-Diagnostics-Performance";
const GENERAL: &str = "Microsoft-Windows-Kernel-General";

/// Returns names and contents of the log files, as they are in `winevt\Logs`.
#[must_use]
pub fn files() -> Vec<(String, Vec<u8>)> {
    channels().into_iter().map(|(channel, records)| (format!("{channel}.evtx"), evtx(&records))).collect()
}

/// The same event logs as XML exports.
#[must_use]
pub fn exports() -> Vec<(String, Vec<u8>)> {
    channels().into_iter().map(|(channel, records)| (format!("{channel}.xml"), xml(&records).into_bytes())).collect()
}

/// The records by channel.
fn channels() -> Vec<(String, Vec<LogRecord>)> {
    let starts = [0, 1, 2].map(|day| FIRST_START_NS + day * DAY);
    let channels: [fn(i64) -> Vec<LogRecord>; 7] =
        [system, application, performance, winlogon, policy, shell, sessions];
    channels
        .into_iter()
        .map(|records| {
            let records = starts.iter().flat_map(|&start_ns| {
                // The computer got its name after the first boot.
                let computer = if start_ns == FIRST_START_NS { "WIN-SETUP1" } else { HOST };
                records(start_ns).into_iter().map(move |record| LogRecord { computer: computer.to_owned(), ..record })
            });
            let records: Vec<LogRecord> =
                (1..).zip(records).map(|(number, record)| LogRecord { number, ..record }).collect();
            let channel = records.first().map(|record| record.channel.replace('/', "%4")).unwrap_or_default();
            (channel, records)
        })
        .collect()
}

/// The System log of a boot: the log service's records, the end of the previous session, the kernel's start.
fn system(start_ns: i64) -> Vec<LogRecord> {
    let log = |provider: &str, id, time_ns| LogRecord::new("System", provider, id, time_ns);
    let service_ns = start_ns + 9 * SECOND;
    let mut records = vec![
        log("EventLog", 6009, service_ns).with("", "10.00.").with("", "19045"),
        log("EventLog", 6011, service_ns).with("", "WIN-SETUP1").with("", "DESK-7"),
        log("EventLog", 6005, service_ns),
    ];
    if start_ns > FIRST_START_NS {
        records.push(log(GENERAL, 13, start_ns - 3_600 * SECOND));
    }
    records.extend([
        log(GENERAL, 12, start_ns + 40 * MS).with("BootMode", 0).with("BuildVersion", 19_041),
        log("Microsoft-Windows-Kernel-Boot", 27, start_ns + 41 * MS).with("BootType", 0),
        log("Microsoft-Windows-DHCP-Client", 50_066, start_ns + 12 * SECOND)
            .with("Address", "10.1.2.3")
            .with("LinkLocal", "fe80::aa")
            .with("Hardware", "3c-52-82-aa-bb-cc"),
        log("Microsoft-Windows-Winlogon", 7001, start_ns + 21 * SECOND).with("TSId", "1").with("UserSid", SID),
        log("User32", 1074, start_ns + 3_000 * SECOND)
            .with("param1", r"C:\Windows\explorer.exe (DESK-7)")
            .with("param2", "DESK-7")
            .with("param7", r"CORP\anna.m"),
        log(GENERAL, 1, start_ns + 30 * SECOND)
            .with("NewTime", LogValue::Time(start_ns + 30 * SECOND))
            .with("OldTime", LogValue::Time(start_ns + 30 * SECOND))
            .with("Reason", 1)
            .with("ProcessName", r"C:\Users\anna.m\clock.exe"),
    ]);
    records
}

/// Records that onoff does not read.
fn application(start_ns: i64) -> Vec<LogRecord> {
    let log = |id| LogRecord::new("Application", "Some Program", id, start_ns + 60 * SECOND);
    vec![
        log(1).with("", "a private word of Anna Muster"),
        log(2).with("UserName", "Anna Muster").with("Binary", "616e6e61"),
    ]
}

/// Windows' account of the boot, and a delay that it reports.
fn performance(start_ns: i64) -> Vec<LogRecord> {
    let channel = "Microsoft-Windows-Diagnostics-Performance/Operational";
    let log = |id| LogRecord::new(channel, DIAGNOSTICS, id, start_ns + 110 * SECOND);
    vec![
        log(100)
            .with("BootStartTime", LogValue::Time(start_ns))
            .with("BootEndTime", LogValue::Time(start_ns + 107 * SECOND))
            .with("SystemBootInstance", 2)
            .with("BootTime", 38_336)
            .with("MainPathBootTime", 20_736)
            .with("BootSmssInitTime", 2_859)
            .with("BootUserProfileProcessingTime", 300)
            .with("BootMachineProfileProcessingTime", 1)
            .with("BootExplorerInitTime", 4_130)
            .with("BootPostBootTime", 17_600)
            .with("BootIsRebootAfterInstall", LogValue::Bool(false))
            .with("BootIsDegradation", LogValue::Bool(false))
            .with("OSLoaderDuration", 545)
            .with("BootPNPInitStartTimeMS", 31)
            .with("BootPNPInitDuration", 1_200)
            .with("SystemPNPInitStartTimeMS", 1_285)
            .with("SystemPNPInitDuration", 156)
            .with("SessionInitStartTimeMS", 1_452)
            .with("WinLogonStartTimeMS", 4_311)
            .with("OtherLogonInitActivityDuration", 11_994)
            .with("UserLogonWaitDuration", 7_000),
        log(101)
            .with("StartTime", LogValue::Time(start_ns))
            .with("Name", "tool.exe")
            .with("FriendlyName", "Tool of Anna Muster")
            .with("Version", "8.1.0.5")
            .with("TotalTime", 9_000)
            .with("DegradationTime", 4_000)
            .with("Path", r"C:\Users\anna.m\AppData\Local\Tool\tool.exe")
            .with("CompanyName", "Example Ltd"),
    ]
}

fn winlogon(start_ns: i64) -> Vec<LogRecord> {
    let log = |id, ms| {
        LogRecord::new("Microsoft-Windows-Winlogon/Operational", "Microsoft-Windows-Winlogon", id, start_ns + ms * MS)
    };
    let subscriber = |record: LogRecord| record.with("Event", 2).with("SubscriberName", "Profiles");
    vec![log(1, 16_300), log(2, 16_700), subscriber(log(811, 16_800)), subscriber(log(812, 17_500))]
}

fn policy(start_ns: i64) -> Vec<LogRecord> {
    let log = |id, ms| {
        LogRecord::new(
            "Microsoft-Windows-GroupPolicy/Operational",
            "Microsoft-Windows-GroupPolicy",
            id,
            start_ns + ms * MS,
        )
    };
    let user = |record: LogRecord| {
        record.with("PrincipalSamName", r"CORP\anna.m").with("DCName", r"\\DC1.corp.example.com").with("UserSid", SID)
    };
    vec![user(log(4001, 17_600)), user(log(8001, 18_100))]
}

fn shell(start_ns: i64) -> Vec<LogRecord> {
    let log = |id, ms| {
        LogRecord::new(
            "Microsoft-Windows-Shell-Core/Operational",
            "Microsoft-Windows-Shell-Core",
            id,
            start_ns + ms * MS,
        )
        .with("Command", r#""C:\Users\anna.m\cloud.exe" --to \\files-2\home --ip 10.1.2.3"#)
    };
    vec![log(9707, 32_000), log(9708, 33_500)]
}

fn sessions(start_ns: i64) -> Vec<LogRecord> {
    let provider = "Microsoft-Windows-TerminalServices-LocalSessionManager";
    vec![
        LogRecord::new(&format!("{provider}/Operational"), provider, 21, start_ns + 17 * SECOND)
            .with("User", r"CORP\anna.m")
            .with("SessionID", 1)
            .with("Address", "10.1.2.3"),
    ]
}
