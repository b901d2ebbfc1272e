//! Collects the declared dependencies of units from all parts, without duplicates.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DependencyKind, ServiceDependency, counters};

use super::assembly::Assembly;

/// Maximum number of dependencies: a hundred times as many as a large server has.
const MAX_DEPENDENCIES: usize = 4_000_000;

counters! {
    TOO_MANY = "unit_dependencies_too_many", Warning, [ServiceDependencies],
        "Too many unit dependencies; the rest were skipped, so dependency waits may be missing.";
}

#[derive(Debug, Default)]
pub(super) struct UnitDependencies {
    /// Unit by alias.
    aliases: HashMap<String, String>,
    dependencies: Vec<(String, DependencyKind, String)>,
    skipped: u64,
}

impl UnitDependencies {
    /// Records `name` as an alias of `unit`.
    pub(super) fn add_alias(&mut self, name: String, unit: &str) {
        if name != unit && self.aliases.len() < MAX_DEPENDENCIES {
            self.aliases.insert(name, unit.to_owned());
        }
    }

    pub(super) fn add(&mut self, unit: &str, kind: DependencyKind, dependency: String) {
        if self.dependencies.len() < MAX_DEPENDENCIES {
            self.dependencies.push((unit.to_owned(), kind, dependency));
        } else {
            self.skipped += 1;
        }
    }

    /// Adds the ordering of `later` after `unit`.
    pub(super) fn add_before(&mut self, unit: &str, later: String) {
        if self.dependencies.len() < MAX_DEPENDENCIES {
            self.dependencies.push((later, DependencyKind::After, unit.to_owned()));
        } else {
            self.skipped += 1;
        }
    }

    /// Resolves an alias.
    pub(super) fn resolve<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// Adds the new dependencies as rows.
    pub(super) fn finish(self, assembly: &mut Assembly) {
        let mut seen: HashSet<_> =
            assembly.service_dependencies.iter().map(|row| (row.service, row.kind, row.on)).collect();
        assembly.losses.add(&TOO_MANY, self.skipped);
        for (unit, kind, on) in &self.dependencies {
            let service = assembly.texts.intern(self.resolve(unit));
            let on = assembly.texts.intern(self.resolve(on));
            if service != on && seen.insert((service, *kind, on)) {
                assembly.service_dependencies.push(ServiceDependency { service, kind: *kind, on });
            }
        }
    }
}
