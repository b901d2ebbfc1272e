//! Compares text actions with published xperf output.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::harness::Folder;
use onoff_testkit::assemble::{EtlBuilder, Payload, Record, Session};

/// Reads the published lines of an action. Returns `None` if the samples are missing.
fn published_lines(action: &str) -> Option<Vec<String>> {
    let path = onoff_testkit::real_recordings::samples_folder("xperf-output")?.join("text-actions.txt");
    let text = std::fs::read(&path).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let heading = format!("### -a {action}");
    let lines: Vec<String> = text
        .lines()
        .skip_while(|line| !line.starts_with(&heading))
        .skip(1)
        .take_while(|line| !line.starts_with("###"))
        .filter(|line| !line.starts_with('#') || line.starts_with("# Lost"))
        .map(str::to_owned)
        .collect();
    assert!(!lines.is_empty(), "no excerpt of {action}");
    Some(lines)
}

#[test]
fn statistics_have_published_names() {
    let Some(published) = published_lines("tracestats") else {
        return;
    };
    let folder = Folder::boot("services-wes7.toml");
    let text = folder.answer("xperf -i boot.etl -quiet -a tracestats -timezone utc");
    // The name ends at the colon. Published lines have one or two blanks before the colon.
    let name = |line: &str| line.split(" :").next().unwrap().trim_end().to_owned();
    let actual: Vec<String> = text.lines().map(name).collect();
    for line in published.iter().filter(|line| line.contains(" :")) {
        assert!(actual.contains(&name(line)), "{line}: {actual:?}");
    }
    let end = text.lines().find(|line| line.starts_with("End time ")).unwrap();
    let duration = end.split_once("(+ ").unwrap().1.trim_end_matches(')');
    let parts: Vec<&str> = duration.split([':', '.']).collect();
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [1, 2, 2, 2, 7], "starts with days: {end}");
}

#[test]
fn symbol_rows_have_published_columns() {
    let Some(published) = published_lines("symcache") else {
        return;
    };
    let folder = Folder::boot("services-wes7.toml");
    let text = folder.answer("xperf -i boot.etl -a symcache -quiet -imageid -dbgid");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(published[0].as_str()));
    let field_shapes = |row: &str| -> Vec<(usize, bool)> {
        let fields = row.splitn(4, ", ").collect::<Vec<_>>();
        let lengths = fields[..2].iter().map(|field| (field.len(), field.starts_with('"')));
        let texts = fields[2..].iter().map(|field| (0, field.starts_with('"')));
        lengths.chain(texts).collect()
    };
    let mut rows = 0;
    for row in lines {
        assert_eq!(field_shapes(row), field_shapes(&published[1]), "{row}");
        rows += 1;
    }
    assert!(rows > 0);
}

#[test]
fn pool_memory_has_published_header() {
    let Some(published) = published_lines("pool") else { return };
    let session = Session::windows_10(1);
    let ticks = session.start_ticks + 10;
    let payload = Payload::wide().u32(0).bytes(b"Test").pointer(10).pointer(0x1000);
    let mut builder = EtlBuilder::new(session);
    builder.push(0, &Record::system(0x0e20, 2, ticks, 8, 4, payload));
    let folder = Folder::new();
    folder.file("pool.etl", &builder.finish());
    let text = folder.answer("xperf -i pool.etl -quiet -a pool -pooltags -images");
    assert_eq!(text.lines().next(), Some(published[0].as_str()));
    assert_eq!(text.lines().nth(1), Some("Unknown, Test, 1, 1, 1, 1"));
}
