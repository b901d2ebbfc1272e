//! Text on a terminal: width, color and --brief.

use onoff_simulator::Scenario;
use unicode_width::UnicodeWidthStr;

use crate::harness::Folder;

/// Creates a folder with one recording for each kind of report, named after its scenario.
fn folder() -> Folder {
    let folder = Folder::new();
    for name in ["slow-boot", "slow-shutdown", "slow-sleep"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../support/simulator/scenarios")
            .join(format!("{name}.toml"));
        let simulation = Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap().simulate().unwrap();
        folder.file(&format!("{name}.etl"), &simulation.files[0]);
    }
    folder
}

const VERBS: [&str; 14] = [
    "slow-boot.etl",
    "boot slow-boot.etl",
    "shutdown slow-shutdown.etl",
    "suspend slow-sleep.etl",
    "diagnose slow-boot.etl",
    "why slow-boot.etl",
    "why slow-boot.etl --service Spooler",
    "summary slow-boot.etl slow-sleep.etl slow-shutdown.etl",
    "info slow-boot.etl",
    "services slow-boot.etl",
    "cpu slow-boot.etl --by thread",
    "disk slow-boot.etl --by path",
    "io slow-boot.etl",
    "processes slow-boot.etl",
];

#[test]
fn text_fits_80_and_120_columns() {
    let folder = folder();
    for verb in VERBS {
        let full = folder.answer(verb);
        for columns in [80, 120] {
            let answer = folder.answer(&format!("{verb} --width {columns}"));
            for line in answer.lines() {
                // Only a word longer than the width may overflow.
                let is_one_word = !line.trim().contains(' ');
                assert!(line.width() <= columns || is_one_word, "onoff {verb} at {columns}: {line}");
            }
            // Every number with its unit is preserved.
            let count_numbers = |text: &str| {
                let words: Vec<&str> = text.split_whitespace().collect();
                let units = ["s", "ms", "µs", "%", "MiB", "KiB"];
                let with_unit =
                    words.windows(2).filter(|pair| units.contains(&pair[1].trim_end_matches(['.', ',', ';', ':'])));
                with_unit
                    .filter(|pair| pair[0].chars().all(|character| character.is_ascii_digit() || character == '.'))
                    .count()
            };
            assert!(count_numbers(&answer) >= count_numbers(&full), "onoff {verb} at {columns}");
        }
        assert_eq!(folder.answer(&format!("{verb} --wide")).lines().count(), full.lines().count(), "{verb}");
    }
    insta::assert_snapshot!("boot_80", folder.answer("boot slow-boot.etl --width 80"));
    insta::assert_snapshot!("boot_120", folder.answer("boot slow-boot.etl --width 120"));
    insta::assert_snapshot!("diagnose_80", folder.answer("diagnose slow-boot.etl --width 80"));
    insta::assert_snapshot!("suspend_80", folder.answer("suspend slow-sleep.etl --width 80"));
    insta::assert_snapshot!("suspend_120", folder.answer("suspend slow-sleep.etl --width 120"));
}

#[test]
fn machine_formats_are_never_wrapped() {
    let folder = folder();
    for verb in
        ["boot slow-boot.etl --format json", "services slow-boot.etl --format csv", "boot slow-boot.etl --format xml"]
    {
        assert_eq!(folder.answer(verb), folder.answer(&format!("{verb} --width 40 --brief")), "{verb}");
    }
    let arguments = "events slow-boot.etl --event P-Start";
    assert_eq!(folder.answer(arguments), folder.answer(&format!("{arguments} --width 40 --brief")));
}

#[test]
fn brief_prints_at_most_five_lines() {
    let folder = folder();
    for verb in VERBS {
        let full = folder.answer(verb);
        let brief = folder.answer(&format!("{verb} --brief"));
        assert!(full.starts_with(&brief) && (1..=5).contains(&brief.lines().count()), "{verb}: {brief}");
    }
}

#[test]
fn display_options_work_before_and_after_verb() {
    let folder = folder();
    let uncolored = folder.answer("boot slow-boot.etl");
    assert!(!uncolored.contains('\u{1b}'));
    let colored = folder.answer("boot slow-boot.etl --color always");
    assert!(colored.contains('\u{1b}'));
    assert_eq!(folder.answer("--color always boot slow-boot.etl"), colored);
    assert_eq!(
        folder.answer("--color always --width 80 slow-boot.etl"),
        folder.answer("slow-boot.etl --width 80 --color always")
    );
    let run_with_color =
        |value: &str, arguments: &str| folder.command(arguments).env("ONOFF_COLOR", value).output().unwrap();
    assert_eq!(String::from_utf8(run_with_color("always", "boot slow-boot.etl").stdout).unwrap(), colored);
    assert_eq!(
        String::from_utf8(run_with_color("always", "boot slow-boot.etl --color never").stdout).unwrap(),
        uncolored
    );
    assert_eq!(String::from_utf8(run_with_color("", "boot slow-boot.etl").stdout).unwrap(), uncolored);
    assert_eq!(run_with_color("red", "boot slow-boot.etl").status.code(), Some(64));
}

#[test]
fn short_help_is_one_page_and_long_help_has_examples() {
    let folder = Folder::new();
    for verb in ["boot", "compare", "events", "cpu", "record", "netboot", "io"] {
        let short_help = folder.answer(&format!("{verb} -h"));
        let long_help = folder.answer(&format!("{verb} --help"));
        assert!(short_help.lines().count() <= 60, "{verb}: {} lines\n{short_help}", short_help.lines().count());
        assert!(!short_help.contains("Examples:") && short_help.contains("Use --help for"), "{verb}: {short_help}");
        assert!(long_help.contains("Examples:"), "{verb}");
    }
}
