//! Writes sleep studies as `powercfg /sleepstudy` does: the page with data of Windows 11 24H2, the page with tables of
//! Windows 10, and the XML form.
//!
//! Source: pages of real computers, and for the XML form, what public programs read from it; names, units and structure
//! are theirs, all values are invented.

use std::fmt::Write as _;

use onoff_trace::CivilTime;

const SECOND: i64 = 1_000_000_000;

/// `SESSION_TYPE_NAMES`, by number.
const TYPES: [&str; 12] = [
    "Active",
    "Screen Off",
    "Sleep",
    "Standby",
    "Hybrid Sleep",
    "Hibernate",
    "Hybrid Shutdown",
    "Shutdown",
    "System Sleep Transition (Unknown Type)",
    "Abnormal Shutdown",
    "Bugcheck",
    "Report Generated",
];

pub const ACTIVE: usize = 0;
pub const SCREEN_OFF: usize = 1;
pub const MODERN_STANDBY: usize = 2;
pub const SLEEP: usize = 3;
pub const HYBRID_SLEEP: usize = 4;
pub const HIBERNATE: usize = 5;
pub const HYBRID_SHUTDOWN: usize = 6;
pub const SHUTDOWN: usize = 7;

/// A session of a sleep study.
#[derive(Clone, Debug)]
pub struct StudySession {
    /// Number of its type.
    pub kind: usize,
    /// ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    pub duration_ns: i64,
    pub enter_reason: String,
    pub exit_reason: String,
    pub on_ac: bool,
    /// Remaining capacity at the start and at the end, mWh.
    pub capacity_mwh: (i64, i64),
    /// Full capacity, mWh; 0 without a battery.
    pub full_mwh: i64,
    /// Time in low power by software and by hardware, ns.
    pub low_power_ns: Option<(i64, i64)>,
    /// Requested and effective system state.
    pub states: Option<(i64, i64)>,
    /// Further fields of the session's events.
    pub fields: Vec<(String, String)>,
    /// Name, number of its type and active time in ns.
    pub blockers: Vec<(String, u8, i64)>,
}

impl StudySession {
    /// A session without battery, low power and blockers.
    #[must_use]
    pub fn new(kind: usize, start_unix_ns: i64, duration_ns: i64) -> Self {
        let states = match kind {
            SLEEP => Some((4, 4)),
            HYBRID_SLEEP => Some((4, 5)),
            HIBERNATE => Some((5, 5)),
            HYBRID_SHUTDOWN => Some((6, 5)),
            _ => None,
        };
        Self {
            kind,
            start_unix_ns,
            duration_ns,
            enter_reason: "----".to_owned(),
            exit_reason: "----".to_owned(),
            on_ac: false,
            capacity_mwh: (0, 0),
            full_mwh: 0,
            low_power_ns: None,
            states,
            fields: Vec::new(),
            blockers: Vec::new(),
        }
    }

    #[must_use]
    pub fn reasons(mut self, enter: &str, exit: &str) -> Self {
        (self.enter_reason, self.exit_reason) = (enter.to_owned(), exit.to_owned());
        self
    }

    #[must_use]
    pub fn battery(mut self, start_mwh: i64, end_mwh: i64, full_mwh: i64) -> Self {
        (self.capacity_mwh, self.full_mwh) = ((start_mwh, end_mwh), full_mwh);
        self
    }

    #[must_use]
    pub fn low_power(mut self, software_ns: i64, hardware_ns: i64) -> Self {
        self.low_power_ns = Some((software_ns, hardware_ns));
        self
    }

    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn blocker(mut self, name: &str, kind: u8, active_ns: i64) -> Self {
        self.blockers.push((name.to_owned(), kind, active_ns));
        self
    }

    fn end_unix_ns(&self) -> i64 {
        self.start_unix_ns + self.duration_ns
    }

    fn json(&self, number: usize) -> String {
        let mut values = vec![(String::from("Info._Header"), json_text("General"))];
        if let Some((software, hardware)) = self.low_power_ns {
            values.push(("Info.SwLowPowerStateTime".to_owned(), (software / 100).to_string()));
            values.push(("Info.HwLowPowerStateTime".to_owned(), (hardware / 100).to_string()));
        }
        if let Some((target, effective)) = self.states {
            values.push(("EventLog.TargetState".to_owned(), target.to_string()));
            values.push(("EventLog.EffectiveState".to_owned(), effective.to_string()));
        }
        for (name, value) in &self.fields {
            let number: Option<i64> = value.parse().ok();
            values.push((name.clone(), number.map_or_else(|| format!("'{value}'"), |number| number.to_string())));
        }
        let values: Vec<String> =
            values.iter().map(|(key, value)| format!("{{\"Key\":{},\"Value\":{value}}}", json_text(key))).collect();
        let blockers: Vec<String> = self
            .blockers
            .iter()
            .map(|(name, kind, active_ns)| {
                format!(
                    "{{\"Name\":{},\"ActiveTime\":{},\"ActiveTimePercent\":0,\"ActivityLevel\":3,\"Type\":{kind}}}",
                    json_text(name),
                    active_ns / 1000
                )
            })
            .collect();
        format!(
            "{{\"Type\":{},\"SessionId\":{number},\"ActivityLevel\":0,\"EnterReason\":{},\"ExitReason\":{},\
             \"EntryTimestamp\":\"{}Z\",\"ExitTimestamp\":\"{}Z\",\"Duration\":{},\"OnAc\":{},\
             \"BatteryCountChanged\":false,\"EntryRemainingCapacity\":{},\"EntryFullChargeCapacity\":{},\
             \"ExitRemainingCapacity\":{},\"ExitFullChargeCapacity\":{},\"BlockerGroups\":[],\
             \"Metadata\":{{\"FriendlyName\":\"Detailed Session Information\",\"Values\":[{}]}},\"TopBlockers\":[{}]}}",
            self.kind,
            json_text(&self.enter_reason),
            json_text(&self.exit_reason),
            second(self.start_unix_ns),
            second(self.end_unix_ns()),
            self.duration_ns / 1000,
            self.on_ac,
            self.capacity_mwh.0,
            self.full_mwh,
            self.capacity_mwh.1,
            self.full_mwh,
            values.join(","),
            blockers.join(","),
        )
    }
}

/// A sleep study of a computer in a zone that is `utc_offset_minutes` east of Greenwich.
#[derive(Clone, Debug)]
pub struct SleepStudy {
    pub utc_offset_minutes: i32,
    pub build: u32,
    pub modern_standby: bool,
    pub sessions: Vec<StudySession>,
}

impl SleepStudy {
    #[must_use]
    pub fn new(sessions: Vec<StudySession>) -> Self {
        Self { utc_offset_minutes: 60, build: 26_100, modern_standby: true, sessions }
    }

    fn created_unix_ns(&self) -> i64 {
        self.sessions.last().map_or(0, StudySession::end_unix_ns)
    }

    /// Returns the page of Windows 11 24H2 and later: scripts, then the data.
    #[must_use]
    pub fn page(&self) -> String {
        let mut sessions: Vec<String> =
            (1..).zip(&self.sessions).map(|(number, session)| session.json(number)).collect();
        let report = StudySession::new(TYPES.len() - 1, self.created_unix_ns(), 0);
        sessions.push(report.json(sessions.len() + 1));
        format!(
            "<!DOCTYPE html>\r\r\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head>\
             <title>System Power Report</title><style>td > p {{ }}</style><script>\"use strict\";\n\
             var SESSION_TYPE_NAMES = [\n    '{}'\n];\n{}</script><script>window.onload = function() {{\n\
             var LocalSprData = {{\"ReportInformation\":{{\"ReportVersion\":\"1.1\",\"ReportDuration\":7,\
             \"UtcOffset\":{},\"ScanTime\":\"{}Z\"}},\"SystemInformation\":{{\"ComputerName\":\"PC\",\
             \"SystemManufacturer\":\"Maker\",\"SystemProductName\":\"Model\",\"BIOSVersion\":\"1.0\",\
             \"ConnectedStandby\":{},\"OSBuild\":\"{}.1.amd64fre.test\",\"OSVer\":\"{}.1000\"}},\"Batteries\":[],\
             \"EnergyDrains\":[],\"ScenarioInstances\":[{}]}};\nDOMBuilder.Build();}};</script></head>\
             <body><div id=\"spr-content\"></div></body></html>",
            TYPES.join("',\n    '"),
            "// The page's own code.\n".repeat(3000),
            self.utc_offset_minutes,
            second(self.created_unix_ns()),
            self.modern_standby,
            self.build,
            self.build,
            sessions.join(","),
        )
    }

    /// Returns the page of Windows 10: tables with times of the local clock. `label` translates the names of states.
    #[must_use]
    pub fn tables_page(&self, label: &dyn Fn(&str) -> String) -> String {
        let local = |unix_ns: i64| second(unix_ns + i64::from(self.utc_offset_minutes) * 60 * SECOND);
        let (sign, minutes) = (if self.utc_offset_minutes < 0 { '-' } else { '+' }, self.utc_offset_minutes.abs());
        let created = local(self.created_unix_ns()).replace('T', " </span><span>");
        let mut page = format!(
            "\u{feff}<!DOCTYPE html>\r\n<!-- saved from url=(0016)http://localhost -->\r\n\
             <html xmlns=\"http://www.w3.org/1999/xhtml\" \
             xmlns:slp=\"http://schemas.microsoft.com/sleepstudy/2012\"><head>\
             <meta name=\"ReportUtcOffset\" content=\"{sign}{}:{:02}\"/><script>if (1 < 2) {{ }}</script></head><body>\
             <table class=\"defs\"><col/><tr><td class=\"label\">\r\n NAME </td><td>PC</td></tr>\
             <tr><td class=\"label\">PRODUCT</td><td>Maker Model</td></tr><tr><td class=\"label\">BIOS</td><td>1.0</td></tr>\
             <tr><td class=\"label\">BUILD</td><td>{}.1.amd64fre.test</td></tr>\
             <tr><td class=\"label\">ROLE</td><td>Mobile</td></tr>\
             <tr><td class=\"label\">TIME</td><td><span>{created}</span></td></tr></table>\
             <table id=\"summary-table\"><thead><tr><th></th><th>START</th></tr></thead>",
            minutes / 60,
            minutes % 60,
            self.build,
        );
        let mut last_date = String::new();
        let report = StudySession::new(TYPES.len() - 1, self.created_unix_ns(), 0);
        for (number, session) in (1..).zip(self.sessions.iter().chain([&report])) {
            let start = local(session.start_unix_ns);
            let (date, time) = start.split_once('T').unwrap_or_default();
            let shown = if date == last_date { "" } else { date };
            let _ = write!(
                page,
                "<tr class=\"row-neutral\"><td class=\"centered\"><a href=\"#connected-standby-session-{number}\" \
                 class=\"row-link\">{number}</a></td><td class=\"dateTime\"><span class=\"date\">{shown} </span>\
                 <span class=\"time\">{time}</span></td><td class=\"hms\">{}</td><td class=\"state\">{}</td>\
                 <td class=\"nullValue\">-</td><td class=\"chargeOrDrain\">-</td></tr>",
                hours(session.duration_ns),
                label(table_label(session.kind)),
            );
            date.clone_into(&mut last_date);
        }
        page += "</table>";
        for (number, session) in (1..).zip(&self.sessions) {
            let _ = write!(
                page,
                "<a name=\"connected-standby-session-{number}\"/><h3>State</h3><table class=\"session-summary\"><tr>\
                 <td class=\"centered\">{number}</td><td class=\"EntryReason\" align=\"center\">{}</td>\
                 <td class=\"ExitReason\" align=\"center\">{}</td></tr></table><table class=\"pdc-phases\">",
                session.enter_reason, session.exit_reason,
            );
            let states =
                session.states.map(|(target, effective)| [("TargetState", target), ("EffectiveState", effective)]);
            for (name, value) in states.into_iter().flatten() {
                let _ = write!(page, "<tr><td class=\"center\">{name}</td><td class=\"center\">{value}</td></tr>");
            }
            for (name, value) in &session.fields {
                let _ = write!(page, "<tr><td class=\"center\">{name}</td><td class=\"center\">{value}</td></tr>");
            }
            page += "</table>";
        }
        page + "</body></html>"
    }
}

impl SleepStudy {
    /// Returns the XML form: a state for each session, and a scenario with what was active in each modern standby.
    #[must_use]
    pub fn xml(&self) -> String {
        let mut xml = xml_head("SleepStudy", "sleepstudy/2012", self.created_unix_ns(), self.modern_standby)
            + "<ScenarioInstances>\n";
        for (number, session) in (1..).zip(&self.sessions) {
            xml += &session.xml(number);
        }
        xml + "</ScenarioInstances>\n</SleepStudy>\n"
    }
}

/// Names of the types of blockers, by number.
const BLOCKER_TYPES: [&str; 3] = ["Activator", "Fx Device", "PDC Phase"];

impl StudySession {
    fn xml(&self, number: usize) -> String {
        let is_standby = self.kind == MODERN_STANDBY;
        let kind = if self.kind == SLEEP { "Sleep" } else { TYPES.get(self.kind).copied().unwrap_or_default() };
        let mut records = String::new();
        if is_standby {
            let _ = write!(records, "<OSStateRecord Name=\"Scenario Instance ID\" Value=\"{}\"/>", number + 1000);
        }
        let states = self.states.map(|(target, effective)| [("TargetState", target), ("EffectiveState", effective)]);
        for (name, value) in states.into_iter().flatten() {
            let _ = write!(records, "<OSStateRecord Name=\"{name}\" Value=\"{value}\"/>");
        }
        for (name, value) in &self.fields {
            let _ = write!(records, "<OSStateRecord Name=\"{name}\" Value=\"{value}\"/>");
        }
        let mut xml = format!(
            "<OsStateInstance\n  Id=\"{number}\"\n  Type=\"{kind}\"\n  EntryTimestamp=\"{}Z\"\n  ExitTimestamp=\"{}Z\"\n  \
             Duration=\"{}\"\n  Ac=\"{}\"\n  EntryReason=\"{}\"\n  ExitReason=\"{}\"\n  >\n<CustomData><OSStateCustomData>\
             {records}</OSStateCustomData></CustomData></OsStateInstance>\n",
            second(self.start_unix_ns),
            second(self.end_unix_ns()),
            self.duration_ns / 100,
            i32::from(self.on_ac),
            self.enter_reason,
            self.exit_reason,
        );
        if is_standby {
            let (software_ns, hardware_ns) = self.low_power_ns.unwrap_or((-100, -100));
            let _ = write!(
                xml,
                "<ScenarioInstance\n  Id=\"{}\"\n  Type=\"Sleep\"\n  TimeStamp=\"{}Z\"\n  Duration=\"{}\"\n  \
                 LowPowerStateTime=\"{}\"\n  HwLowPowerStateTime=\"{}\"\n  BatteryCountChanged=\"0\"\n  \
                 EntryRemainingCapacity=\"{}\"\n  ExitRemainingCapacity=\"{}\"\n  EntryFullCapacity=\"{}\"\n  >\n<TopBlockers>",
                number + 1000,
                second(self.start_unix_ns),
                self.duration_ns / 100,
                software_ns / 100,
                hardware_ns / 100,
                self.capacity_mwh.0,
                self.capacity_mwh.1,
                self.full_mwh,
            );
            for (name, kind, active_ns) in &self.blockers {
                let _ = write!(
                    xml,
                    "<TopBlocker Name=\"{name}\" ScenarioActiveTimePercent=\"{}\" ActiveTime=\"{}\" Type=\"{}\">\
                     </TopBlocker>",
                    active_ns * 100 / self.duration_ns.max(1),
                    active_ns / 100,
                    BLOCKER_TYPES.get(usize::from(*kind)).copied().unwrap_or("Other"),
                );
            }
            xml += "</TopBlockers></ScenarioInstance>\n";
        }
        xml
    }
}

/// Name of a state in the tables of Windows 10.
fn table_label(kind: usize) -> &'static str {
    match kind {
        SLEEP => "Sleep",
        HYBRID_SLEEP => "Sleep (Hybrid)",
        HYBRID_SHUTDOWN => "Shutdown (Hybrid)",
        _ => TYPES.get(kind).copied().unwrap_or_default(),
    }
}

/// Formats a time to the second, without a zone.
pub(crate) fn second(unix_ns: i64) -> String {
    let text = CivilTime::from_unix_ns(unix_ns).to_string();
    text.get(..19).unwrap_or(&text).to_owned()
}

pub(crate) fn hours(ns: i64) -> String {
    let seconds = ns / SECOND;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn json_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Start of an XML form, up to its own elements.
pub(crate) fn xml_head(root: &str, schema: &str, created_unix_ns: i64, modern_standby: bool) -> String {
    let (date, time) = local(created_unix_ns);
    format!(
        "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n<?xml-stylesheet type='text/xsl' \
         href='C:\\stylesheet.xsl'?>\r\n<{root} xmlns=\"http://schemas.microsoft.com/{schema}\">\r\n  \
         <ReportInformation>\r\n    <ScanTime>{}Z</ScanTime>\r\n    <LocalScanTime>{date}T{time}</LocalScanTime>\r\n    \
         <UtcOffset>+1:00</UtcOffset>\r\n  </ReportInformation>\r\n  <SystemInformation>\r\n    \
         <ComputerName>PC</ComputerName>\r\n    <SystemManufacturer>Maker</SystemManufacturer>\r\n    \
         <SystemProductName>Model</SystemProductName>\r\n    <BIOSVersion>1.0</BIOSVersion>\r\n    \
         <OSBuild>22621.1.amd64fre.test</OSBuild>\r\n    <ConnectedStandby>{}</ConnectedStandby>\r\n  \
         </SystemInformation>\r\n",
        second(created_unix_ns),
        i32::from(modern_standby),
    )
}

/// Date and time of the local clock.
pub(crate) fn local(unix_ns: i64) -> (String, String) {
    let text = second(unix_ns + 3_600_000_000_000);
    let (date, time) = text.split_once('T').unwrap_or_default();
    (date.to_owned(), time.to_owned())
}
