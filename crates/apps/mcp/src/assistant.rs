//! Answers calls of tools.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::folders::Folders;
use crate::parts::Parts;
use crate::tools::{Kind, Parameter, TOOLS, schema};

/// The program: answers its arguments, its name first, with what it would print, or with why it does not.
pub type Verb = Arc<dyn Fn(Vec<OsString>) -> Result<Vec<u8>, String> + Send + Sync>;

/// What comes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// For who asked.
    pub text: String,
    /// Whether it says why there is no answer.
    pub failed: bool,
}

/// A tool as it is announced.
#[derive(Clone, Debug)]
pub struct Announced {
    /// Its name.
    pub name: &'static str,
    /// What it answers.
    pub meaning: &'static str,
    /// The JSON Schema of what it takes.
    pub schema: Map<String, Value>,
}

const FOLDER: Parameter = Parameter::option("folder", "Only what is in this folder", Kind::Path);
const HANDLE: Parameter = Parameter::bare("handle", "The handle that the part before named", Kind::Count);
const FROM: Parameter = Parameter::bare("from", "Where the part before ended, as it says", Kind::Count);

/// Answers calls of tools, and keeps what did not fit into an answer.
pub struct Assistant {
    folders: Folders,
    verb: Verb,
    guide: String,
    parts: Mutex<Parts>,
}

impl std::fmt::Debug for Assistant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Assistant").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl Assistant {
    /// Answers about the files in `folders` by `verb`; `guide`: how to investigate, step by step.
    #[must_use]
    pub fn new(folders: Folders, verb: Verb, guide: String) -> Self {
        Self { folders, verb, guide, parts: Mutex::default() }
    }

    /// Every tool.
    #[must_use]
    pub fn tools(&self) -> Vec<Announced> {
        let own = [
            Announced {
                name: "recordings",
                meaning: "The files that may be asked about, with their sizes.",
                schema: schema(&[FOLDER]),
            },
            Announced {
                name: "guide",
                meaning: "How to investigate a slow boot, shutdown or wake, step by step, with the tools of this server.",
                schema: schema(&[]),
            },
            Announced {
                name: "more",
                meaning: "The next part of an answer that was too long for one.",
                schema: schema(&[HANDLE, FROM]),
            },
        ];
        let of_verbs =
            TOOLS.iter().map(|tool| Announced { name: tool.name, meaning: tool.meaning, schema: tool.schema() });
        own.into_iter().chain(of_verbs).collect()
    }

    /// How to use the tools together.
    #[must_use]
    pub fn instructions(&self) -> String {
        "onoff shows where the time goes while a computer boots, shuts down, sleeps and wakes, from a recording. Begin with 'recordings', then \
         'overview' of a file, 'diagnose' for what to change, 'why' for who waited for whom. Every cost says how sure it is: repeat that, and \
         where an answer says 'not known', say so. 'guide' has the steps."
            .to_owned()
    }

    /// Answers a call; `None` when there is no such tool.
    #[must_use]
    pub fn call(&self, tool: &str, call: &Map<String, Value>) -> Option<Answer> {
        let answered = match tool {
            "recordings" => self.recordings(call),
            "guide" => Ok(self.guide.clone()),
            "more" => self.more(call),
            name => self.verb(name, call)?,
        };
        let parts = |text| self.parts.lock().unwrap_or_else(PoisonError::into_inner).first(text);
        Some(match answered {
            // A part of an answer is one already.
            Ok(text) if tool == "more" => Answer { text, failed: false },
            Ok(text) => Answer { text: parts(text), failed: false },
            Err(text) => Answer { text: parts(text), failed: true },
        })
    }

    fn verb(&self, name: &str, call: &Map<String, Value>) -> Option<Result<String, String>> {
        let tool = TOOLS.iter().find(|tool| tool.name == name)?;
        Some(tool.arguments(call, &self.folders).map_err(|misuse| format!("{name}: {misuse}")).and_then(|arguments| {
            let bytes = (self.verb)(arguments)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }))
    }

    fn recordings(&self, call: &Map<String, Value>) -> Result<String, String> {
        let folder = match call.get(FOLDER.name) {
            None | Some(Value::Null) => None,
            Some(Value::String(folder)) => Some(folder.as_str()),
            Some(_) => return Err("recordings: 'folder' must be a path".to_owned()),
        };
        let listing = self.folders.list(folder).map_err(|refused| format!("recordings: {refused}"))?;
        let mut text = String::new();
        for found in &listing.files {
            // A text takes everything.
            let _ = writeln!(text, "{} ({} bytes)", found.path.display(), found.bytes);
        }
        if listing.cut {
            text.push_str("There are more: name a folder.\n");
        } else if listing.files.is_empty() {
            text.push_str("There are no files.\n");
        }
        Ok(text)
    }

    fn more(&self, call: &Map<String, Value>) -> Result<String, String> {
        let number = |name: &str| {
            call.get(name)
                .and_then(Value::as_u64)
                .ok_or_else(|| format!("more: '{name}' must be the number that the part before named"))
        };
        let (handle, from) = (number(HANDLE.name)?, number(FROM.name)?);
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(from)
            .ok()
            .and_then(|from| parts.more(handle, from))
            .ok_or_else(|| "more: there is no such part, or the answer is not kept any more: ask again".to_owned())
    }
}
