//! Measures the work around the user session: video initialization, logon, policy, read-ahead.

use onoff_trace::{Activity, ActivityKind, Trace, milestone};

use super::report::{GroupPolicy, Logon, ReadAhead, TrainingState, VideoInitialization};
use onoff_evidence::activity::{activities_of_kind, sort_longest_first};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, DerivedInterval};
use onoff_firmware_times::before_kernel::value;
use onoff_usage::processes::has_image_name;
use onoff_usage::user_input;

/// Measures the initialization of the video driver in both sessions, as in the Microsoft paper.
pub(super) fn video(trace: &Trace) -> VideoInitialization {
    VideoInitialization {
        system_session: session_video(trace, 0, "wininit.exe"),
        user_session: session_video(trace, 1, "winlogon.exe"),
    }
}

/// Measures from the end of a start of csrss.exe (number `start_index`, from 0) to the start of `next`.
fn session_video(trace: &Trace, start_index: usize, next: &str) -> DerivedInterval {
    let ordinal = u32::try_from(start_index).unwrap_or(u32::MAX).saturating_add(1);
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
    let interval = |start: i64, end: i64, certainty, rule: Rule, event: String, unmatched_rules| DerivedInterval {
        start_ns: Some(start),
        end_ns: Some(end),
        duration_ns: Some(end.saturating_sub(start)),
        rule,
        event,
        certainty,
        unmatched_rules,
    };
    let best_rule = Rule::FromSubsystemToProgram { ordinal, program: next.to_owned() };
    let stem = next.trim_end_matches(".exe");
    if let Some(subsystem) = programs("csrss").get(start_index)
        && let Some(start) = subsystem.end_ns
        && let Some(row) = programs(stem).into_iter().find(|row| row.start_ns >= start)
    {
        let event = trace.text(row.event).to_owned();
        return interval(start, row.start_ns, Certainty::Inferred, best_rule, event, Vec::new());
    }

    let starts = |image: &str| -> Vec<i64> {
        let mut starts: Vec<i64> = trace
            .processes
            .iter()
            .filter(|process| has_image_name(trace, process, image))
            .filter_map(|process| process.start_ns)
            .collect();
        starts.sort();
        starts
    };
    if let Some(&start) = starts("csrss.exe").get(start_index)
        && let Some(end) = starts(next).into_iter().find(|&end| end >= start)
    {
        let rule = Rule::FromSubsystemStartToProgramStart { ordinal, program: next.to_owned() };
        return interval(start, end, Certainty::Inferred, rule, "Process/Start".to_owned(), vec![best_rule]);
    }
    DerivedInterval::not_found([best_rule])
}

/// Describes the logon from `start_ns` to `desktop_ns`, when the desktop was ready, in a session with shell `shell`.
pub(super) fn logon(trace: &Trace, shell: &str, (start_ns, desktop_ns): (i64, Option<i64>)) -> Logon {
    let mut notification_subscribers = activities_of_kind(trace, ActivityKind::NotificationSubscriber);
    sort_longest_first(&mut notification_subscribers);
    let logon_to_desktop_ns = |desktop_ns: i64| {
        let logged_on_ns = user_input::logon_ns(trace, shell, (start_ns, desktop_ns))?;
        Some(desktop_ns.saturating_sub(logged_on_ns))
    };
    Logon {
        to_desktop_ns: desktop_ns.and_then(logon_to_desktop_ns),
        welcome_screens: activities_of_kind(trace, ActivityKind::WelcomeScreen),
        credential_requests: activities_of_kind(trace, ActivityKind::CredentialRequest),
        authentications: activities_of_kind(trace, ActivityKind::Authentication),
        user_profiles: activities_of_kind(trace, ActivityKind::UserProfile),
        notification_subscribers,
    }
}

/// Lists the work of Group Policy and its scripts.
pub(super) fn group_policy(trace: &Trace) -> GroupPolicy {
    let longest_first = |kind| {
        let mut activities = activities_of_kind(trace, kind);
        sort_longest_first(&mut activities);
        activities
    };
    GroupPolicy {
        applications: longest_first(ActivityKind::GroupPolicy),
        extensions: longest_first(ActivityKind::GroupPolicyExtension),
        scripts: longest_first(ActivityKind::GroupPolicyScript),
        network_waits: longest_first(ActivityKind::GroupPolicyNetworkWait),
    }
}

/// Describes ReadyBoot and its training state.
pub(super) fn read_ahead(trace: &Trace) -> ReadAhead {
    let training = value(trace, milestone::READ_AHEAD_TRAINING).or_else(|| value(trace, milestone::SYSTEM_BOOT_END));
    let training_count = training.map(|(count, _)| count);
    ReadAhead {
        training_count,
        state: match training_count {
            None => TrainingState::Unknown,
            Some(count) if count <= 0 => TrainingState::Untrained,
            Some(count) if count < ReadAhead::TRAINED_BOOTS => TrainingState::Training,
            Some(_) => TrainingState::Trained,
        },
        work: activities_of_kind(trace, ActivityKind::Prefetch),
        event: training.map(|(_, row)| trace.text(row.event).to_owned()).unwrap_or_default(),
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
        let input_ms_until =
            |ms: i64| user_input::UserInputTime::before_desktop(&trace, "explorer.exe", (0, ms * MS)).total_ns() / MS;
        assert_eq!((input_ms_until(90_000), input_ms_until(5_500), input_ms_until(500)), (5_000, 4_500, 0));
        // The last response is the logon, whether it came from the user or automatically.
        let to_desktop = logon(&trace, "explorer.exe", (0, Some(9_000 * MS))).to_desktop_ns;
        assert_eq!(to_desktop, Some(1_995 * MS));
        // A request without a response counts until the recording ends.
        activity(&mut trace, request, "", 95_000 * MS, None);
        let input_time = user_input::UserInputTime::before_desktop(&trace, "explorer.exe", (0, trace.duration_ns));
        assert_eq!(input_time.total_ns() / MS, 10_000);
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
