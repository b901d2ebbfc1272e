//! Cross-check of the events against the kernel's own times, and the parts of a resume from a memory image.

use onoff_transitions::Variant;
use onoff_transitions::suspend::{PowerTotal, PowerTransition};

use crate::text::quantity::{count, duration, size};
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Differences below this are rounding, ns: the kernel counts milliseconds.
const NOTABLE_NS: i64 = 2_000_000;

pub(super) fn sections(transition: &PowerTransition) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = accounts(transition).into_iter().chain(resume_parts(transition)).collect();
    let (image, firmware) = (image(transition), firmware(transition));
    if image.is_some() || firmware.is_some() {
        let last_section = sections.pop().unwrap_or_else(|| Section::without_table("accounts", "Kernel times"));
        sections.push(last_section.line_if(QUIET, image).line_if(QUIET, firmware));
    }
    sections
}

fn accounts(transition: &PowerTransition) -> Option<Section<'_>> {
    let totals = [("suspend", &transition.details.suspend), ("resume", &transition.details.resume)];
    if totals.iter().all(|(_, total)| total.kernel_ns.is_none()) {
        return None;
    }
    Section::builder("accounts", "Cross-check", totals)
        .note("durations from events and from the kernel")
        .name("half", "half", 10, |row| Value::text(row.0))
        .quantity("measured_ns", "events", |row| Cell::duration_or_dash(row.1.measured.duration_ns))
        .quantity("kernel_ns", "kernel", |row| Cell::duration_or_dash(row.1.kernel_ns))
        .quantity("difference_ns", "difference", |row| difference(row.1))
        .name("rule", "", 110, |row| Value::Text(row.1.measured.rule.to_string().into()).styled(QUIET))
        .build_if_any()
}

fn difference(total: &PowerTotal) -> Cell<'static> {
    let value = Value::from_option(total.difference_ns, Value::Duration);
    match total.difference_ns {
        Some(ns) if ns.abs() < NOTABLE_NS => Cell::with_display_text(value, "none"),
        _ => value.into(),
    }
}

fn image(transition: &PowerTransition) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(bytes) = transition.details.hibernate_file_bytes.filter(|&bytes| bytes > 0) {
        parts.push(format!("file size {}", size(bytes.unsigned_abs())));
    }
    if let Some(pages) = transition.details.hibernate_pages.filter(|&pages| pages > 0) {
        parts.push(format!("{} pages written", count(pages.unsigned_abs())));
    }
    (!parts.is_empty()).then(|| format!("Memory image: {}.", parts.join(", ")))
}

fn resume_parts(transition: &PowerTransition) -> Option<Section<'_>> {
    let parts = transition.details.resume_parts.as_ref()?;
    let rows = [
        ("firmware", parts.firmware_ns, ""),
        ("boot manager", parts.boot_manager_ns, ""),
        ("resume loader", parts.loader_ns, "including its reads"),
        ("  reads by the loader", parts.loader_read_ns, ""),
        ("  waiting for a user", parts.user_input_ns.filter(|&ns| ns > 0), ""),
        ("reads by the kernel", parts.kernel_read_ns, ""),
        ("devices", parts.devices_ns, ""),
        ("sum", parts.total_ns, "fleet tools report this sum as the fast boot time"),
        ("main path by kernel times", parts.main_path_ns, ""),
    ];
    let no_sum = parts.total_ns.is_none() && transition.variant == Variant::FastStartup;
    let section =
        Section::builder("resume_parts", "From power-on to resumed", rows.into_iter().filter(|row| row.1.is_some()))
            .note("kernel times of a resume from a memory image")
            .name("part", "part", 44, |row| Cell::with_display_text(Value::text(row.0.trim_start()), row.0))
            .quantity("duration_ns", "duration", |row| Value::from_option(row.1, Value::Duration))
            .name("", "", 60, |row| Cell::text_only(QUIET, row.2))
            .build();
    Some(section.line_if(DOUBT, no_sum.then_some("No sum: a part was not recorded.")))
}

fn firmware(transition: &PowerTransition) -> Option<String> {
    let firmware = &transition.details.firmware;
    let parts: Vec<String> = [
        ("suspend", firmware.suspend_ns),
        ("resume", firmware.resume_ns),
        ("average resume", firmware.average_resume_ns),
    ]
    .into_iter()
    .filter_map(|(name, ns)| Some(format!("{name} {}", duration(ns?))))
    .collect();
    (!parts.is_empty()).then(|| format!("Firmware times: {}.", parts.join(", ")))
}
