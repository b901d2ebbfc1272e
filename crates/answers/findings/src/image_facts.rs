//! What rules look at of an installation that is not running.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use onoff_image::{HiveKind, Image, ImageReport, OverlayGrowth, ServiceEntry, Setting, WriteFilter};

use crate::context::lacks_other;
use crate::finding::{FindingSubject, RuleFinding};
use crate::not_checked::NotChecked;

/// An installation, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct ImageFacts<'a> {
    /// What is known of it.
    pub image: &'a Image,
    /// Its analysis.
    pub report: &'a ImageReport,
    /// Services and programs that the computer needs, as who asks says; empty when nobody said.
    pub needed: &'a [String],
    /// How an overlay grows with the writes of a recording; `None` without one.
    pub overlay: Option<&'a OverlayGrowth>,
    /// Whether the computer loses power without a shutdown, as who asks says.
    pub is_power_cut: bool,
}

impl<'a> ImageFacts<'a> {
    /// That the hive `SYSTEM` is there.
    ///
    /// # Errors
    /// It is not.
    pub fn needs_system(&self) -> Result<(), NotChecked> {
        if self.image.has(HiveKind::System) { Ok(()) } else { Err(lacks_other("the hive SYSTEM is not there")) }
    }

    /// Whether parts of `SYSTEM` cannot be read: what is not found there may only be unreadable.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.report
            .hives
            .iter()
            .any(|hive| hive.kind == HiveKind::System && hive.unreadable_keys + hive.unreadable_values > 0)
    }

    /// A value of `SYSTEM`.
    #[must_use]
    pub fn system(&self, path: &str, name: &str) -> Option<Setting> {
        self.image.setting(HiveKind::System, path, name)
    }

    /// A service, in any case.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<&'a ServiceEntry> {
        self.report.services.iter().find(|service| service.name.eq_ignore_ascii_case(name))
    }

    /// The write filter that is on.
    #[must_use]
    pub fn filter(&self) -> Option<&'a WriteFilter> {
        self.report.write_filters.iter().find(|filter| filter.is_on == Some(true))
    }

    /// A finding that rests on a setting.
    #[must_use]
    pub fn finding(&self, setting: &Setting, subject: FindingSubject, title: &str) -> RuleFinding {
        RuleFinding::new(subject, title).evidence(None, setting.evidence())
    }

    /// The services that the list of what is needed names, and all that these depend on, in lower case. Of a group, all members are kept.
    #[must_use]
    pub fn needed_services(&self) -> HashSet<String> {
        let mut needed = HashSet::new();
        let mut next: Vec<String> = self.needed.iter().map(|name| name.to_lowercase()).collect();
        while let Some(name) = next.pop() {
            if !needed.insert(name.clone()) {
                continue;
            }
            let Some(service) = self.service(&name) else { continue };
            next.extend(service.depends_on_services.iter().map(|name| name.to_lowercase()));
            for group in &service.depends_on_groups {
                let members = self.report.services.iter().filter(|one| one.group.eq_ignore_ascii_case(group));
                next.extend(members.map(|one| one.name.to_lowercase()));
            }
        }
        needed
    }

    /// The longest chain of automatic services of which each depends on the one before; `None` without any.
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
        let mut best: Vec<(&String, usize)> = depths.iter().map(|(name, depth)| (name, depth.0)).collect();
        best.sort_by_key(|&(name, depth)| (Reverse(depth), name));
        let mut chain = Vec::new();
        let mut next = best.first().map(|best| best.0.clone());
        while let Some(name) = next {
            chain.extend(autos.get(&name).copied());
            next = depths.get(&name).and_then(|depth| depth.1.clone());
        }
        chain.reverse();
        (!chain.is_empty()).then_some(chain)
    }
}

/// How long the chain up to each service below `name` is; a circle ends where it began.
fn depth(name: &str, autos: &HashMap<String, &ServiceEntry>, depths: &mut HashMap<String, (usize, Option<String>)>) {
    // Depth first, with its own stack: hives can hold chains of any length. A service is done when all below it are.
    let mut stack = vec![(name.to_owned(), false)];
    let mut open = HashSet::new();
    while let Some((name, below_done)) = stack.pop() {
        let Some(service) = autos.get(&name).filter(|_| !depths.contains_key(&name)) else { continue };
        let needed = service.depends_on_services.iter().map(|name| name.to_lowercase());
        if below_done {
            let longest = needed
                .filter_map(|name| Some((depths.get(&name)?.0, name)))
                .max_by(|a, b| (a.0, Reverse(&a.1)).cmp(&(b.0, Reverse(&b.1))));
            let found = longest.map_or((1, None), |(depth, name)| (depth + 1, Some(name)));
            depths.insert(name, found);
            continue;
        }
        if !open.insert(name.clone()) {
            continue;
        }
        stack.push((name, true));
        stack.extend(needed.map(|name| (name, false)));
    }
}
