//! Names of tasks, opcodes, levels and keywords: those a manifest declares and those every manifest may use.

use std::sync::Arc;

use hashbrown::HashMap;

use super::document::Node;
use super::{ManifestError, Strings, in_list, message, number};
use crate::standard;

/// A number and its name for people.
#[derive(Clone, Debug)]
pub(super) struct Named<T> {
    pub value: T,
    pub text: Arc<str>,
}

/// Keywords that need no declaration.
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

/// What a provider's declarations call things.
#[derive(Debug, Default)]
pub(super) struct Names {
    tasks: HashMap<String, Named<u16>>,
    /// By (task, opcode): an opcode may belong to one task; those of the provider have an empty task.
    opcodes: HashMap<(String, String), Named<u8>>,
    levels: HashMap<String, u8>,
    keywords: HashMap<String, Named<u64>>,
}

impl Names {
    pub(super) fn read(provider: Node<'_>, strings: &Strings<'_>) -> Result<Self, ManifestError> {
        let mut names = Self::default();
        for node in in_list(provider, "opcodes", "opcode") {
            names.add_opcode("", node, strings)?;
        }
        for node in in_list(provider, "tasks", "task") {
            let name = node.required("name")?;
            let task = named(node, "value", name, strings)?;
            names.tasks.insert(name.to_owned(), task);
            for opcode in in_list(node, "opcodes", "opcode") {
                names.add_opcode(name, opcode, strings)?;
            }
        }
        for node in in_list(provider, "levels", "level") {
            let name = node.required("name")?;
            names.levels.insert(name.to_owned(), named(node, "value", name, strings)?.value);
        }
        for node in in_list(provider, "keywords", "keyword") {
            let name = node.required("name")?;
            names.keywords.insert(name.to_owned(), named(node, "mask", name, strings)?);
        }
        Ok(names)
    }

    fn add_opcode(&mut self, task: &str, node: Node<'_>, strings: &Strings<'_>) -> Result<(), ManifestError> {
        let name = node.required("name")?;
        let opcode = named(node, "value", name, strings)?;
        self.opcodes.insert((task.to_owned(), name.to_owned()), opcode);
        Ok(())
    }

    pub(super) fn task(&self, name: &str) -> Option<&Named<u16>> {
        self.tasks.get(name)
    }

    pub(super) fn opcode(&self, task: &str, name: &str) -> Option<Named<u8>> {
        let declared = self
            .opcodes
            .get(&(task.to_owned(), name.to_owned()))
            .or_else(|| self.opcodes.get(&(String::new(), name.to_owned())));
        declared.cloned().or_else(|| {
            let (value, text) = standard::opcode_of_manifest_name(name)?;
            Some(Named { value, text: text.into() })
        })
    }

    pub(super) fn level(&self, name: &str) -> Option<u8> {
        self.levels.get(name).copied().or_else(|| standard::level_of_manifest_name(name))
    }

    /// The mask of a list of keywords, separated by spaces or commas.
    pub(super) fn keywords(&self, list: &str) -> u64 {
        let mask = |name: &str| {
            let declared = self.keywords.get(name);
            declared.map(|keyword| keyword.value).or_else(|| {
                let standard = name.strip_prefix("win:")?;
                KEYWORDS.iter().find(|(known, _)| *known == standard).map(|(_, mask)| *mask)
            })
        };
        list.split([' ', ',', '\t', '\n', '\r']).filter_map(mask).fold(0, |all, mask| all | mask)
    }

    /// The declared keywords by their masks, for a provider's schema.
    pub(super) fn keyword_list(&self) -> Vec<(u64, Arc<str>)> {
        let mut list: Vec<_> = self.keywords.values().map(|named| (named.value, Arc::clone(&named.text))).collect();
        list.sort();
        list
    }
}

fn named<T: TryFrom<u64>>(
    node: Node<'_>,
    attribute: &str,
    name: &str,
    strings: &Strings<'_>,
) -> Result<Named<T>, ManifestError> {
    let value = number(node, attribute)?.unwrap_or(0);
    let value = T::try_from(value).map_err(|_| node.fault(format!("{attribute} {value} is out of range")))?;
    // Some manifests put a whole sentence where a name belongs; a name is short.
    let text = message(node, strings)
        .map(str::trim)
        .filter(|text| !text.is_empty() && text.len() <= 120)
        .unwrap_or_else(|| name.strip_prefix("win:").unwrap_or(name));
    Ok(Named { value, text: text.into() })
}
