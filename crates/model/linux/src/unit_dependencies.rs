//! Declared dependencies of units, from whatever part lists them, each once.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DependencyKind, ServiceDependency, counters};

use super::assembly::Assembly;

/// Dependencies, at most: a hundred times what a large server has.
const MAX: usize = 4_000_000;

counters! {
    TOO_MANY = "unit_dependencies_too_many", Warning, [ServiceDependencies],
        "More dependencies of units than are kept; who waited for whom may be missing.";
}

/// Dependencies in the making.
#[derive(Debug, Default)]
pub(super) struct UnitDependencies {
    /// A unit's other names.
    names: HashMap<String, String>,
    found: Vec<(String, DependencyKind, String)>,
    refused: u64,
}

impl UnitDependencies {
    /// `name` is another name of `unit`.
    pub(super) fn alias(&mut self, name: String, unit: &str) {
        if name != unit && self.names.len() < MAX {
            self.names.insert(name, unit.to_owned());
        }
    }

    pub(super) fn add(&mut self, unit: &str, kind: DependencyKind, on: String) {
        if self.found.len() < MAX {
            self.found.push((unit.to_owned(), kind, on));
        } else {
            self.refused += 1;
        }
    }

    /// `later` is started after `unit`.
    pub(super) fn before(&mut self, unit: &str, later: String) {
        if self.found.len() < MAX {
            self.found.push((later, DependencyKind::After, unit.to_owned()));
        } else {
            self.refused += 1;
        }
    }

    /// The unit that `name` is a name of.
    pub(super) fn unit<'a>(&'a self, name: &'a str) -> &'a str {
        self.names.get(name).map_or(name, String::as_str)
    }

    /// Adds what is not there yet as rows.
    pub(super) fn finish(self, assembly: &mut Assembly) {
        let mut met: HashSet<_> =
            assembly.service_dependencies.iter().map(|row| (row.service, row.kind, row.on)).collect();
        assembly.losses.add(&TOO_MANY, self.refused);
        for (unit, kind, on) in &self.found {
            let service = assembly.texts.intern(self.unit(unit));
            let on = assembly.texts.intern(self.unit(on));
            if service != on && met.insert((service, *kind, on)) {
                assembly.service_dependencies.push(ServiceDependency { service, kind: *kind, on });
            }
        }
    }
}
