//! Writes battery reports and system sleep diagnostics as `powercfg` does.
//!
//! Source: pages of real computers; structure, classes and labels are theirs, all values are invented.

use std::fmt::Write as _;

use crate::power_report::{hours, second};

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

/// Returns the page of system sleep diagnostics, in a zone that is one hour east of Greenwich. Each sleep is in an
/// interval without user input.
#[must_use]
pub fn sleep_diagnostics(sleeps: &[DiagnosedSleep]) -> String {
    let end = sleeps.last().map_or(0, |sleep| sleep.start_unix_ns + sleep.duration_ns);
    let (date, time) = local(end);
    let mut page = head("ssd", "systemsleepdiagnostics/2016");
    let _ = write!(
        page,
        "<tr><td class=\"label\"> REPORT TIME </td><td><span>{date} </span><span>{time}</span></td></tr></table>\
         <table id=\"summary-table\"><tr class=\"row-low\"><td class=\"centered\">1</td><td class=\"dateTime\">{date} \
         {time}</td><td class=\"hms\">0:31:15</td><td class=\"centered\">Working</td></tr></table>",
    );
    for sleep in sleeps {
        let (date, time) = local(sleep.start_unix_ns);
        let _ = write!(
            page,
            "<div><h1>Power Requests </h1><table><tr><td class=\"percent\">{date}T{time}</td>\
             <td class=\"center\">0:01:00</td><td class=\"center\">System</td><td class=\"center\">0xff</td></tr></table>\
             <h1>Sleep Intervals </h1><table class=\"defs\"><tr>{}</tr><tr><td class=\"percent\">{date}T{time}</td>\
             <td class=\"center\">{}</td><td class=\"center\">{}</td><td class=\"center\">0</td>\
             <td class=\"center\"> {} </td><td class=\"center\">14</td><td class=\"center\">0</td>\
             <td class=\"center\">{}</td></tr></table></div>",
            "<td class=\"label\">START TIME</td>".repeat(8),
            hours(sleep.duration_ns),
            sleep.state,
            sleep.reason,
            i32::from(sleep.is_successful),
        );
    }
    page + "</body></html>"
}

/// Start of a page, up to its first table.
fn head(prefix: &str, schema: &str) -> String {
    format!(
        "<!DOCTYPE html>\r\n<!-- saved from url=(0016)http://localhost -->\r\n<html \
         xmlns=\"http://www.w3.org/1999/xhtml\" xmlns:{prefix}=\"http://schemas.microsoft.com/{schema}\"><head>\
         <meta name=\"ReportUtcOffset\" content=\"+1:00\"/><style>.even.suspend {{ }}</style></head><body><table><col/>"
    )
}

/// Date and time of the local clock.
fn local(unix_ns: i64) -> (String, String) {
    let text = second(unix_ns + 3_600_000_000_000);
    let (date, time) = text.split_once('T').unwrap_or_default();
    (date.to_owned(), time.to_owned())
}
