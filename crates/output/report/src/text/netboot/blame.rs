//! Who spent the time of a boot, with the measure behind each part.

use onoff_network::report::{BlamePart, NetworkBoot};

use crate::text::style::QUIET;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

pub(super) fn section(boot: &NetworkBoot) -> Section<'_> {
    let blame = &boot.blame;
    let parts: [(&str, &BlamePart); 4] = [
        ("client", &blame.client),
        ("server", &blame.server),
        ("network", &blame.network),
        ("timeouts", &blame.timeouts),
    ];
    let shown = parts.into_iter().filter(|(_, part)| part.ns > 0);
    Section::builder("blame", "Blame", shown)
        .name("part", "part", 10, |(name, _)| Value::text(name))
        .quantity("ns", "time", |(_, part)| Value::Duration(part.ns))
        .quantity("share_percent", "share", |(_, part)| Value::Percent(part.share_percent))
        .name("measure", "", 96, |(_, part)| {
            Cell::with_display_text(Value::text(&part.measure), part.measure.as_str()).with_style(QUIET)
        })
        .build()
}
