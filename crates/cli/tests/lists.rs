//! The verbs that list rows of any range: what each says of a simulated boot, and how they are asked.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "each test file uses its part")]
mod running;

use running::Folder;
use serde_json::Value;

const SCENARIO: &str = "table-7-slow-service-in-group.toml";

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(&format!("{arguments} --format json"))).unwrap()
}

fn texts(rows: &Value, name: &str) -> Vec<String> {
    let rows = rows.as_array().unwrap();
    rows.iter()
        .map(|row| row[name].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn processes_as_text_and_csv() {
    let folder = Folder::boot(SCENARIO);
    insta::assert_snapshot!(
        "processes_text",
        folder.answer("processes boot.etl --top 8")
    );
    insta::assert_snapshot!(
        "processes_csv",
        folder.answer("processes boot.etl --format csv --range 10s 12s --top 4")
    );
}

#[test]
fn a_table_is_sorted_turned_round_and_cut_as_asked() {
    let folder = Folder::boot(SCENARIO);
    let all = json(&folder, "processes boot.etl --sort image");
    let images = texts(&all["processes"], "image");
    assert!(images.len() > 8);
    assert!(images.is_sorted_by_key(|image| image.to_lowercase()));
    let last = json(&folder, "processes boot.etl --sort image --reverse --top 2");
    let mut expected: Vec<String> = images.iter().rev().take(2).cloned().collect();
    expected.truncate(2);
    assert_eq!(texts(&last["processes"], "image"), expected);
    let csv = folder.answer("processes boot.etl --format csv");
    assert_eq!(csv.lines().count(), images.len() + 1);
}

#[test]
fn processes_are_chosen_by_pattern_and_range() {
    let folder = Folder::boot(SCENARIO);
    let some = json(
        &folder,
        "processes boot.etl --process csrss.exe --process 4 --sort pid",
    );
    let images = texts(&some["processes"], "image");
    assert_eq!(images.first().map(String::as_str), Some("System"));
    assert!(images[1..].iter().all(|image| image == "csrss.exe"));
    // Nothing but the system lives in the first millisecond.
    let early = json(&folder, "processes boot.etl --range 0 1ms");
    for process in early["processes"].as_array().unwrap() {
        assert!(process["start_ns"].is_null(), "{process}");
    }
}

#[test]
fn what_cannot_be_answered_is_said_with_exit_code_2() {
    let folder = Folder::boot(SCENARIO);
    for (arguments, message) in [
        (
            "processes boot.etl --process nobody.exe",
            "is what was asked for in that range",
        ),
        (
            "processes boot.etl --sort weight",
            "--sort: there is no column 'weight'; there are image,",
        ),
        (
            "processes boot.etl --range 5000s 6000s",
            "--range: holds none of the recording",
        ),
        ("processes boot.etl --range 1s soon", "'soon' is no time"),
    ] {
        let (code, told) = folder.refusal(arguments);
        assert_eq!(code, 2, "{arguments}");
        assert!(told.contains(message), "{arguments}: {told}");
    }
}
