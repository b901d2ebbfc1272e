//! Compares two images. Changes with the largest potential boot cost come first.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{BootMenu, ImageReport, ServiceEntry, ServiceKind, ServiceStart, Setting};

/// A change between two images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImageChange {
    /// Kind of item: `service`, `driver`, `autologger`, `boot_entry`, `boot_menu`, `start_program`, `group_order`,
    /// `write_filter`, `setting`, `plan`.
    pub what: &'static str,
    /// Name of the item.
    pub name: String,
    /// Changed field; empty if only one image has the item.
    pub field: &'static str,
    /// Value in the first image; `None` if the item is missing.
    pub was: Option<String>,
    /// Value in the second image; `None` if the item is missing.
    pub is: Option<String>,
    /// Potential boot cost, from 0 (none) to 3 (highest). A rank, not a time.
    pub weight: u8,
}

/// Changes between two images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImageComparison {
    /// Changes, highest potential cost first.
    pub changes: Vec<ImageChange>,
}

/// Returns the potential boot cost of a service by start type.
const fn weight(start: ServiceStart) -> u8 {
    match start {
        ServiceStart::Auto => 3,
        ServiceStart::Boot | ServiceStart::System => 2,
        ServiceStart::Demand => 1,
        ServiceStart::Disabled | ServiceStart::Unknown => 0,
    }
}

/// Returns the fields of a service that matter for a boot.
fn fields(service: &ServiceEntry) -> Vec<(&'static str, String)> {
    let mut start = service.start.as_str().to_owned();
    if service.is_delayed {
        start.push_str(", delayed");
    }
    if service.has_trigger {
        start.push_str(", trigger");
    }
    vec![
        ("start", start),
        ("group", service.group.clone()),
        (
            "depends_on",
            [service.depends_on_services.as_slice(), service.depends_on_groups.as_slice()].concat().join(", "),
        ),
        ("error_control", service.error_control.as_str().to_owned()),
        ("image_path", service.image_path.clone()),
    ]
}

/// Maps case-folded names to items.
fn by_name<T>(items: impl Iterator<Item = (String, T)>) -> BTreeMap<String, (String, T)> {
    items.map(|(name, item)| (name.to_lowercase(), (name, item))).collect()
}

/// Pairs the items of both sides by name.
fn paired<'a, T>(
    was: &'a BTreeMap<String, (String, T)>,
    is: &'a BTreeMap<String, (String, T)>,
) -> impl Iterator<Item = (&'a str, Option<&'a T>, Option<&'a T>)> {
    let added = is.iter().filter(|(key, _)| !was.contains_key(*key));
    let existing = was.iter().map(|(key, (name, item))| (name.as_str(), Some(item), is.get(key).map(|(_, item)| item)));
    existing.chain(added.map(|(_, (name, item))| (name.as_str(), None, Some(item))))
}

/// Compares the images `was` and `is`.
#[must_use]
pub fn compare(was: &ImageReport, is: &ImageReport) -> ImageComparison {
    let mut changes = Vec::new();
    let services = |report: &'_ ImageReport| {
        by_name(report.services.iter().map(|service| (service.name.clone(), service.clone())))
    };
    for (name, was, is) in paired(&services(was), &services(is)) {
        compare_services(name, was, is, &mut changes);
    }
    let compare_texts = |what,
                         weight,
                         was: BTreeMap<String, (String, String)>,
                         is: BTreeMap<String, (String, String)>,
                         changes: &mut Vec<ImageChange>| {
        for (name, was, is) in paired(&was, &is).filter(|(_, was, is)| was != is) {
            let field = if was.is_some() && is.is_some() { "value" } else { "" };
            changes.push(ImageChange {
                what,
                name: name.to_owned(),
                field,
                was: was.cloned(),
                is: is.cloned(),
                weight,
            });
        }
    };
    let loggers = |report: &ImageReport| {
        by_name(
            report
                .autologgers
                .iter()
                .map(|logger| (logger.name.clone(), if logger.is_enabled { "on" } else { "off" }.to_owned())),
        )
    };
    compare_texts("autologger", 1, loggers(was), loggers(is), &mut changes);
    let programs = |report: &ImageReport| {
        by_name(report.startup_programs.iter().map(|program| (program.name.clone(), program.command.clone())))
    };
    compare_texts("start_program", 2, programs(was), programs(is), &mut changes);
    let entries = |report: &ImageReport| {
        let menu = report.boot_menu.clone().unwrap_or_default();
        by_name(menu.entries.into_iter().map(|entry| {
            let settings: Vec<String> = entry
                .settings
                .iter()
                .map(|setting| format!("{} {}", setting.name, setting.number().unwrap_or(0)))
                .collect();
            (format!("{} {}", entry.description, entry.id), settings.join(", "))
        }))
    };
    compare_texts("boot_entry", 2, entries(was), entries(is), &mut changes);
    let timeout = |menu: &Option<BootMenu>| {
        let timeout = menu.as_ref().and_then(|menu| menu.timeout_s);
        by_name(timeout.map(|seconds| ("timeout".to_owned(), format!("{seconds} s"))).into_iter())
    };
    compare_texts("boot_menu", 2, timeout(&was.boot_menu), timeout(&is.boot_menu), &mut changes);
    let order = |report: &ImageReport| by_name(std::iter::once(("order".to_owned(), report.groups.join(", "))));
    compare_texts("group_order", 1, order(was), order(is), &mut changes);
    let filters = |report: &ImageReport| {
        by_name(report.write_filters.iter().map(|filter| {
            let state = match filter.is_enabled {
                Some(true) => "on",
                Some(false) => "off",
                None => "not known",
            };
            (filter.kind.as_str().to_owned(), state.to_owned())
        }))
    };
    compare_texts("write_filter", 3, filters(was), filters(is), &mut changes);
    let settings = |report: &ImageReport| {
        // Another control set is not another setting.
        let name = |setting: &Setting| {
            let key = setting.key.replacen(&report.control_set, "CS", 1);
            format!("{key}\\{}", setting.name)
        };
        by_name(report.settings.iter().map(|setting| (name(setting), setting.value_text())))
    };
    compare_texts("setting", 2, settings(was), settings(is), &mut changes);
    let plans = |report: &ImageReport| {
        by_name(report.prefetch.iter().flat_map(|prefetch| &prefetch.plans).map(|plan| {
            let name = plan.name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
            let executable = &plan.executable;
            let content =
                format!("{executable}, {} files, {} pages, content {}", plan.files, plan.pages, plan.content_hash);
            (name, content)
        }))
    };
    compare_texts("plan", 1, plans(was), plans(is), &mut changes);
    changes.sort_by(|a, b| {
        (b.weight, a.what, a.name.to_lowercase(), a.field).cmp(&(a.weight, b.what, b.name.to_lowercase(), b.field))
    });
    ImageComparison { changes }
}

fn compare_services(name: &str, was: Option<&ServiceEntry>, is: Option<&ServiceEntry>, changes: &mut Vec<ImageChange>) {
    let Some(service) = is.or(was) else { return };
    let what = match service.kind {
        ServiceKind::Driver | ServiceKind::FileSystem => "driver",
        _ => "service",
    };
    let change = |field, was: Option<String>, is: Option<String>, weight| ImageChange {
        what,
        name: name.to_owned(),
        field,
        was,
        is,
        weight,
    };
    match (was, is) {
        (Some(was), Some(is)) => {
            for ((field, old_value), (_, new_value)) in fields(was).into_iter().zip(fields(is)) {
                if old_value.eq_ignore_ascii_case(&new_value) {
                    continue;
                }
                let max_weight = weight(was.start).max(weight(is.start));
                // Changing the location of a file or the error control costs no time.
                let weight =
                    if matches!(field, "image_path" | "error_control") { max_weight.min(1) } else { max_weight };
                changes.push(change(field, Some(old_value), Some(new_value), weight));
            }
        }
        _ => {
            let start = |side: Option<&ServiceEntry>| side.map(|service| service.start.as_str().to_owned());
            changes.push(change("", start(was), start(is), weight(service.start)));
        }
    }
}
