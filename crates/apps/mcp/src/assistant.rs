//! Handles tool calls.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::folders::Folders;
use crate::parts::{Part, Parts};
use crate::tools::{Parameter, ParameterKind, TOOLS, schema};
use crate::work::Work;

/// Runs the program: takes its arguments, starting with the program name, and returns its output or an error message.
/// Reports to the running call.
pub type Verb = Arc<dyn Fn(Vec<OsString>, &Arc<Work>) -> Result<Vec<u8>, String> + Send + Sync>;

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    /// The answer as JSON, if it is one JSON value.
    pub json: Option<Value>,
    /// If true, `text` is an error message.
    pub failed: bool,
}

/// The description of a tool for the client.
#[derive(Clone, Debug)]
pub struct ToolDescription {
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON schema of the parameters.
    pub schema: Map<String, Value>,
}

const FOLDER: Parameter = Parameter::option("folder", "List only this folder", ParameterKind::Path);
const HANDLE: Parameter =
    Parameter::positional("handle", "The handle given at the end of the previous part", ParameterKind::Count);
const OFFSET: Parameter =
    Parameter::positional("from", "The offset given at the end of the previous part", ParameterKind::Offset);
const POINTER: Parameter = Parameter::option("pointer", "The pointer given in JSON", ParameterKind::Text);

/// Handles tool calls, and keeps the remaining parts of long answers.
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
    /// Serves the files in `folders` with `verb`; `guide` is the text of the tool `guide`.
    #[must_use]
    pub fn new(folders: Folders, verb: Verb, guide: String) -> Self {
        Self { folders, verb, guide, parts: Mutex::default() }
    }

    /// Describes all tools.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolDescription> {
        let assistant_tools = [
            ToolDescription {
                name: "recordings",
                description: "List the files that the other tools can read, with their sizes.",
                schema: schema(&[FOLDER]),
            },
            ToolDescription {
                name: "guide",
                description: "How to investigate a slow boot, shutdown or wake-up with these tools, step by step.",
                schema: schema(&[]),
            },
            ToolDescription {
                name: "more",
                description: "Get the next part of a long answer. In JSON, what is left out is replaced by {\"$more\": …}: pass its handle, pointer and from.",
                schema: schema(&[HANDLE, OFFSET, POINTER]),
            },
        ];
        let verb_tools = TOOLS.iter().map(|tool| ToolDescription {
            name: tool.name,
            description: tool.description,
            schema: tool.schema(),
        });
        assistant_tools.into_iter().chain(verb_tools).collect()
    }

    /// Tells the client how to use the tools together.
    #[must_use]
    pub fn instructions(&self) -> String {
        "onoff shows where the time goes when a computer boots, shuts down, sleeps or wakes, from a recording. Start with 'recordings', \
         then use 'overview' on a file, 'diagnose' for what to fix, and 'why' for the critical path. Each cost states its confidence: \
         report that too, and where an answer says 'not known', say so. 'guide' lists the steps."
            .to_owned()
    }

    /// Runs a tool. Returns `None` if it does not exist.
    #[must_use]
    pub fn call(&self, tool: &str, arguments: &Map<String, Value>, work: &Arc<Work>) -> Option<Answer> {
        let is_json = arguments.get("format").and_then(Value::as_str) == Some("json");
        let result = match tool {
            "recordings" => self.recordings(arguments),
            "guide" => Ok(self.guide.clone()),
            "more" => {
                return Some(match self.more(arguments) {
                    Ok(Part { text, json }) => Answer { text, json, failed: false },
                    Err(text) => Answer { text, json: None, failed: true },
                });
            }
            name => self.run_verb(name, arguments, work)?,
        };
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = result.is_err();
        let Part { text, json } = match result {
            Ok(text) if is_json => parts.first_of_json(text),
            Ok(text) | Err(text) => parts.first(text),
        };
        Some(Answer { text, json, failed })
    }

    fn run_verb(&self, name: &str, arguments: &Map<String, Value>, work: &Arc<Work>) -> Option<Result<String, String>> {
        let tool = TOOLS.iter().find(|tool| tool.name == name)?;
        let command_line = tool.arguments(arguments, &self.folders).map_err(|error| format!("{name}: {error}"));
        Some(command_line.and_then(|command_line| {
            // A panic fails one call, not the server.
            match catch_unwind(AssertUnwindSafe(|| (self.verb)(command_line, work))) {
                Ok(output) => Ok(String::from_utf8_lossy(&output?).into_owned()),
                Err(_) if work.is_cancelled() => Err(format!("{name}: cancelled")),
                Err(_) => Err("onoff crashed on this recording; please report it".to_owned()),
            }
        }))
    }

    fn recordings(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let folder = match arguments.get(FOLDER.name) {
            None | Some(Value::Null) => None,
            Some(Value::String(folder)) => Some(folder.as_str()),
            Some(_) => return Err("recordings: 'folder' must be a path".to_owned()),
        };
        let listing = self.folders.list(folder).map_err(|error| format!("recordings: {error}"))?;
        let mut text = String::new();
        for file in &listing.files {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} ({} bytes)", file.path.display(), file.bytes);
        }
        if listing.is_truncated {
            text.push_str("The list is truncated: name a folder.\n");
        } else if listing.files.is_empty() {
            text.push_str("No files.\n");
        }
        Ok(text)
    }

    fn more(&self, arguments: &Map<String, Value>) -> Result<Part, String> {
        let number = |name: &str| {
            arguments
                .get(name)
                .and_then(Value::as_u64)
                .ok_or_else(|| format!("more: '{name}' must be the number given at the end of the previous part"))
        };
        let (handle, offset) = (number(HANDLE.name)?, number(OFFSET.name)?);
        let pointer = match arguments.get(POINTER.name) {
            None | Some(Value::Null) => "",
            Some(Value::String(pointer)) => pointer,
            Some(_) => return Err("more: 'pointer' must be a text".to_owned()),
        };
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(offset)
            .ok()
            .and_then(|offset| parts.more(handle, pointer, offset))
            .ok_or_else(|| "more: no such part, or the answer has expired; call the original tool again".to_owned())
    }
}
