//! Tests tools, paths and parts with a fake program that prints its arguments.
#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use onoff_mcp::folders::Folders;
use onoff_mcp::parts::MAX_PART_LEN;
use onoff_mcp::tools::TOOLS;
use onoff_mcp::{Answer, Assistant, Work};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

struct Setup {
    outside: TempDir,
    inside: TempDir,
    assistant: Assistant,
}

impl Setup {
    /// Creates a folder with recordings, a folder outside it, and a program that prints its arguments, one per line.
    fn new() -> Self {
        Self::with_verb(|arguments| {
            let lines: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
            Ok(lines.join("\n").into_bytes())
        })
    }

    fn with_verb(verb: impl Fn(Vec<OsString>) -> Result<Vec<u8>, String> + Send + Sync + 'static) -> Self {
        let (outside, inside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(inside.path().join("boot.etl"), "a recording").unwrap();
        fs::create_dir(inside.path().join("more")).unwrap();
        fs::write(inside.path().join("more/slow boot.etl"), "another").unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let folders = Folders::new(&[inside.path().to_owned()]).unwrap();
        let verb = Arc::new(move |arguments, _: &Arc<Work>| verb(arguments));
        Self { outside, inside, assistant: Assistant::new(folders, verb, "the guide".to_owned()) }
    }

    fn path(&self, name: &str) -> String {
        fs::canonicalize(self.inside.path()).unwrap().join(name).display().to_string()
    }

    fn call(&self, tool: &str, arguments: Value) -> Answer {
        let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        self.assistant.call(tool, &arguments, &Arc::default()).unwrap()
    }

    fn command_line(&self, tool: &str, arguments: Value) -> Vec<String> {
        let answer = self.call(tool, arguments);
        assert!(!answer.failed, "{}", answer.text);
        answer.text.lines().map(str::to_owned).collect()
    }

    fn error(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(answer.failed, "{}", answer.text);
        answer.text
    }
}

#[test]
fn call_becomes_command_line() {
    let setup = Setup::new();
    let file = setup.path("boot.etl");
    assert_eq!(setup.command_line("boot", json!({ "file": "boot.etl" })), ["onoff", "boot", "--", &file]);
    assert_eq!(setup.command_line("overview", json!({ "file": file })), ["onoff", "--", &file]);
    assert_eq!(
        setup.command_line(
            "list",
            json!({ "what": "services", "file": "boot.etl", "phase": "WinLogonInit", "top": 5, "format": "csv" })
        ),
        ["onoff", "services", "--phase=WinLogonInit", "--top=5", "--format=csv", "--", &file]
    );
    let candidate = setup.path("more/slow boot.etl");
    assert_eq!(
        setup.command_line("compare", json!({ "baseline": ["boot.etl", "more"], "candidate": [candidate] })),
        [
            "onoff",
            "compare",
            &format!("--baseline={file}"),
            &format!("--baseline={}", setup.path("more")),
            &format!("--candidate={candidate}"),
            "--"
        ]
    );
    assert_eq!(
        setup.command_line(
            "what-if",
            json!({ "file": "boot.etl", "without": ["A", "--output=b"], "disk": "4x", "processors": 8 })
        ),
        ["onoff", "what-if", "--without=A", "--without=--output=b", "--disk=4x", "--processors=8", "--", &file]
    );
    assert_eq!(
        setup.command_line("what-if", json!({ "file": "boot.etl", "parallel": ["a.service"], "async": ["e1000e"] })),
        ["onoff", "what-if", "--parallel=a.service", "--async=e1000e", "--", &file]
    );
    assert_eq!(
        setup.command_line("what-if", json!({ "file": "boot.etl", "plan": 5, "limit": false })),
        ["onoff", "what-if", "--plan=5", "--", &file]
    );
    assert_eq!(
        setup.command_line("what-if", json!({ "file": "boot.etl", "limit": true, "transition": "suspend:2" })),
        ["onoff", "what-if", "--limit", "--transition=suspend:2", "--", &file]
    );
}

#[test]
fn values_never_become_options() {
    let setup = Setup::new();
    assert_eq!(
        setup.command_line("explain", json!({ "word": "--output=/etc/passwd" })),
        ["onoff", "explain", "--", "--output=/etc/passwd"]
    );
    assert_eq!(
        setup.command_line("list", json!({ "what": "disk", "file": "boot.etl", "range": ["10s", "20.5s"] })),
        ["onoff", "disk", "--range", "10s", "20.5s", "--", &setup.path("boot.etl")]
    );
    let arguments =
        setup.command_line("why", json!({ "file": "boot.etl", "phase": "-o x", "service": "a --output b" }));
    assert_eq!(arguments[2..4], ["--phase=-o x", "--service=a --output b"]);
}

#[test]
fn rejects_paths_outside_folders() {
    let setup = Setup::new();
    let secret = setup.outside.path().join("secret").display().to_string();
    let missing = setup.outside.path().join("missing").display().to_string();
    let message = setup.error("info", json!({ "file": secret }));
    assert!(message.contains("outside the folders"), "{message}");
    // The message is the same whether or not the file exists.
    assert_eq!(setup.error("info", json!({ "file": missing })).replace("missing", "secret"), message);
    for path in ["../boot.etl", "more/../../secret", "/etc/passwd", "/"] {
        setup.error("info", json!({ "file": path }));
    }
    // Nor do relative paths reveal it, and one within the folders may.
    let outside = setup.outside.path().file_name().unwrap().to_str().unwrap();
    let of = |name: &str| setup.error("info", json!({ "file": format!("../{outside}/{name}") }));
    assert_eq!(of("missing").replace("missing", "secret"), of("secret"));
    assert_eq!(of("missing/more").replace("missing", "secret"), of("secret/more"));
    let through_nothing = setup.error("info", json!({ "file": format!("nothing/../../{outside}/secret") }));
    assert!(through_nothing.contains("outside the folders"), "{through_nothing}");
    for missing in ["missing.etl", "more/missing.etl", "more/../missing.etl"] {
        let message = setup.error("info", json!({ "file": missing }));
        assert!(!message.contains("outside the folders"), "{message}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(setup.outside.path(), setup.inside.path().join("way-out")).unwrap();
        assert!(setup.error("info", json!({ "file": "way-out/secret" })).contains("outside the folders"));
        assert!(setup.error("info", json!({ "file": "way-out/missing" })).contains("outside the folders"));
        std::os::unix::fs::symlink(setup.outside.path().join("missing"), setup.inside.path().join("nowhere")).unwrap();
        assert!(setup.error("info", json!({ "file": "nowhere" })).contains("outside the folders"));
        assert!(!setup.call("recordings", json!({})).text.contains("secret"));
        // A symlink within the folder is allowed.
        std::os::unix::fs::symlink("boot.etl", setup.inside.path().join("again.etl")).unwrap();
        assert_eq!(setup.command_line("info", json!({ "file": "again.etl" })).last(), Some(&setup.path("boot.etl")));
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
            "what-if",
            json!({ "file": "boot.etl", "without": "SoundShaper" }),
            "what-if: 'without' must be a list of strings",
        ),
        ("what-if", json!({ "file": "boot.etl", "limit": "yes" }), "what-if: 'limit' must be true or false"),
        ("what-if", json!({ "file": "boot.etl", "plan": 0 }), "what-if: 'plan' must be a number from 1 to 1000000"),
        ("list", json!({ "what": "cpu", "file": "boot.etl", "range": ["1s"] }), "list: 'range' must be two times"),
        ("events", json!({ "file": "boot.etl", "range": ["1s", "--output=x"] }), "events: 'range' must be two times"),
        ("gate", json!({ "baseline": ["boot.etl"] }), "gate: 'candidate' is missing"),
        (
            "compare",
            json!({ "baseline": [], "candidate": ["boot.etl"] }),
            "compare: 'baseline' must be a list of paths",
        ),
        ("list", json!({ "what": "record", "file": "boot.etl" }), "list: 'what' must be one of services, devices"),
        ("more", json!({ "handle": 1, "from": 0 }), "more: no such part"),
        ("recordings", json!({ "folder": 1 }), "recordings: 'folder' must be a path"),
    ] {
        let text = setup.error(tool, arguments);
        assert!(text.starts_with(expected), "{text}");
    }
    assert!(setup.assistant.call("record", &Map::new(), &Arc::default()).is_none());
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
    for writing_verb in ["record", "collect", "view", "export", "image"] {
        assert!(!tools.iter().any(|tool| tool.name == writing_verb), "{writing_verb}");
    }
}

#[test]
fn long_answers_are_split_without_loss() {
    let lines: Vec<String> = (0..3_000).map(|number| format!("line {number}: ünïcödé")).collect();
    let full_text = lines.join("\n");
    let output = full_text.clone();
    let setup = Setup::with_verb(move |_| Ok(output.clone().into_bytes()));
    let mut text = setup.call("info", json!({ "file": "boot.etl" })).text;
    let mut joined_text = String::new();
    for _ in 0..100 {
        let Some((part, footer)) = text.split_once("\n[") else {
            joined_text.push_str(&text);
            break;
        };
        assert!(part.len() <= MAX_PART_LEN, "{}", part.len());
        joined_text.push_str(part);
        let (_, numbers) = footer.split_once("handle ").unwrap();
        let (handle, offset) = numbers.split_once(" and from ").unwrap();
        let offset = offset.strip_suffix(']').unwrap();
        text = setup
            .call("more", json!({ "handle": handle.parse::<u64>().unwrap(), "from": offset.parse::<u64>().unwrap() }))
            .text;
    }
    assert_eq!(joined_text, full_text);
}

#[test]
fn short_answers_errors_and_guide_are_unchanged() {
    let setup = Setup::with_verb(|_| Err("boot.etl: no boot".to_owned()));
    assert_eq!(setup.error("boot", json!({ "file": "boot.etl" })), "boot.etl: no boot");
    assert_eq!(setup.call("guide", json!({})), Answer { text: "the guide".to_owned(), json: None, failed: false });
    let listing = setup.call("recordings", json!({})).text;
    assert_eq!(
        listing,
        format!("{} (11 bytes)\n{} (7 bytes)\n", setup.path("boot.etl"), setup.path("more/slow boot.etl"))
    );
    assert!(Folders::new(&[PathBuf::from("/nonexistent")]).is_err());
}

/// Puts what was left out of a part back, by asking for it.
fn complete(setup: &Setup, value: Value, calls: &mut usize) -> Value {
    let ask = |more: &Value, calls: &mut usize| {
        *calls += 1;
        assert!(*calls < 10_000);
        let arguments = json!({ "handle": more["handle"], "pointer": more["pointer"], "from": more["from"] });
        let answer = setup.call("more", arguments);
        assert!(!answer.failed && answer.text.len() <= MAX_PART_LEN, "{more}: {}", answer.text.len());
        assert_eq!(serde_json::from_str::<Value>(&answer.text).unwrap(), answer.json.clone().unwrap());
        complete(setup, answer.json.unwrap(), calls)
    };
    match value {
        Value::Array(mut items) => {
            let more = items.pop_if(|last| last.get("$more").is_some_and(|more| more["from"] != 0));
            let mut items: Vec<Value> = items.into_iter().map(|item| complete(setup, item, calls)).collect();
            if let Some(more) = more {
                items.extend(ask(&more["$more"], calls).as_array().unwrap().iter().cloned());
            }
            Value::Array(items)
        }
        Value::Object(mut fields) => {
            let more = fields.shift_remove("$more");
            if let Some(more) = more.as_ref().filter(|_| fields.is_empty()) {
                return ask(more, calls);
            }
            if let Some(Value::String(text)) = fields.get("$text") {
                let rest = more.map(|more| ask(&more, calls));
                return format!("{text}{}", rest.as_ref().map_or("", |rest| rest.as_str().unwrap())).into();
            }
            let mut whole: Map<String, Value> =
                fields.into_iter().map(|(name, field)| (name, complete(setup, field, calls))).collect();
            if let Some(more) = more {
                whole.extend(ask(&more, calls).as_object().unwrap().clone());
            }
            Value::Object(whole)
        }
        scalar => scalar,
    }
}

#[test]
fn json_parts_are_json_and_lose_nothing() {
    let rows = |count: usize| -> Vec<Value> {
        let row = |number| json!({ "name": format!("driver {number}.sys"), "ns": number * 1_000_003, "none": null });
        (0..count).map(row).collect()
    };
    let many_fields: Map<String, Value> =
        (0..2_000).map(|number| (format!("a/b~{number}"), json!({ "rows": rows(number % 7) }))).collect();
    for document in [
        json!({ "headline": "12 s", "phases": rows(5), "units": rows(900), "nested": { "deep": [rows(300), rows(2)] } }),
        Value::Array(rows(700)),
        Value::Object(many_fields),
        json!({ "evidence": ["ünï\u{1f}\n".repeat(4_000), "short"], "one": [[[[rows(400)]]]] }),
    ] {
        let output = serde_json::to_string_pretty(&document).unwrap();
        let setup = Setup::with_verb(move |_| Ok(output.clone().into_bytes()));
        let answer = setup.call("boot", json!({ "file": "boot.etl", "format": "json" }));
        assert!(answer.text.len() <= MAX_PART_LEN, "{}", answer.text.len());
        let (mut calls, first) = (0, answer.json.unwrap());
        // Short values are in the first part, beside long lists.
        assert_eq!(first.get("headline"), document.get("headline"));
        assert_eq!(complete(&setup, first, &mut calls), document);
        assert!(calls > 3, "{calls}");
    }
}

#[test]
fn short_json_is_unchanged_and_lines_of_json_are_text() {
    for (output, is_json) in [("{\n  \"ns\": 5\n}\n", true), ("{\"ns\":5}\n{\"ns\":6}\n", false)] {
        let setup = Setup::with_verb(move |_| Ok(output.as_bytes().to_vec()));
        let answer = setup.call("boot", json!({ "file": "boot.etl", "format": "json" }));
        assert_eq!((answer.text.as_str(), answer.json), (output, is_json.then(|| json!({ "ns": 5 }))));
        assert_eq!(setup.call("boot", json!({ "file": "boot.etl" })).json, None);
    }
    let setup = Setup::with_verb(|_| Ok(format!("[{}0]", "1,".repeat(9_000)).into_bytes()));
    setup.call("boot", json!({ "file": "boot.etl", "format": "json" }));
    for (pointer, from) in [("/0/x", 0), ("nothing", 0), ("", 9_001), ("/5", 1)] {
        let message = setup.error("more", json!({ "handle": 1, "pointer": pointer, "from": from }));
        assert!(message.starts_with("more: no such part"), "{message}");
    }
}

#[test]
fn cancelled_and_crashed_calls_end_with_a_message() {
    let work = Arc::new(Work::default());
    let cancelled = Arc::clone(&work);
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("boot.etl"), "a recording").unwrap();
    let verb = move |_: Vec<OsString>, work: &Arc<Work>| {
        for step in 1..=1_000 {
            if step == 3 {
                cancelled.cancel();
            }
            work.report(step, 1_000);
        }
        Ok(Vec::new())
    };
    let folders = || Folders::new(&[folder.path().to_owned()]).unwrap();
    let assistant = Assistant::new(folders(), Arc::new(verb), String::new());
    let Value::Object(arguments) = json!({ "file": "boot.etl" }) else { unreachable!() };
    let answer = assistant.call("boot", &arguments, &work).unwrap();
    assert_eq!((answer.text.as_str(), answer.failed), ("boot: cancelled", true));
    assert_eq!(work.progress(), Some((3, 1_000)));

    let crash = |_: Vec<OsString>, _: &Arc<Work>| std::panic::resume_unwind(Box::new("a fault"));
    let assistant = Assistant::new(folders(), Arc::new(crash), String::new());
    let answer = assistant.call("boot", &arguments, &Arc::default()).unwrap();
    assert!(answer.failed && answer.text.contains("crashed"), "{}", answer.text);
}
