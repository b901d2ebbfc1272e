//! Maintenance that should be off while a write filter is on.

use super::prelude::*;

rule! {
    /// # What it finds
    /// UWF is on, but indexing, defragmentation, updates or automatic maintenance are not off.
    ///
    /// # Why it costs time
    /// Their writes fill the overlay and are lost at the next restart, so the work is repeated every time.
    ///
    /// # Evidence needed
    /// The hives SYSTEM and SOFTWARE.
    ///
    /// # What to do
    /// Turn them off as UWF_Filter.Enable does, and run maintenance while the filter is off (servicing mode).
    ///
    /// # When it is wrong
    /// UWF turns most of them off when it is enabled; a Windows update can turn them on again.
    ///
    /// # Source
    /// The documentation of UWF_Filter.Enable and of automatic maintenance with UWF.
    "image/filter-maintenance-on", "maintenance still runs while a write filter is on", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(filter) = facts.filter().filter(|filter| filter.kind == WriteFilterKind::Uwf) else {
        return Ok(Vec::new());
    };
    let mut running = Vec::new();
    let mut actions = Vec::new();
    for (service_name, description, start, breaks) in [
        ("WSearch", "indexing (WSearch)", "disabled", "searches in Explorer and Outlook are slow and find less"),
        (
            "wuauserv",
            "Windows Update (wuauserv)",
            "demand",
            "Windows looks for updates only when something starts the service, such as servicing mode",
        ),
    ] {
        if let Some(service) = facts.service(service_name).filter(|service| service.start == ServiceStart::Auto) {
            running.push((description, service.evidence()));
            actions.push(AdvisedAction::start_service(service, start).breaks(breaks).editions(UWF_EDITIONS));
        }
    }
    if facts.image.has_hive(HiveKind::Software) {
        let path = r"Microsoft\Windows NT\CurrentVersion\Schedule\Maintenance";
        let setting = facts.image.setting(HiveKind::Software, path, "MaintenanceDisabled");
        if setting.as_ref().and_then(Setting::number) != Some(1) {
            let evidence = setting.as_ref().map_or_else(
                || format!(r"SOFTWARE\{path}\MaintenanceDisabled is not set"),
                |setting| setting.evidence(),
            );
            let action = setting.as_ref().map_or_else(
                || {
                    let key = format!(r"HKLM\SOFTWARE\{path}");
                    AdvisedAction::new(
                        format!(r"SOFTWARE\{path}\MaintenanceDisabled"),
                        "1",
                        format!("reg add \"{key}\" /v MaintenanceDisabled /t REG_DWORD /d 1 /f"),
                    )
                    .undo(format!("reg delete \"{key}\" /v MaintenanceDisabled /f"))
                },
                |setting| AdvisedAction::set_number(setting, 1),
            );
            actions.push(
                action.breaks("updates and defragmentation happen only in servicing mode").editions(UWF_EDITIONS),
            );
            running.push(("automatic maintenance", evidence));
        }
    }
    if running.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = running.iter().map(|&(name, _)| name).collect();
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Setting, filter.kind.as_str()),
        format!("UWF is on, but maintenance still runs: {}", names.join(", ")),
    )
    .severity(FindingSeverity::Moderate)
    .evidence(None, filter.evidence())
    .advice("turn them off, and run this maintenance in servicing mode");
    let finding = running.into_iter().fold(finding, |finding, (_, evidence)| finding.evidence(None, evidence));
    Ok(vec![actions.into_iter().fold(finding, RuleFinding::action)])
}
