//! Real plans (not in the repository), compared with the results of libscca.

use onoff_prefetch::read_plan;
use onoff_testkit::real_recordings::samples_folder;
use serde_json::Value;

/// Converts to microseconds since 1970: `yyyy-mm-dd hh:mm:ss.ffffff`.
fn unix_us(text: &str) -> i64 {
    let number = |start: usize, end: usize| text[start..end].parse::<i64>().unwrap();
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    // Days from the civil date. Years start in March, so that a leap day is the last day of a year.
    let (shifted_year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        shifted_year * 365 + shifted_year / 4 - shifted_year / 100 + shifted_year / 400 + (month * 153 + 2) / 5 + day
            - 1
            - 719_468;
    let seconds = (number(11, 13) * 60 + number(14, 16)) * 60 + number(17, 19);
    (days * 86_400 + seconds) * 1_000_000 + number(20, 26)
}

#[test]
fn plans_match_libscca() {
    let Some(folder) = samples_folder("prefetch") else {
        return;
    };
    let manifest: Value = serde_json::from_slice(&std::fs::read(folder.join("MANIFEST.json")).unwrap()).unwrap();
    let (mut plan_count, mut compressed_count) = (0, 0);
    let mut versions = std::collections::BTreeSet::new();
    for row in manifest.as_array().unwrap() {
        // The list has more plans than the folder.
        let name = row[0].as_str().unwrap();
        let Ok(bytes) = std::fs::read(folder.join(name)) else { continue };
        let plan = read_plan(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(u64::from(plan.version), row[1].as_u64().unwrap(), "{name}");
        assert_eq!(plan.is_compressed, row[2].as_bool().unwrap(), "{name}");
        assert_eq!(plan.executable, row[3].as_str().unwrap(), "{name}");
        assert_eq!(u64::from(plan.run_count), row[4].as_u64().unwrap(), "{name}");
        assert_eq!(plan.files.len() as u64, row[5].as_u64().unwrap(), "{name}");
        assert_eq!(plan.volumes.len() as u64, row[6].as_u64().unwrap(), "{name}");
        assert_eq!(plan.last_runs_unix_ns[0] / 1000, unix_us(row[7].as_str().unwrap()), "{name}");
        assert_eq!(plan.unreadable, 0, "{name}");
        // The file name of the plan ends with the hash.
        assert!(name.ends_with(&format!("{:08X}.pf", plan.path_hash)), "{name}: {:08X}", plan.path_hash);
        assert!(plan.files.iter().all(|file| file.path.starts_with('\\')), "{name}");
        // A second volume may have no directories.
        assert!(plan.volumes.iter().any(|volume| !volume.folders.is_empty()), "{name}");
        versions.insert(plan.version);
        compressed_count += usize::from(plan.is_compressed);
        plan_count += 1;
    }
    println!("{plan_count} plans, {compressed_count} of them compressed, versions {versions:?}");
    assert!(plan_count >= 30 && compressed_count >= 10 && versions.len() >= 4);
}
