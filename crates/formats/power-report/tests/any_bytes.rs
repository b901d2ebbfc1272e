//! Hostile input: no bytes may cause a panic or unbounded work.

use onoff_power_report::{MAX_BLOCKERS, read};
use onoff_testkit::power_report::{MODERN_STANDBY, SLEEP, SleepStudy, StudySession};
use onoff_testkit::power_tables::{BatteryReport, DiagnosedSleep, UsageRow, sleep_diagnostics};
use proptest::prelude::*;

fn pages() -> [String; 6] {
    let sessions = (0..6).map(|number: i64| {
        let kind = if number % 2 == 0 { MODERN_STANDBY } else { SLEEP };
        let session = StudySession::new(kind, number * 7_200_000_000_000, 3_600_000_000_000);
        session.battery(40_000, 39_000, 50_000).low_power(1_000_000_000, 0).blocker("USB", 1, 1_000_000_000)
    });
    let study = SleepStudy::new(sessions.collect());
    // Without the page's own code, so that changes hit the data.
    let page = study.page().replace("// The page's own code.\n", "");
    let states = ["Active", "Connected standby", "Suspended", "Report generated"];
    let rows = (0..).zip(states).map(|(number, state)| UsageRow::new(number * 7_200_000_000_000, state, true, 40_000));
    let battery = BatteryReport { full_mwh: vec![50_000], rows: rows.collect() };
    let sleep = DiagnosedSleep {
        start_unix_ns: 0,
        duration_ns: 3_600_000_000_000,
        state: "Sleeping3",
        reason: "System Idle",
        is_successful: true,
    };
    let diagnostics = sleep_diagnostics(&[sleep.clone(), sleep]);
    [
        page,
        study.tables_page(&str::to_owned),
        battery.page(&str::to_owned, ","),
        diagnostics,
        study.xml(),
        battery.xml(),
    ]
}

proptest! {
    #[test]
    fn changed_bytes_are_survived(changes in prop::collection::vec((0_usize..20_000, any::<u8>()), 1..40)) {
        for page in pages() {
            let mut bytes = page.into_bytes();
            for &(offset, value) in &changes {
                let index = offset % bytes.len();
                bytes[index] = value;
            }
            if let Ok(report) = read(&bytes) {
                prop_assert!(report.sessions.iter().all(|session| session.duration_ns >= 0));
            }
        }
    }

    #[test]
    fn any_text_is_survived(text in "(<table id=\"summary-table\">|<tr>|<td class=\"state\">|<td class=\"hms\">|</td>|</tr>|<a name=\"connected-standby-session-1\"/>|<script>|&#x0;|&|<|>|\"|.){0,60}") {
        let _ = read(text.as_bytes());
        let study = "<SleepStudy xmlns=\"http://schemas.microsoft.com/sleepstudy/2012\">";
        let _ = read(format!("{study}<OsStateInstance {text}").as_bytes());
        let _ = read(format!("var LocalSprData = {{\"ScenarioInstances\":[{{{text}}}]}};").as_bytes());
    }
}

#[test]
fn depth_and_lists_are_bounded() {
    assert!(read(format!("LocalSprData = {{\"a\":{}", "[".repeat(1_000_000)).as_bytes()).is_err());
    assert!(
        read(format!("LocalSprData = {{\"a\":{}{}}}", "[".repeat(1_000_000), "]".repeat(1_000_000)).as_bytes())
            .is_err()
    );
    let blockers = (0..1000).fold(StudySession::new(MODERN_STANDBY, 0, 1_000_000_000), |session, number| {
        session.blocker(&number.to_string(), 0, 1_000_000)
    });
    let report = read(SleepStudy::new(vec![blockers]).page().as_bytes()).unwrap();
    assert_eq!(report.sessions[0].blockers.len(), MAX_BLOCKERS);
    let wide = format!("<table id=\"summary-table\"><tr>{}</tr>", "<td class=\"state\">x</td>".repeat(100_000));
    assert_eq!(read(wide.as_bytes()).unwrap().unreadable_sessions, 1);
}
