//! Writes battery reports and system sleep diagnostics as `powercfg` does.
//!
//! Source: pages of real computers; structure, classes and labels are theirs, all values are invented.

use std::fmt::Write as _;

use crate::power_report::{hours, local, second, xml_head};

/// A row of "Recent usage".
#[derive(Clone, Debug)]
pub struct UsageRow {
    pub start_unix_ns: i64,
    /// English label of the state.
    pub state: &'static str,
    /// Power source; suspended computers have none.
    pub on_ac: bool,
    pub capacity_mwh: Option<i64>,
}

impl UsageRow {
    #[must_use]
    pub fn new(start_unix_ns: i64, state: &'static str, on_ac: bool, capacity_mwh: i64) -> Self {
        Self { start_unix_ns, state, on_ac, capacity_mwh: Some(capacity_mwh) }
    }
}

/// A battery report of a computer in a zone that is one hour east of Greenwich. The last row is the report's own.
#[derive(Clone, Debug)]
pub struct BatteryReport {
    /// Full charge capacity of each battery.
    pub full_mwh: Vec<i64>,
    pub rows: Vec<UsageRow>,
}

impl BatteryReport {
    /// Returns the page. `label` translates the names of states, `separator` groups digits.
    #[must_use]
    pub fn page(&self, label: &dyn Fn(&str) -> String, separator: &str) -> String {
        let mwh = |mwh: i64| format!("{}{separator}{:03} mWh\r\n    ", mwh / 1000, mwh % 1000);
        let created = local(self.rows.last().map_or(0, |row| row.start_unix_ns));
        let mut page = head("bat", "battery/2012");
        let header = [("NAME", "PC"), ("PRODUCT", "Maker Model"), ("BIOS", "1.0"), ("BUILD", "22621.1.amd64fre.test")];
        for (name, value) in header.into_iter().chain([("ROLE", "Mobile"), ("CONNECTED STANDBY", "Supported")]) {
            let _ = write!(page, "<tr><td class=\"label\">\r\n {name}\r\n </td><td>{value}</td></tr>");
        }
        let _ = write!(
            page,
            "<tr><td class=\"label\">TIME</td><td class=\"dateTime\"><span class=\"date\">{} </span>\
             <span class=\"time\">{}</span></td></tr></table><h2>Installed batteries</h2><table><thead><tr><td> </td>\
             <td>BATTERY 1</td></tr></thead><tr><td><span class=\"label\">NAME</span></td><td>B 2000 mWh</td></tr>",
            created.0, created.1,
        );
        let full: String = self.full_mwh.iter().map(|&full| format!("<td>{}</td>", mwh(full))).collect();
        let design: String = self.full_mwh.iter().map(|&full| format!("<td>{}</td>", mwh(full + 9_000))).collect();
        let _ = write!(
            page,
            "<tr><td><span class=\"label\">DESIGN CAPACITY</span></td>{design}</tr><tr style=\"height:0.4em;\"></tr>\
             <tr><td><span class=\"label\">FULL CHARGE CAPACITY</span></td>{full}</tr>\
             <tr><td><span class=\"label\">CYCLE COUNT</span></td><td>52</td></tr></table><h2>Recent usage</h2><table>\
             <thead><tr><td>\r\nSTART TIME\r\n</td><td class=\"centered\">STATE</td></tr></thead>",
        );
        let mut last_date = String::new();
        for (number, row) in (1..).zip(&self.rows) {
            let (date, time) = local(row.start_unix_ns);
            let shown = if date == last_date { "" } else { date.as_str() };
            let is_suspended = row.state == "Suspended";
            let class = match (is_suspended, row.on_ac) {
                (true, _) => "suspend",
                (false, true) => "",
                (false, false) => "dc",
            };
            let source = match (is_suspended, row.on_ac) {
                (true, _) => String::new(),
                (false, true) => label("AC"),
                (false, false) => label("Battery"),
            };
            let capacity = row.capacity_mwh.map_or_else(
                || "<td class=\"nullValue\">-</td><td class=\"nullValue\">-</td>".to_owned(),
                |capacity| format!("<td class=\"percent\">71 %\r\n</td><td class=\"mw\">{}</td>", mwh(capacity)),
            );
            let _ = write!(
                page,
                "<tr class=\"{} {class} {number}\"><td class=\"dateTime\"><span class=\"date\">{shown} </span>\
                 <span class=\"time\">{time}</span></td><td class=\"state\">\r\n{}\r\n</td>\
                 <td class=\"acdc\">\r\n{source}\r\n</td>{capacity}</tr>",
                if number % 2 == 0 { "odd" } else { "even" },
                label(row.state),
            );
            last_date = date;
        }
        // The table of drains repeats intervals; it has a duration in place of the power source.
        page + "</table><h2>Battery usage</h2><table><tr class=\"even dc 1\"><td class=\"dateTime\">\
                <span class=\"date\">2026-01-01 </span><span class=\"time\">10:00:00</span></td>\
                <td class=\"state\">Connected standby</td><td class=\"hms\">1:00:00</td>\
                <td class=\"percent\">1 %</td><td class=\"mw\">40 mWh</td></tr></table></body></html>"
    }
}

impl BatteryReport {
    /// Returns the XML form.
    #[must_use]
    pub fn xml(&self) -> String {
        let created = self.rows.last().map_or(0, |row| row.start_unix_ns);
        let mut xml = xml_head("BatteryReport", "battery/2012", created, true);
        xml += "  <Batteries>\n";
        for full in &self.full_mwh {
            let _ =
                writeln!(xml, "<Battery><Id>B &amp; C</Id><FullChargeCapacity>{full}</FullChargeCapacity></Battery>");
        }
        xml += "  </Batteries>\n  <RecentUsage>\n";
        let full: i64 = self.full_mwh.iter().sum();
        for (row, next) in self.rows.iter().zip(self.rows.iter().skip(1).map(Some).chain([None])) {
            let ticks = next.map_or(u64::MAX - 93, |next| ((next.start_unix_ns - row.start_unix_ns) / 100) as u64);
            let kind = match row.state {
                "Connected standby" => "ConnectedStandby",
                "Suspended" => "Suspend",
                "Report generated" => "ReportGenerated",
                state => state,
            };
            let (date, time) = local(row.start_unix_ns);
            let _ = write!(
                xml,
                "    <UsageEntry\r\n      Timestamp=\"{}Z\"\r\n      LocalTimestamp=\"{date}T{time}\"\r\n      \
                 Duration=\"{ticks}\"\r\n      Ac=\"{}\"\r\n      EntryType=\"{kind}\"\r\n      ChargeCapacity=\"{}\"\r\n      \
                 Discharge=\"0\"\r\n      FullChargeCapacity=\"{full}\"\r\n      IsNextOnBattery=\"0\"\r\n      />\r\n",
                second(row.start_unix_ns),
                i32::from(row.on_ac),
                row.capacity_mwh.unwrap_or(0),
            );
        }
        xml + "  </RecentUsage>\n  <History>\n    <HistoryEntry\n      StartDate=\"2026-01-01T00:00:00Z\"\n      />\n  \
               </History>\n</BatteryReport>\n\n"
    }
}

/// A sleep in system sleep diagnostics.
#[derive(Clone, Debug)]
pub struct DiagnosedSleep {
    pub start_unix_ns: i64,
    pub duration_ns: i64,
    /// `Sleeping1` to `Sleeping3`, `Hibernate` or `Shutdown`.
    pub state: &'static str,
    pub reason: &'static str,
    pub is_successful: bool,
}

/// An interval without a user in system sleep diagnostics.
#[derive(Clone, Debug)]
pub struct DiagnosedAbsence {
    pub start_unix_ns: i64,
    pub duration_ns: i64,
    /// `Working`, or the state of a sleep.
    pub state: &'static str,
    /// Program or device, type, start and duration of availability requests.
    pub requests: Vec<(&'static str, &'static str, i64, i64)>,
    pub sleeps: Vec<DiagnosedSleep>,
}

impl DiagnosedAbsence {
    /// An interval in which the computer stayed on, without requests.
    #[must_use]
    pub fn new(start_unix_ns: i64, duration_ns: i64) -> Self {
        Self { start_unix_ns, duration_ns, state: "Working", requests: Vec::new(), sleeps: Vec::new() }
    }

    /// Adds a request that is active from `after_ns` after the start.
    #[must_use]
    pub fn request(mut self, requester: &'static str, kind: &'static str, after_ns: i64, duration_ns: i64) -> Self {
        self.requests.push((requester, kind, self.start_unix_ns + after_ns, duration_ns));
        self
    }

    /// Adds a sleep to S3 that lasts to the end of the interval.
    #[must_use]
    pub fn slept_after(mut self, awake_ns: i64) -> Self {
        self.state = "Sleeping3";
        self.sleeps.push(DiagnosedSleep {
            start_unix_ns: self.start_unix_ns + awake_ns,
            duration_ns: self.duration_ns - awake_ns,
            state: "Sleeping3",
            reason: "System Idle",
            is_successful: true,
        });
        self
    }

    fn row(&self, number: usize, is_first_of_day: bool) -> String {
        let (date, time) = local(self.start_unix_ns);
        let shown = if is_first_of_day { date.as_str() } else { "" };
        format!(
            "<tr class=\"row-low\"><td class=\"centered\"><a href=\"#user-not-present-session-{number}\" \
             class=\"row-link\">{number}</a></td><td class=\"dateTime\"><span class=\"date\">{shown} </span>\
             <span class=\"time\">{time}</span></td><td class=\"hms\">{}</td><td class=\"centered\">{}</td></tr>",
            hours(self.duration_ns),
            self.state,
        )
    }

    fn section(&self, number: usize) -> String {
        let expander = "<span class=\"expander\">+ </span>";
        let mut section = format!(
            "<a name=\"user-not-present-session-{number}\"/><h3>Session</h3><table class=\"session-summary\"><tbody>{}\
             </tbody></table><div><h1>{expander}Power Requests </h1>",
            self.row(number, true),
        );
        for (requester, kind, start_unix_ns, duration_ns) in &self.requests {
            let (date, time) = local(*start_unix_ns);
            let _ = write!(
                section,
                "<div class=\"analysis-container analysis-low\"><h1>{expander}{requester}</h1><table class=\"defs\"><tr>{}\
                 </tr><tr><td class=\"percent\">{date}T{time}</td><td class=\"center\">{}</td>\
                 <td class=\"center\">{kind}</td><td class=\"center\">0xff</td></tr></table></div>",
                "<td class=\"label\">START TIME</td>".repeat(4),
                hours(*duration_ns),
            );
        }
        section += "</div><div><h1>System Idle Events </h1><table class=\"pdc-phases\"><tbody><tr class=\"row-info\">\
                    <td>The system went idle.</td><td class=\"center\">0:21:19</td><td class=\"dateTime\">now</td></tr>\
                    </tbody></table></div>";
        for sleep in &self.sleeps {
            let (date, time) = local(sleep.start_unix_ns);
            let _ = write!(
                section,
                "<h1>Sleep Intervals </h1><table class=\"defs\"><tr>{}</tr><tr><td class=\"percent\">{date}T{time}</td>\
                 <td class=\"center\">{}</td><td class=\"center\">{}</td><td class=\"center\">0</td>\
                 <td class=\"center\"> {} </td><td class=\"center\">14</td><td class=\"center\">0</td>\
                 <td class=\"center\">{}</td></tr></table>",
                "<td class=\"label\">START TIME</td>".repeat(8),
                hours(sleep.duration_ns),
                sleep.state,
                sleep.reason,
                i32::from(sleep.is_successful),
            );
        }
        section
    }
}

/// Returns the page of system sleep diagnostics, in a zone that is one hour east of Greenwich.
#[must_use]
pub fn diagnostics_page(absences: &[DiagnosedAbsence]) -> String {
    let end = absences.last().map_or(0, |absence| absence.start_unix_ns + absence.duration_ns);
    let (date, time) = local(end);
    let mut page = head("ssd", "systemsleepdiagnostics/2016");
    let _ = write!(
        page,
        "<tr><td class=\"label\"> REPORT TIME </td><td><span>{date} </span><span>{time}</span></td></tr></table>\
         <table id=\"summary-table\">",
    );
    let mut last_date = String::new();
    for (number, absence) in (1..).zip(absences) {
        let (date, _) = local(absence.start_unix_ns);
        page += &absence.row(number, date != last_date);
        last_date = date;
    }
    page += "</table>";
    for (number, absence) in (1..).zip(absences) {
        page += &absence.section(number);
    }
    page + "</body></html>"
}

/// Returns the page of system sleep diagnostics with one interval for each sleep.
#[must_use]
pub fn sleep_diagnostics(sleeps: &[DiagnosedSleep]) -> String {
    let absences: Vec<DiagnosedAbsence> = sleeps
        .iter()
        .map(|sleep| DiagnosedAbsence {
            state: sleep.state,
            sleeps: vec![sleep.clone()],
            ..DiagnosedAbsence::new(sleep.start_unix_ns, sleep.duration_ns)
        })
        .collect();
    diagnostics_page(&absences)
}

/// Start of a page, up to its first table.
fn head(prefix: &str, schema: &str) -> String {
    format!(
        "<!DOCTYPE html>\r\n<!-- saved from url=(0016)http://localhost -->\r\n<html \
         xmlns=\"http://www.w3.org/1999/xhtml\" xmlns:{prefix}=\"http://schemas.microsoft.com/{schema}\"><head>\
         <meta name=\"ReportUtcOffset\" content=\"+1:00\"/><style>.even.suspend {{ }}</style></head><body><table><col/>"
    )
}
