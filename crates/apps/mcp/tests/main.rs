//! Tools, paths and parts, with a fake program that prints its arguments.
#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use onoff_mcp::folders::Folders;
use onoff_mcp::tools::TOOLS;
use onoff_mcp::{Answer, Assistant};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

struct Setup {
    outside: TempDir,
    inside: TempDir,
    assistant: Assistant,
}

impl Setup {
    /// A folder with recordings, a folder outside it, and a program that prints its arguments, one per line.
    fn new() -> Self {
        Self::with(|arguments| {
            let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            Ok(words.join("\n").into_bytes())
        })
    }

    fn with(verb: impl Fn(Vec<OsString>) -> Result<Vec<u8>, String> + Send + Sync + 'static) -> Self {
        let (outside, inside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(inside.path().join("boot.etl"), "a recording").unwrap();
        fs::create_dir(inside.path().join("more")).unwrap();
        fs::write(inside.path().join("more/slow boot.etl"), "another").unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let folders = Folders::new(&[inside.path().to_owned()]).unwrap();
        Self { outside, inside, assistant: Assistant::new(folders, Arc::new(verb), "the guide".to_owned()) }
    }

    fn path(&self, name: &str) -> String {
        fs::canonicalize(self.inside.path()).unwrap().join(name).display().to_string()
    }

    fn call(&self, tool: &str, arguments: Value) -> Answer {
        let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        self.assistant.call(tool, &arguments).unwrap()
    }

    fn words(&self, tool: &str, arguments: Value) -> Vec<String> {
        let answer = self.call(tool, arguments);
        assert!(!answer.failed, "{}", answer.text);
        answer.text.lines().map(str::to_owned).collect()
    }

    fn refusal(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(answer.failed, "{}", answer.text);
        answer.text
    }
}

#[test]
fn call_becomes_command_line() {
    let setup = Setup::new();
    let file = setup.path("boot.etl");
    assert_eq!(setup.words("boot", json!({ "file": "boot.etl" })), ["onoff", "boot", "--", &file]);
    assert_eq!(setup.words("overview", json!({ "file": file })), ["onoff", "--", &file]);
    assert_eq!(
        setup.words(
            "list",
            json!({ "what": "services", "file": "boot.etl", "phase": "WinLogonInit", "top": 5, "format": "csv" })
        ),
        ["onoff", "services", "--phase=WinLogonInit", "--top=5", "--format=csv", "--", &file]
    );
    let other = setup.path("more/slow boot.etl");
    assert_eq!(
        setup.words("compare", json!({ "baseline": ["boot.etl", "more"], "candidate": [other] })),
        [
            "onoff",
            "compare",
            &format!("--baseline={file}"),
            &format!("--baseline={}", setup.path("more")),
            &format!("--candidate={other}"),
            "--"
        ]
    );
}

#[test]
fn values_never_become_options() {
    let setup = Setup::new();
    assert_eq!(
        setup.words("explain", json!({ "word": "--output=/etc/passwd" })),
        ["onoff", "explain", "--", "--output=/etc/passwd"]
    );
    let words = setup.words("why", json!({ "file": "boot.etl", "phase": "-o x", "service": "a --output b" }));
    assert_eq!(words[2..4], ["--phase=-o x", "--service=a --output b"]);
}

#[test]
fn rejects_paths_outside_folders() {
    let setup = Setup::new();
    let secret = setup.outside.path().join("secret").display().to_string();
    let missing = setup.outside.path().join("missing").display().to_string();
    let message = setup.refusal("info", json!({ "file": secret }));
    assert!(message.contains("outside the folders"), "{message}");
    // The message is the same whether or not the file exists.
    assert_eq!(setup.refusal("info", json!({ "file": missing })).replace("missing", "secret"), message);
    for path in ["../boot.etl", "more/../../secret", "/etc/passwd", "/"] {
        setup.refusal("info", json!({ "file": path }));
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(setup.outside.path(), setup.inside.path().join("way-out")).unwrap();
        assert!(setup.refusal("info", json!({ "file": "way-out/secret" })).contains("outside the folders"));
        assert!(!setup.call("recordings", json!({})).text.contains("secret"));
        // A symlink within the folder is allowed.
        std::os::unix::fs::symlink("boot.etl", setup.inside.path().join("again.etl")).unwrap();
        assert_eq!(setup.words("info", json!({ "file": "again.etl" })).last(), Some(&setup.path("boot.etl")));
    }
}

#[test]
fn invalid_calls_return_errors() {
    let setup = Setup::new();
    for (tool, arguments, expected) in [
        ("boot", json!({}), "boot: 'file' is missing"),
        ("boot", json!({ "file": 5 }), "boot: 'file' must be a path"),
        ("boot", json!({ "file": "boot.etl", "format": "svg" }), "boot: 'format' must be one of text, json"),
        ("boot", json!({ "file": "boot.etl", "output": "x" }), "boot: unknown parameter 'output'"),
        ("boot", json!({ "file": "boot.etl", "top": 0 }), "boot: 'top' must be a number from 1 to 1000000"),
        (
            "compare",
            json!({ "baseline": [], "candidate": ["boot.etl"] }),
            "compare: 'baseline' must be a list of paths",
        ),
        ("list", json!({ "what": "record", "file": "boot.etl" }), "list: 'what' must be one of services, devices"),
        ("more", json!({ "handle": 1, "from": 0 }), "more: no such part"),
        ("recordings", json!({ "folder": 1 }), "recordings: 'folder' must be a path"),
    ] {
        let text = setup.refusal(tool, arguments);
        assert!(text.starts_with(expected), "{text}");
    }
    assert!(setup.assistant.call("record", &Map::new()).is_none());
}

#[test]
fn tools_have_schemas_and_never_write() {
    let setup = Setup::new();
    let tools = setup.assistant.tools();
    assert_eq!(tools.len(), TOOLS.len() + 3);
    for tool in &tools {
        assert_eq!(tool.schema["type"], "object", "{}", tool.name);
        assert_eq!(tool.schema["additionalProperties"], false);
        assert!(!tool.schema["properties"].as_object().unwrap().contains_key("output"), "{}", tool.name);
        assert!(tool.description.ends_with('.'), "{}", tool.description);
    }
    for writes in ["record", "collect", "view", "export", "gate", "image"] {
        assert!(!tools.iter().any(|tool| tool.name == writes), "{writes}");
    }
}

#[test]
fn long_answers_are_split_without_loss() {
    let lines: Vec<String> = (0..3_000).map(|number| format!("line {number}: ünïcödé")).collect();
    let whole = lines.join("\n");
    let given = whole.clone();
    let setup = Setup::with(move |_| Ok(given.clone().into_bytes()));
    let mut text = setup.call("info", json!({ "file": "boot.etl" })).text;
    let mut joined = String::new();
    for _ in 0..100 {
        let Some((part, rest)) = text.split_once("\n[") else {
            joined.push_str(&text);
            break;
        };
        assert!(part.len() <= onoff_mcp::parts::MAX_PART_LEN, "{}", part.len());
        joined.push_str(part);
        let (_, rest) = rest.split_once("handle ").unwrap();
        let (handle, rest) = rest.split_once(" and from ").unwrap();
        let from = rest.strip_suffix(']').unwrap();
        text = setup
            .call("more", json!({ "handle": handle.parse::<u64>().unwrap(), "from": from.parse::<u64>().unwrap() }))
            .text;
    }
    assert_eq!(joined, whole);
}

#[test]
fn short_answers_errors_and_guide_are_unchanged() {
    let setup = Setup::with(|_| Err("boot.etl: no boot".to_owned()));
    assert_eq!(setup.refusal("boot", json!({ "file": "boot.etl" })), "boot.etl: no boot");
    assert_eq!(setup.call("guide", json!({})), Answer { text: "the guide".to_owned(), failed: false });
    let listed = setup.call("recordings", json!({})).text;
    assert_eq!(
        listed,
        format!("{} (11 bytes)\n{} (7 bytes)\n", setup.path("boot.etl"), setup.path("more/slow boot.etl"))
    );
    assert!(Folders::new(&[PathBuf::from("/nonexistent")]).is_err());
}
