//! The check of the causes: what the slower run would take without them.

use onoff_compare::CauseCheck;

use crate::text::printable::printable;
use crate::text::quantity::duration;

/// Says whether the causes explain the difference; `None` if that is not known.
#[must_use]
pub fn sentence(check: &CauseCheck) -> Option<String> {
    let (slow_without, explained_ns) = (check.slow_without?, check.explained_ns?);
    let unexplained_ns = check.unexplained_ns?;
    let difference_ns = check.slow_ns.saturating_sub(check.fast_ns);
    let names: Vec<String> = check.causes.iter().map(|cause| printable(&cause.name).into_owned()).collect();
    let (subjects, verb, not) = match names.as_slice() {
        [] => return None,
        [only] => (only.clone(), "explains", "does not explain"),
        [others @ .., last] => (format!("{} and {last}", others.join(", ")), "explain", "do not explain"),
    };
    let fast = match check.fast_without {
        Some(fast_without) => format!(" and the faster run ({}) {fast_without}", file_name(&check.fast_run)),
        None => format!("; the faster run ({}) took {}", file_name(&check.fast_run), duration(check.fast_ns)),
    };
    let verdict = if check.explains_difference? {
        format!("{subjects} {verb} the difference")
    } else if explained_ns <= 0 {
        format!("{subjects} {not} the difference")
    } else if unexplained_ns > 0 {
        format!(
            "{subjects} {verb} {} of {}; {} are not explained",
            duration(explained_ns),
            duration(difference_ns),
            duration(unexplained_ns)
        )
    } else {
        let faster = duration(unexplained_ns.saturating_neg());
        format!("{subjects} {verb} more than the difference; other work is {faster} faster in the slower run")
    };
    Some(format!(
        "Without {subjects}, the slower run ({}) would take {slow_without}{fast}: {verdict}.",
        file_name(&check.slow_run)
    ))
}

fn file_name(run: &str) -> String {
    let name = run.rsplit(['/', '\\']).next().unwrap_or(run);
    printable(name).into_owned()
}
