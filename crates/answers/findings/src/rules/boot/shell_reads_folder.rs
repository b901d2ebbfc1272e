//! A shell that reads for long in one folder before it is ready.

use onoff_blame::waits::StepKind;
use onoff_transitions::PhaseName;

use crate::rules::prelude::*;
use onoff_usage::storage::DrivePaths;

rule! {
    /// # What it finds
    /// Reads of the shell's process in one folder that take 2 s or more, and 30 % or more of its start.
    ///
    /// # Why it costs time
    /// The desktop is not ready before the shell has read what it wants: icons, thumbnails, a desktop with thousands of files, a shell
    /// extension's data.
    ///
    /// # Evidence needed
    /// Disk requests with their files and processes: the kernel's flags DISK_IO and FILENAME.
    ///
    /// # What to do
    /// Look whose folder it is: move files off the desktop, rebuild the icon cache, remove the shell extension that reads there.
    ///
    /// # When it is wrong
    /// Reads of other threads of the shell count as well, though the desktop may not wait for them.
    ///
    /// # Source
    /// A user's complaint of a shell that read 17 s in one folder; the limits are onoff's.
    "boot/shell-reads-folder", "a shell that reads for long in one folder", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs_kernel("DISK_IO")?;
    let Some((_, (start, end))) = facts.phase(PhaseName::ExplorerInit) else { return Ok(Vec::new()) };
    // By file first: there are fewer distinct files than requests, and their folders are worked out once.
    let mut files: Vec<(onoff_trace::StringId, i64, u64)> = facts
        .trace
        .disk_ios
        .iter()
        .filter(|row| row.complete_ns > start && row.complete_ns <= end && !row.file.is_empty())
        .filter(|row| {
            row.pid
                .and_then(|pid| facts.images.at(pid, row.complete_ns))
                .is_some_and(|image| image.eq_ignore_ascii_case(facts.shell))
        })
        .map(|row| (row.file, row.service_ns, 1))
        .collect();
    files.sort_by_key(|row| row.0);
    files.dedup_by(|row, kept| {
        let same = row.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(row.1);
            kept.2 += row.2;
        }
        same
    });
    // Its own image is read in every start.
    files.retain(|row| !file_name(facts.trace.text(row.0)).eq_ignore_ascii_case(facts.shell));
    let mut folders: Vec<(&str, i64, u64, usize)> =
        files.iter().map(|&(file, ns, requests)| (folder(facts.trace.text(file)), ns, requests, 1)).collect();
    folders.sort_by_key(|row| row.0);
    folders.dedup_by(|row, kept| {
        let same = row.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(row.1);
            kept.2 += row.2;
            kept.3 += row.3;
        }
        same
    });
    let length = end.saturating_sub(start);
    let paths = DrivePaths::of(facts.trace);
    let enough = |ns: i64| {
        ns >= thresholds::FOLDER_READS_NS && ns as f64 * 100.0 >= thresholds::FOLDER_READS_PERCENT * length as f64
    };
    Ok(folders
        .into_iter()
        .filter(|&(_, ns, _, _)| enough(ns))
        .map(|(name, ns, requests, files)| {
            let readable = paths.readable(name);
            let name = readable.as_ref();
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::File, name),
                format!(
                    "{} reads for {} in {name} before the desktop is ready",
                    facts.shell,
                    time(ns)
                ),
            )
            .costs(match &facts.path {
                Some(path) => path.cost(&[(start, end)], |step| {
                    step.kind == StepKind::Disk && folder(&step.detail) == name
                }),
                None => Cost::at_most(ns.min(length)),
            })
            .because(
                start,
                format!("{requests} requests to {} there, of the {} that its start takes", counted(files, "file"), time(length)),
            )
            .advise(
                "see whose folder it is: clear it out, rebuild the cache in it, or remove the shell extension that reads it",
            )
        })
        .collect())
}
