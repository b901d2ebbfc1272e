//! Reads unit dependencies from `systemd-analyze dump`. Its times are wall-clock seconds and are not used.

use onoff_trace::DependencyKind;

use super::assembly::Assembly;
use super::clocks::{ClockPairs, Clocks};
use super::parts::Part;
use super::unit_dependencies::UnitDependencies;
use onoff_linux_log::unit_names::is_unit;

pub(super) fn clock_pairs(_part: &Part<'_>, _pairs: &mut ClockPairs) {}

pub(super) fn read(part: &Part<'_>, _clocks: &Clocks, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    let mut dependencies = UnitDependencies::default();
    let mut unit = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("-> Unit ") {
            unit = name.strip_suffix(':').unwrap_or(name);
            continue;
        }
        // Jobs are listed after the units.
        if line.starts_with("->") {
            unit = "";
        }
        let Some((key, value)) =
            line.strip_prefix('\t').and_then(|line| line.split_once(": ")).filter(|_| !unit.is_empty())
        else {
            continue;
        };
        if key == "Description" {
            assembly.add_description(unit, value);
            continue;
        }
        let name = value.split_ascii_whitespace().next().unwrap_or("");
        if !is_unit(name) {
            continue;
        }
        let kind = match key {
            "After" => DependencyKind::After,
            "Requires" => DependencyKind::Requires,
            "Requisite" => DependencyKind::Requisite,
            "BindsTo" => DependencyKind::BindsTo,
            "PartOf" => DependencyKind::PartOf,
            "Wants" => DependencyKind::Wants,
            "Before" => {
                dependencies.add_before(unit, name.to_owned());
                continue;
            }
            "Alias" => {
                if name == "default.target" && assembly.default_target.is_empty() {
                    assembly.default_target = unit.to_owned();
                }
                dependencies.add_alias(name.to_owned(), unit);
                continue;
            }
            _ => continue,
        };
        dependencies.add(unit, kind, name.to_owned());
    }
    dependencies.finish(assembly);
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{TableSet, Trace};

    fn read_dump(text: &[u8]) -> Trace {
        let mut assembly = Assembly::new(TableSet::all());
        let part = Part { kind: super::super::parts::PartKind::Dump, name: "dump", bytes: text };
        read(&part, &Clocks::default(), &mut assembly);
        crate::unit_reconciliation::reconciled_trace(assembly)
    }

    #[test]
    fn reads_dependencies_and_aliases() {
        let trace = read_dump(
            b"Manager: systemd 252\n-> Unit a.service:\n\tAlias: b.service\n\tDescription: After: none\n\
              \tRequires: c.mount (origin-file)\n\tBefore: d.target (origin-default)\n\
              -> Unit e.service:\n\tAfter: b.service (origin-file origin-default)\n\
              -> Job 5:\n\tAfter: x.service\n",
        );
        let mut rows: Vec<(&str, &str, &str)> = trace
            .service_dependencies
            .iter()
            .map(|row| (trace.text(row.service), row.kind.as_str(), trace.text(row.on)))
            .collect();
        rows.sort_unstable();
        assert_eq!(
            rows,
            [
                ("a.service", "requires", "c.mount"),
                ("d.target", "after", "a.service"),
                ("e.service", "after", "a.service"),
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_bytes(bytes: Vec<u8>) {
            read_dump(&bytes);
        }
    }
}
