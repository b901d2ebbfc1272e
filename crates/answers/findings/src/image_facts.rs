//! The facts about an offline installation that rules check.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use onoff_image::{HiveKind, Image, ImageReport, OverlayGrowth, ServiceEntry, Setting, WriteFilter};

use crate::context::missing_input;
use crate::finding::{FindingSubject, RuleFinding};
use crate::missing_input::MissingInput;

/// An offline installation.
#[derive(Clone, Copy, Debug)]
pub struct ImageFacts<'a> {
    pub image: &'a Image,
    pub report: &'a ImageReport,
    /// Services and programs the computer needs, from the user; empty if not given.
    pub needed: &'a [String],
    /// Growth of the write filter overlay at the write rate of a recording; `None` without a recording.
    pub overlay: Option<&'a OverlayGrowth>,
    /// True if the user stated that the computer loses power without a shutdown.
    pub is_power_cut: bool,
}

impl<'a> ImageFacts<'a> {
    /// Checks that the hive `SYSTEM` is present.
    ///
    /// # Errors
    /// It is missing.
    pub fn require_system_hive(&self) -> Result<(), MissingInput> {
        if self.image.has_hive(HiveKind::System) { Ok(()) } else { Err(missing_input("the hive SYSTEM is missing")) }
    }

    /// True if parts of `SYSTEM` are unreadable: missing keys may just be unreadable.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.report
            .hives
            .iter()
            .any(|hive| hive.kind == HiveKind::System && hive.unreadable_keys + hive.unreadable_values > 0)
    }

    /// Returns the build number; `None` without the hive `SOFTWARE`.
    #[must_use]
    pub fn build(&self) -> Option<u32> {
        self.report.build.parse().ok()
    }

    /// Returns a value of `SYSTEM`.
    #[must_use]
    pub fn system(&self, path: &str, name: &str) -> Option<Setting> {
        self.image.setting(HiveKind::System, path, name)
    }

    /// Finds a service by name, ignoring case.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<&'a ServiceEntry> {
        self.report.services.iter().find(|service| service.name.eq_ignore_ascii_case(name))
    }

    /// Returns the active write filter.
    #[must_use]
    pub fn filter(&self) -> Option<&'a WriteFilter> {
        self.report.write_filters.iter().find(|filter| filter.is_enabled == Some(true))
    }

    /// Creates a finding with a setting as evidence.
    #[must_use]
    pub fn finding(&self, setting: &Setting, subject: FindingSubject, title: &str) -> RuleFinding {
        RuleFinding::new(subject, title).evidence(None, setting.evidence())
    }

    /// Returns the needed services and their dependencies, in lower case. A dependency on a group includes all of its
    /// members.
    #[must_use]
    pub fn needed_services(&self) -> HashSet<String> {
        let mut needed = HashSet::new();
        let mut queue: Vec<String> = self.needed.iter().map(|name| name.to_lowercase()).collect();
        while let Some(name) = queue.pop() {
            if !needed.insert(name.clone()) {
                continue;
            }
            let Some(service) = self.service(&name) else { continue };
            queue.extend(service.depends_on_services.iter().map(|name| name.to_lowercase()));
            for group in &service.depends_on_groups {
                let members = self.report.services.iter().filter(|member| member.group.eq_ignore_ascii_case(group));
                queue.extend(members.map(|member| member.name.to_lowercase()));
            }
        }
        needed
    }

    /// Returns the longest chain of automatic services that each depend on the previous one; `None` if there are none.
    #[must_use]
    pub fn longest_chain(&self) -> Option<Vec<&'a ServiceEntry>> {
        let autos: HashMap<String, &'a ServiceEntry> = self
            .report
            .services
            .iter()
            .filter(|service| service.is_auto())
            .map(|service| (service.name.to_lowercase(), service))
            .collect();
        let mut depths: HashMap<String, (usize, Option<String>)> = HashMap::new();
        let mut names: Vec<&String> = autos.keys().collect();
        names.sort();
        for name in names {
            depth(name, &autos, &mut depths);
        }
        let mut by_depth: Vec<(&String, usize)> = depths.iter().map(|(name, depth)| (name, depth.0)).collect();
        by_depth.sort_by_key(|&(name, depth)| (Reverse(depth), name));
        let mut chain = Vec::new();
        let mut next = by_depth.first().map(|&(name, _)| name.clone());
        while let Some(name) = next {
            chain.extend(autos.get(&name).copied());
            next = depths.get(&name).and_then(|depth| depth.1.clone());
        }
        chain.reverse();
        (!chain.is_empty()).then_some(chain)
    }
}

/// Computes the chain length of `name` and its dependencies. Cycles end where they started.
fn depth(name: &str, autos: &HashMap<String, &ServiceEntry>, depths: &mut HashMap<String, (usize, Option<String>)>) {
    // Depth-first with an explicit stack, because chains in a hive can have any length.
    let mut stack = vec![(name.to_owned(), false)];
    let mut visited = HashSet::new();
    while let Some((name, dependencies_done)) = stack.pop() {
        let Some(service) = autos.get(&name).filter(|_| !depths.contains_key(&name)) else { continue };
        let needed = service.depends_on_services.iter().map(|name| name.to_lowercase());
        if dependencies_done {
            let longest = needed
                .filter_map(|name| Some((depths.get(&name)?.0, name)))
                .max_by(|a, b| (a.0, Reverse(&a.1)).cmp(&(b.0, Reverse(&b.1))));
            let result = longest.map_or((1, None), |(depth, name)| (depth + 1, Some(name)));
            depths.insert(name, result);
            continue;
        }
        if !visited.insert(name.clone()) {
            continue;
        }
        stack.push((name, true));
        stack.extend(needed.map(|name| (name, false)));
    }
}
