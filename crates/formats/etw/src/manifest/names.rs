//! Names of tasks, opcodes, levels and keywords: declared by the manifest, or standard.

use std::sync::Arc;

use hashbrown::HashMap;

use super::document::Node;
use super::{ManifestError, Strings, list_items, message, number};
use crate::standard;

/// A number and its display name.
#[derive(Clone, Debug)]
pub(super) struct NamedValue<T> {
    pub value: T,
    pub text: Arc<str>,
}

/// Standard keywords, which need no declaration.
const KEYWORDS: [(&str, u64); 8] = [
    ("AnyKeyword", 0),
    ("ResponseTime", 1 << 48),
    ("WDIContext", 1 << 49),
    ("WDIDiag", 1 << 50),
    ("SQM", 1 << 51),
    ("AuditFailure", 1 << 52),
    ("AuditSuccess", 1 << 53),
    ("EventlogClassic", 1 << 55),
];

/// Names declared by a provider.
#[derive(Debug, Default)]
pub(super) struct DeclaredNames {
    tasks: HashMap<String, NamedValue<u16>>,
    /// By (task, opcode). The task is empty for opcodes that do not belong to a task.
    opcodes: HashMap<(String, String), NamedValue<u8>>,
    levels: HashMap<String, u8>,
    keywords: HashMap<String, NamedValue<u64>>,
}

impl DeclaredNames {
    pub(super) fn read(provider: Node<'_>, strings: &Strings<'_>) -> Result<Self, ManifestError> {
        let mut names = Self::default();
        for node in list_items(provider, "opcodes", "opcode") {
            names.add_opcode("", node, strings)?;
        }
        for node in list_items(provider, "tasks", "task") {
            let name = node.required_attribute("name")?;
            let task = read_named_value(node, "value", name, strings)?;
            names.tasks.insert(name.to_owned(), task);
            for opcode in list_items(node, "opcodes", "opcode") {
                names.add_opcode(name, opcode, strings)?;
            }
        }
        for node in list_items(provider, "levels", "level") {
            let name = node.required_attribute("name")?;
            names.levels.insert(name.to_owned(), read_named_value(node, "value", name, strings)?.value);
        }
        for node in list_items(provider, "keywords", "keyword") {
            let name = node.required_attribute("name")?;
            names.keywords.insert(name.to_owned(), read_named_value(node, "mask", name, strings)?);
        }
        Ok(names)
    }

    fn add_opcode(&mut self, task: &str, node: Node<'_>, strings: &Strings<'_>) -> Result<(), ManifestError> {
        let name = node.required_attribute("name")?;
        let opcode = read_named_value(node, "value", name, strings)?;
        self.opcodes.insert((task.to_owned(), name.to_owned()), opcode);
        Ok(())
    }

    pub(super) fn task(&self, name: &str) -> Option<&NamedValue<u16>> {
        self.tasks.get(name)
    }

    pub(super) fn opcode(&self, task: &str, name: &str) -> Option<NamedValue<u8>> {
        let declared = self
            .opcodes
            .get(&(task.to_owned(), name.to_owned()))
            .or_else(|| self.opcodes.get(&(String::new(), name.to_owned())));
        declared.cloned().or_else(|| {
            let (value, text) = standard::opcode_from_manifest_name(name)?;
            Some(NamedValue { value, text: text.into() })
        })
    }

    pub(super) fn level(&self, name: &str) -> Option<u8> {
        self.levels.get(name).copied().or_else(|| standard::level_from_manifest_name(name))
    }

    /// Returns the combined mask of a list of keywords, separated by spaces or commas.
    pub(super) fn keywords(&self, list: &str) -> u64 {
        let mask = |name: &str| {
            let declared_keyword = self.keywords.get(name);
            declared_keyword.map(|keyword| keyword.value).or_else(|| {
                let standard = name.strip_prefix("win:")?;
                KEYWORDS.iter().find(|(keyword, _)| *keyword == standard).map(|(_, mask)| *mask)
            })
        };
        list.split([' ', ',', '\t', '\n', '\r']).filter_map(mask).fold(0, |combined, mask| combined | mask)
    }

    /// Lists the declared keywords, sorted by mask.
    pub(super) fn keyword_list(&self) -> Vec<(u64, Arc<str>)> {
        let mut list: Vec<_> = self.keywords.values().map(|entry| (entry.value, Arc::clone(&entry.text))).collect();
        list.sort();
        list
    }
}

fn read_named_value<T: TryFrom<u64>>(
    node: Node<'_>,
    attribute: &str,
    name: &str,
    strings: &Strings<'_>,
) -> Result<NamedValue<T>, ManifestError> {
    let value = number(node, attribute)?.unwrap_or(0);
    let value = T::try_from(value).map_err(|_| node.error(format!("{attribute} {value} is out of range")))?;
    // Some manifests have whole sentences as names; these are ignored.
    let text = message(node, strings)
        .map(str::trim)
        .filter(|text| !text.is_empty() && text.len() <= 120)
        .unwrap_or_else(|| name.strip_prefix("win:").unwrap_or(name));
    Ok(NamedValue { value, text: text.into() })
}
