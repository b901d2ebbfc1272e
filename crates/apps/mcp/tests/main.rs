//! Tools, paths and parts, with a program that says which arguments it got.
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

struct Scene {
    outside: TempDir,
    inside: TempDir,
    assistant: Assistant,
}

impl Scene {
    /// A folder with recordings, another one next to it, and a program that prints its arguments, one on a line.
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
fn a_call_becomes_the_line_of_its_verb() {
    let scene = Scene::new();
    let file = scene.path("boot.etl");
    assert_eq!(scene.words("boot", json!({ "file": "boot.etl" })), ["onoff", "boot", "--", &file]);
    assert_eq!(scene.words("overview", json!({ "file": file })), ["onoff", "--", &file]);
    assert_eq!(
        scene.words(
            "list",
            json!({ "what": "services", "file": "boot.etl", "phase": "WinLogonInit", "top": 5, "format": "csv" })
        ),
        ["onoff", "services", "--phase=WinLogonInit", "--top=5", "--format=csv", "--", &file]
    );
    let other = scene.path("more/slow boot.etl");
    assert_eq!(
        scene.words("compare", json!({ "baseline": ["boot.etl", "more"], "candidate": [other] })),
        [
            "onoff",
            "compare",
            &format!("--baseline={file}"),
            &format!("--baseline={}", scene.path("more")),
            &format!("--candidate={other}"),
            "--"
        ]
    );
}

#[test]
fn what_a_value_says_is_never_an_option() {
    let scene = Scene::new();
    assert_eq!(
        scene.words("explain", json!({ "word": "--output=/etc/passwd" })),
        ["onoff", "explain", "--", "--output=/etc/passwd"]
    );
    let words = scene.words("why", json!({ "file": "boot.etl", "phase": "-o x", "service": "a --output b" }));
    assert_eq!(words[2..4], ["--phase=-o x", "--service=a --output b"]);
}

#[test]
fn nothing_outside_the_folders_is_read() {
    let scene = Scene::new();
    let secret = scene.outside.path().join("secret").display().to_string();
    let missing = scene.outside.path().join("missing").display().to_string();
    let said = scene.refusal("info", json!({ "file": secret }));
    assert!(said.contains("in none of the folders"), "{said}");
    // Nor is it said whether something is there.
    assert_eq!(scene.refusal("info", json!({ "file": missing })).replace("missing", "secret"), said);
    for path in ["../boot.etl", "more/../../secret", "/etc/passwd", "/"] {
        scene.refusal("info", json!({ "file": path }));
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(scene.outside.path(), scene.inside.path().join("way-out")).unwrap();
        assert!(scene.refusal("info", json!({ "file": "way-out/secret" })).contains("in none of the folders"));
        assert!(!scene.call("recordings", json!({})).text.contains("secret"));
        // A link that stays inside is fine.
        std::os::unix::fs::symlink("boot.etl", scene.inside.path().join("again.etl")).unwrap();
        assert_eq!(scene.words("info", json!({ "file": "again.etl" })).last(), Some(&scene.path("boot.etl")));
    }
}

#[test]
fn a_call_that_makes_no_sense_says_what_is_wrong() {
    let scene = Scene::new();
    for (tool, arguments, said) in [
        ("boot", json!({}), "boot: 'file' is missing"),
        ("boot", json!({ "file": 5 }), "boot: 'file' must be a path"),
        ("boot", json!({ "file": "boot.etl", "format": "svg" }), "boot: 'format' must be one of text, json"),
        ("boot", json!({ "file": "boot.etl", "output": "x" }), "boot: there is no parameter 'output'"),
        ("boot", json!({ "file": "boot.etl", "top": 0 }), "boot: 'top' must be a number from 1 to 1000000"),
        (
            "compare",
            json!({ "baseline": [], "candidate": ["boot.etl"] }),
            "compare: 'baseline' must be a list of paths",
        ),
        ("list", json!({ "what": "record", "file": "boot.etl" }), "list: 'what' must be one of services, devices"),
        ("more", json!({ "handle": 1, "from": 0 }), "more: there is no such part"),
        ("recordings", json!({ "folder": 1 }), "recordings: 'folder' must be a path"),
    ] {
        let text = scene.refusal(tool, arguments);
        assert!(text.starts_with(said), "{text}");
    }
    assert!(scene.assistant.call("record", &Map::new()).is_none());
}

#[test]
fn every_tool_is_announced_with_what_it_takes_and_none_writes() {
    let scene = Scene::new();
    let tools = scene.assistant.tools();
    assert_eq!(tools.len(), TOOLS.len() + 3);
    for tool in &tools {
        assert_eq!(tool.schema["type"], "object", "{}", tool.name);
        assert_eq!(tool.schema["additionalProperties"], false);
        assert!(!tool.schema["properties"].as_object().unwrap().contains_key("output"), "{}", tool.name);
        assert!(tool.meaning.ends_with('.'), "{}", tool.meaning);
    }
    for writes in ["record", "collect", "view", "export", "gate", "image"] {
        assert!(!tools.iter().any(|tool| tool.name == writes), "{writes}");
    }
}

#[test]
fn a_long_answer_comes_whole_in_parts() {
    let lines: Vec<String> = (0..3_000).map(|number| format!("line {number}: ünïcödé")).collect();
    let whole = lines.join("\n");
    let given = whole.clone();
    let scene = Scene::with(move |_| Ok(given.clone().into_bytes()));
    let mut text = scene.call("info", json!({ "file": "boot.etl" })).text;
    let mut joined = String::new();
    for _ in 0..100 {
        let Some((part, rest)) = text.split_once("\n[") else {
            joined.push_str(&text);
            break;
        };
        assert!(part.len() <= onoff_mcp::parts::PART, "{}", part.len());
        joined.push_str(part);
        let (_, rest) = rest.split_once("handle ").unwrap();
        let (handle, rest) = rest.split_once(" and from ").unwrap();
        let from = rest.strip_suffix(']').unwrap();
        text = scene
            .call("more", json!({ "handle": handle.parse::<u64>().unwrap(), "from": from.parse::<u64>().unwrap() }))
            .text;
    }
    assert_eq!(joined, whole);
}

#[test]
fn a_short_answer_a_failure_and_the_guide_come_as_they_are() {
    let scene = Scene::with(|_| Err("boot.etl: holds no boot".to_owned()));
    assert_eq!(scene.refusal("boot", json!({ "file": "boot.etl" })), "boot.etl: holds no boot");
    assert_eq!(scene.call("guide", json!({})), Answer { text: "the guide".to_owned(), failed: false });
    let listed = scene.call("recordings", json!({})).text;
    assert_eq!(
        listed,
        format!("{} (11 bytes)\n{} (7 bytes)\n", scene.path("boot.etl"), scene.path("more/slow boot.etl"))
    );
    assert!(Folders::new(&[PathBuf::from("/nonexistent")]).is_err());
}
