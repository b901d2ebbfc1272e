//! Work around the user session: video initialization, logon, policy, read-ahead.

use onoff_trace::{Activity, ActivityKind, Trace, milestone};

use super::report::{GroupPolicy, Logon, ReadAhead, TrainingState, VideoInitialization};
use onoff_evidence::activity::{of_kind, sort_longest_first};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, DerivedInterval};
use onoff_firmware_times::before_kernel::value;
use onoff_usage::processes::runs;
use onoff_usage::user_input;

/// Initialization of the video driver in both sessions, measured as in the Microsoft paper.
pub(super) fn video(trace: &Trace) -> VideoInitialization {
    VideoInitialization {
        system_session: video_in(trace, 0, "wininit.exe"),
        user_session: video_in(trace, 1, "winlogon.exe"),
    }
}

/// From the end of the `nth` start of csrss.exe to the start of `next`.
fn video_in(trace: &Trace, nth: usize, next: &str) -> DerivedInterval {
    let ordinal = u32::try_from(nth).unwrap_or(u32::MAX).saturating_add(1);
    let programs = |name: &str| -> Vec<Activity> {
        let mut rows: Vec<Activity> = trace
            .activities
            .iter()
            .filter(|row| row.kind == ActivityKind::SessionProgram)
            .filter(|row| trace.text(row.name).to_lowercase().contains(name))
            .collect();
        rows.sort_by_key(|row| row.start_ns);
        rows
    };
    let interval = |start: i64, end: i64, certainty, rule: Rule, event: String, missing| DerivedInterval {
        start_ns: Some(start),
        end_ns: Some(end),
        duration_ns: Some(end.saturating_sub(start)),
        rule,
        event,
        certainty,
        unmatched_rules: missing,
    };
    let best = Rule::FromSubsystemToProgram { ordinal, program: next.to_owned() };
    let stem = next.trim_end_matches(".exe");
    if let Some(started) = programs("csrss").get(nth)
        && let Some(start) = started.end_ns
        && let Some(row) = programs(stem).into_iter().find(|row| row.start_ns >= start)
    {
        let event = trace.text(row.event).to_owned();
        return interval(start, row.start_ns, Certainty::Inferred, best, event, Vec::new());
    }

    let starts = |image: &str| -> Vec<i64> {
        let mut starts: Vec<i64> = trace
            .processes
            .iter()
            .filter(|process| runs(trace, process, image))
            .filter_map(|process| process.start_ns)
            .collect();
        starts.sort();
        starts
    };
    if let Some(&start) = starts("csrss.exe").get(nth)
        && let Some(end) = starts(next).into_iter().find(|&end| end >= start)
    {
        let rule = Rule::FromSubsystemStartToProgramStart { ordinal, program: next.to_owned() };
        return interval(start, end, Certainty::Inferred, rule, "Process/Start".to_owned(), vec![best]);
    }
    DerivedInterval::not_found([best])
}

/// Logon between `start_ns` and a desktop that was ready at `desktop_ns`, in a session with shell `shell`.
pub(super) fn logon(trace: &Trace, shell: &str, (start_ns, desktop_ns): (i64, Option<i64>)) -> Logon {
    let mut notification_subscribers = of_kind(trace, ActivityKind::NotificationSubscriber);
    sort_longest_first(&mut notification_subscribers);
    let logged_on = |desktop_ns: i64| {
        let logged_on_ns = user_input::logged_on_ns(trace, shell, (start_ns, desktop_ns))?;
        Some(desktop_ns.saturating_sub(logged_on_ns))
    };
    Logon {
        to_desktop_ns: desktop_ns.and_then(logged_on),
        welcome_screens: of_kind(trace, ActivityKind::WelcomeScreen),
        credential_requests: of_kind(trace, ActivityKind::CredentialRequest),
        authentications: of_kind(trace, ActivityKind::Authentication),
        user_profiles: of_kind(trace, ActivityKind::UserProfile),
        notification_subscribers,
    }
}

/// Group Policy and its scripts.
pub(super) fn group_policy(trace: &Trace) -> GroupPolicy {
    let longest_first = |kind| {
        let mut works = of_kind(trace, kind);
        sort_longest_first(&mut works);
        works
    };
    GroupPolicy {
        applications: longest_first(ActivityKind::GroupPolicy),
        extensions: longest_first(ActivityKind::GroupPolicyExtension),
        scripts: longest_first(ActivityKind::GroupPolicyScript),
        network_waits: longest_first(ActivityKind::GroupPolicyNetworkWait),
    }
}

/// ReadyBoot and its training state.
pub(super) fn read_ahead(trace: &Trace) -> ReadAhead {
    let found = value(trace, milestone::READ_AHEAD_TRAINING).or_else(|| value(trace, milestone::SYSTEM_BOOT_END));
    let training_count = found.map(|(count, _)| count);
    ReadAhead {
        training_count,
        state: match training_count {
            None => TrainingState::Unknown,
            Some(count) if count <= 0 => TrainingState::Untrained,
            Some(count) if count < ReadAhead::TRAINED_BOOTS => TrainingState::Training,
            Some(_) => TrainingState::Trained,
        },
        work: of_kind(trace, ActivityKind::Prefetch),
        event: found.map(|(_, row)| trace.text(row.event).to_owned()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, activity, milestone_value, process};

    #[test]
    fn video_initialization_is_between_the_subsystem_and_the_next_program() {
        let mut trace = Trace::default();
        let program = ActivityKind::SessionProgram;
        activity(&mut trace, program, r"\SystemRoot\system32\csrss.exe", 100 * MS, Some(300 * MS));
        activity(&mut trace, program, r"\SystemRoot\system32\wininit.exe", 900 * MS, Some(910 * MS));
        activity(&mut trace, program, r"\SystemRoot\system32\csrss.exe", 950 * MS, Some(1000 * MS));
        activity(&mut trace, program, r"\SystemRoot\system32\winlogon.exe", 1250 * MS, None);
        let video = video(&trace);
        assert_eq!(video.system_session.duration_ns, Some(600 * MS));
        assert_eq!(video.user_session.duration_ns, Some(250 * MS));
        assert_eq!(video.user_session.start_ns, Some(1000 * MS));
        assert_eq!(video.user_session.certainty, Certainty::Inferred);
        assert!(video.user_session.unmatched_rules.is_empty());
    }

    #[test]
    fn process_starts_give_an_upper_bound() {
        let mut trace = Trace::default();
        process(&mut trace, 400, "csrss.exe", Some(100 * MS), None);
        process(&mut trace, 404, "wininit.exe", Some(900 * MS), None);
        let video = video(&trace);
        assert_eq!(video.system_session.duration_ns, Some(800 * MS));
        assert!(video.system_session.rule.to_string().contains("upper bound"));
        assert_eq!(video.user_session.certainty, Certainty::Missing);
        assert_eq!(video.user_session.duration_ns, None);
    }

    #[test]
    fn user_input_time_counts_once_and_excludes_automatic_logon() {
        let mut trace = Trace { duration_ns: 100_000 * MS, ..Trace::default() };
        let request = ActivityKind::CredentialRequest;
        for (start_ms, end_ms) in [(1_000, 5_000), (2_000, 3_000), (4_000, 6_000), (7_000, 7_005)] {
            activity(&mut trace, request, "", start_ms * MS, Some(end_ms * MS));
        }
        let until = |ms: i64| user_input::UserInputTime::before_desktop(&trace, "explorer.exe", (0, ms * MS)).ns() / MS;
        assert_eq!((until(90_000), until(5_500), until(500)), (5_000, 4_500, 0));
        // The last response is the logon, whether it came from the user or automatically.
        let to_desktop = logon(&trace, "explorer.exe", (0, Some(9_000 * MS))).to_desktop_ns;
        assert_eq!(to_desktop, Some(1_995 * MS));
        // A request without a response counts until the recording ends.
        activity(&mut trace, request, "", 95_000 * MS, None);
        let whole = user_input::UserInputTime::before_desktop(&trace, "explorer.exe", (0, trace.duration_ns));
        assert_eq!(whole.ns() / MS, 10_000);
    }

    #[test]
    fn scripts_are_sorted_longest_first() {
        let mut trace = Trace::default();
        let script = ActivityKind::GroupPolicyScript;
        activity(&mut trace, script, "short.cmd", 10, Some(20));
        activity(&mut trace, script, "long.cmd", 30, Some(90));
        activity(&mut trace, script, "endless.cmd", 95, None);
        let names: Vec<_> = group_policy(&trace).scripts.into_iter().map(|work| work.name).collect();
        assert_eq!(names, ["endless.cmd", "long.cmd", "short.cmd"]);
    }

    #[test]
    fn training_state_follows_from_the_count() {
        let state = |count: Option<i64>| {
            let mut trace = Trace::default();
            milestone_value(&mut trace, 1, milestone::SYSTEM_BOOT_END, "", count);
            read_ahead(&trace).state
        };
        assert_eq!(state(None), TrainingState::Unknown);
        assert_eq!(state(Some(0)), TrainingState::Untrained);
        assert_eq!(state(Some(2)), TrainingState::Training);
        assert_eq!(state(Some(3)), TrainingState::Trained);
    }
}
