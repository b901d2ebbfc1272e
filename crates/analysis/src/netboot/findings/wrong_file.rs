//! Files that were asked for and are not there.

use onoff_netboot::transfer::Outcome;

use super::{Facts, Finding, plural, time};

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let refused: Vec<_> = facts.boot.transfers.iter().filter(|file| file.outcome == Outcome::Refused).collect();
    let Some(first) = refused.first() else {
        return Vec::new();
    };
    let cost = refused.iter().fold(0_i64, |sum, file| sum.saturating_add(file.end_ns.saturating_sub(file.request_ns)));
    let error = first.error.as_ref();
    let text = error.map_or_else(String::new, |error| format!(" (code {}: {})", error.code, error.text));
    let more = match refused.len() as u64 - 1 {
        0 => String::new(),
        more => format!(" and {} like it", plural(more, "request")),
    };
    vec![Finding {
        rule: "wrong_file",
        what: format!("the server refused {}{text}{more}, {} in all", first.file, time(cost)),
        cost_ns: Some(cost),
        stops_boot: !facts.boot.loaded,
        advice: "put the file where the client looks, correct the name in the DHCP or loader configuration, or stop the loader from looking".to_owned(),
        source: "RFC 1350",
    }]
}
