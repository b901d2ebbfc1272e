//! The tools: what each is for, what it takes, and the arguments of the verb that answers it.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use crate::folders::{Folders, Refused};

/// A value that a tool takes.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Whether it must be there.
    pub required: bool,
    place: Place,
}

impl Parameter {
    /// A value that must be there, and stands by itself.
    pub(crate) const fn bare(name: &'static str, meaning: &'static str, kind: Kind) -> Self {
        Self { name, meaning, kind, required: true, place: Place::Bare }
    }

    /// A value that may be left out, of the option of its name.
    pub(crate) const fn option(name: &'static str, meaning: &'static str, kind: Kind) -> Self {
        Self { name, meaning, kind, required: false, place: Place::Option }
    }
}

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A file or folder in the folders that may be read.
    Path,
    /// Several of them.
    Paths,
    /// Any text.
    Text,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A number from 1.
    Count,
}

/// How a value stands on the verb's line.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// `--name=value`, for each value.
    Option,
    /// By itself, in the order of the parameters.
    Bare,
    /// First, as the verb.
    Verb,
}

/// A tool that a verb answers.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it answers, for who chooses among tools.
    pub meaning: &'static str,
    verb: Option<&'static str>,
    parameters: &'static [Parameter],
}

/// Why a call of a tool makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum Misuse {
    /// A value is missing.
    #[error("'{0}' is missing")]
    Missing(&'static str),
    /// A value is not what it must be.
    #[error("'{name}' must be {wanted}")]
    Wrong {
        /// The parameter.
        name: &'static str,
        /// What it must be.
        wanted: String,
    },
    /// There is no such parameter.
    #[error("there is no parameter '{0}'")]
    Unknown(String),
    /// A path is not read.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// A tool that the verb of its name answers.
const fn tool(name: &'static str, meaning: &'static str, parameters: &'static [Parameter]) -> Tool {
    Tool { name, meaning, verb: Some(name), parameters }
}

const FILE: Parameter = Parameter::bare("file", "The recording: a path that the tool 'recordings' gave", Kind::Path);
const FORMAT: Parameter = Parameter::option(
    "format",
    "text (the default) is short; json has every value, with names that stay",
    Kind::OneOf(&["text", "json"]),
);
const ROW_FORMAT: Parameter =
    Parameter::option("format", "text (the default), json or csv", Kind::OneOf(&["text", "json", "csv"]));
const PHASE: Parameter = Parameter::option(
    "phase",
    "Only this phase, by the name that the tool of the transition gives it, such as WinLogonInit",
    Kind::Text,
);
const BOOT: Parameter = Parameter::option(
    "boot",
    "Which boot of a Linux journal that holds several: 0 is the last, -1 the one before, or a boot's id",
    Kind::Text,
);
const TOP: Parameter = Parameter::option("top", "At most so many rows of each list", Kind::Count);
const LISTS: &[&str] =
    &["services", "devices", "processes", "cpu", "interrupts", "disk", "files", "hardfaults", "policy"];

/// Every tool that a verb answers; `recordings`, `guide` and `more` are answered by the server itself.
pub const TOOLS: &[Tool] = &[
    Tool {
        verb: None,
        ..tool(
            "overview",
            "What a recording is and which tools answer about it, with the first line of each. Begin here.",
            &[FILE],
        )
    },
    tool(
        "boot",
        "Where the time of a boot went: phases, who held each of them, services, drivers, processors and disks by phase.",
        &[FILE, FORMAT, BOOT, TOP],
    ),
    tool(
        "shutdown",
        "Where the time of a shutdown went: sessions, applications, services, the kernel.",
        &[FILE, FORMAT, BOOT, TOP],
    ),
    tool(
        "suspend",
        "Where the time of sleep, hibernation and waking went: phases, programs, services, devices.",
        &[FILE, FORMAT, BOOT, TOP],
    ),
    tool(
        "netboot",
        "Where the time of a network boot went, from a packet capture: address, files, each transfer.",
        &[FILE, FORMAT],
    ),
    tool("firmware", "The time before the operating system, from the firmware's performance tables.", &[FILE, FORMAT]),
    tool(
        "io",
        "How programs read and wrote their data: sizes of requests, what was read twice, what a buffer or a cache would bring.",
        &[FILE, FORMAT, TOP],
    ),
    tool(
        "diagnose",
        "What to change, what costs most first, each with its evidence, how sure it is, and what it would bring.",
        &[FILE, FORMAT, BOOT],
    ),
    tool(
        "why",
        "Why a phase, a service, a device or a process took as long as it did: who waited for whom, back to what ended the wait.",
        &[
            FILE,
            PHASE,
            Parameter::option("service", "The start or stop of this service", Kind::Text),
            Parameter::option("device", "The requests to this device", Kind::Text),
            Parameter::option("process", "The long waits of this process", Kind::Text),
            FORMAT,
            BOOT,
        ],
    ),
    Tool {
        verb: None,
        ..tool(
            "list",
            "Rows of one kind, the longest first: services, devices, processes, processor use, interrupts, disk requests, file operations, hard faults, policy.",
            &[
                Parameter { place: Place::Verb, ..Parameter::bare("what", "Which rows", Kind::OneOf(LISTS)) },
                FILE,
                PHASE,
                Parameter::option("process", "Only of this process", Kind::Text),
                TOP,
                ROW_FORMAT,
                BOOT,
            ],
        )
    },
    tool(
        "compare",
        "Whether recordings of one configuration are slower than those of another, where, and whether it is more than noise.",
        &[
            Parameter {
                required: true,
                ..Parameter::option("baseline", "Recordings before the change: files or folders", Kind::Paths)
            },
            Parameter { required: true, ..Parameter::option("candidate", "Recordings after it", Kind::Paths) },
            FORMAT,
        ],
    ),
    tool(
        "summary",
        "Many recordings at once, a row each: kind, total, longest phase, first culprit.",
        &[Parameter::bare("files", "Recordings, or folders of them", Kind::Paths), ROW_FORMAT],
    ),
    tool(
        "info",
        "What a recording holds: computer, clock, providers with their events, what was lost.",
        &[FILE, FORMAT],
    ),
    tool(
        "explain",
        "What a word of an answer means: a phase, a column, a loss, the code of a finding.",
        &[Parameter::bare("word", "The word", Kind::Text)],
    ),
];

impl Tool {
    /// The JSON Schema of what the tool takes.
    #[must_use]
    pub fn schema(&self) -> Map<String, Value> {
        schema(self.parameters)
    }

    /// The arguments of the program that answers a call.
    ///
    /// # Errors
    /// The call makes no sense, or a path may not be read.
    pub fn arguments(&self, call: &Map<String, Value>, folders: &Folders) -> Result<Vec<OsString>, Misuse> {
        if let Some(name) = call.keys().find(|name| !self.parameters.iter().any(|it| it.name == name.as_str())) {
            return Err(Misuse::Unknown(name.clone()));
        }
        let mut verb: Option<OsString> = self.verb.map(OsString::from);
        let (mut options, mut bare) = (Vec::new(), Vec::new());
        for parameter in self.parameters {
            for value in parameter.values(call, folders)? {
                match parameter.place {
                    Place::Option => {
                        let mut word = OsString::from(format!("--{}=", parameter.name));
                        word.push(value);
                        options.push(word);
                    }
                    Place::Bare => bare.push(value),
                    Place::Verb => verb = Some(value),
                }
            }
        }
        // Whatever a value begins with, it is no option.
        let bare = std::iter::once(OsString::from("--")).chain(bare);
        Ok(std::iter::once("onoff".into()).chain(verb).chain(options).chain(bare).collect())
    }
}

/// The JSON Schema of an object with these members and no others.
pub(crate) fn schema(parameters: &[Parameter]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        parameters.iter().map(|parameter| (parameter.name.to_owned(), parameter.schema())).collect();
    let required: Vec<&str> = parameters.iter().filter(|it| it.required).map(|it| it.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), required.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

impl Parameter {
    fn schema(&self) -> Value {
        let description = self.meaning;
        match self.kind {
            Kind::Path | Kind::Text => json!({ "type": "string", "description": description }),
            Kind::Paths => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "description": description })
            }
            Kind::OneOf(words) => json!({ "type": "string", "enum": words, "description": description }),
            Kind::Count => json!({ "type": "integer", "minimum": 1, "description": description }),
        }
    }

    /// The values of a call, as they stand on a command line.
    fn values(&self, call: &Map<String, Value>, folders: &Folders) -> Result<Vec<OsString>, Misuse> {
        let wrong = |wanted: &str| Misuse::Wrong { name: self.name, wanted: wanted.to_owned() };
        let value = match call.get(self.name) {
            Some(value) if !value.is_null() => value,
            _ if self.required => return Err(Misuse::Missing(self.name)),
            _ => return Ok(Vec::new()),
        };
        match self.kind {
            Kind::Path => {
                let path = value.as_str().ok_or_else(|| wrong("a path"))?;
                Ok(vec![folders.resolve(path)?.into()])
            }
            Kind::Paths => {
                let paths =
                    value.as_array().filter(|paths| !paths.is_empty()).ok_or_else(|| wrong("a list of paths"))?;
                let resolved = paths.iter().map(|path| {
                    let path = path.as_str().ok_or_else(|| wrong("a list of paths"))?;
                    Ok(folders.resolve(path)?.into())
                });
                resolved.collect()
            }
            Kind::Text => Ok(vec![value.as_str().ok_or_else(|| wrong("a text"))?.into()]),
            Kind::OneOf(words) => match value.as_str().and_then(|value| words.iter().find(|word| **word == value)) {
                Some(word) => Ok(vec![(*word).into()]),
                None => Err(wrong(&format!("one of {}", words.join(", ")))),
            },
            Kind::Count => match value.as_u64() {
                Some(count @ 1..=1_000_000) => Ok(vec![count.to_string().into()]),
                _ => Err(wrong("a number from 1 to 1000000")),
            },
        }
    }
}
