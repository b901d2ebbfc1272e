//! A shell that spends a long time reading one folder before it is ready.

use onoff_blame::waits::StepKind;
use onoff_transitions::PhaseName;

use crate::disk_waits::is_page_file;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Shell reads from one folder that take 2 s or more, and at least 30 % of the shell's start.
    ///
    /// # Why it costs time
    /// The desktop is not ready until the shell has read what it needs: icons, thumbnails, a desktop with thousands of
    /// files, or a shell extension's data.
    ///
    /// # Evidence needed
    /// Disk requests with file and process: kernel flags DISK_IO and FILENAME.
    ///
    /// # What to do
    /// Find out what uses the folder: move files off the desktop, rebuild the icon cache, or remove the shell extension
    /// that reads there.
    ///
    /// # When it is wrong
    /// Reads by other shell threads count too, although the desktop may not wait for them.
    ///
    /// # Source
    /// A user report of a shell that read from one folder for 17 s; the thresholds are onoff's.
    "boot/shell-reads-folder", "a shell that spends a long time reading one folder", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_kernel_flag("DISK_IO")?;
    let Some((_, (start, end))) = facts.phase(PhaseName::ExplorerInit) else { return Ok(Vec::new()) };
    // Group by file first: there are fewer files than requests, so each folder is computed only once per file.
    let mut files: Vec<(onoff_trace::StringId, i64, u64)> = facts
        .trace
        .disk_ios
        .iter()
        .filter(|row| row.complete_ns > start && row.complete_ns <= end && !row.file.is_empty())
        .filter(|row| {
            row.pid
                .and_then(|pid| facts.images.image_at(pid, row.complete_ns))
                .is_some_and(|image| image.eq_ignore_ascii_case(facts.shell))
        })
        .map(|row| (row.file, row.service_ns, 1))
        .collect();
    files.sort_by_key(|&(file, _, _)| file);
    files.dedup_by(|&mut (file, ns, requests), (kept_file, kept_ns, kept_requests)| {
        let is_same = file == *kept_file;
        if is_same {
            *kept_ns = kept_ns.saturating_add(ns);
            *kept_requests += requests;
        }
        is_same
    });
    // Every start reads the shell's own image; pages of programs are not read by choice.
    files.retain(|&(file, _, _)| {
        let name = file_name(facts.trace.text(file));
        !name.eq_ignore_ascii_case(facts.shell) && !is_page_file(name)
    });
    let mut folders: Vec<(&str, i64, u64, usize)> =
        files.iter().map(|&(file, ns, requests)| (folder(facts.trace.text(file)), ns, requests, 1)).collect();
    folders.sort_by_key(|&(name, ..)| name);
    folders.dedup_by(|&mut (name, ns, requests, files), (kept_name, kept_ns, kept_requests, kept_files)| {
        let is_same = name == *kept_name;
        if is_same {
            *kept_ns = kept_ns.saturating_add(ns);
            *kept_requests += requests;
            *kept_files += files;
        }
        is_same
    });
    let length = end.saturating_sub(start);
    let paths = &facts.trace.system.drive_paths;
    let is_long = |ns: i64| {
        ns >= thresholds::FOLDER_READS_NS && ns as f64 * 100.0 >= thresholds::FOLDER_READS_PERCENT * length as f64
    };
    Ok(folders
        .into_iter()
        .filter(|&(_, ns, _, _)| is_long(ns))
        .map(|(name, ns, requests, files)| {
            let readable = paths.readable(name);
            let name = readable.as_ref();
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::File, name),
                format!(
                    "{} read from {name} for {} before the desktop was ready",
                    facts.shell,
                    time(ns)
                ),
            )
            .cost(match &facts.path {
                Some(path) => path.cost(&[(start, end)], |step| {
                    step.kind == StepKind::Disk && folder(&step.detail) == name
                }),
                None => Cost::at_most(ns.min(length)),
            })
            .evidence(
                start,
                format!("{requests} requests to {} in this folder; the shell took {} to start", counted(files, "file"), time(length)),
            )
            .advice(
                "find out what uses the folder, then clean it up, rebuild the cache in it, or remove the shell extension that reads it",
            )
        })
        .collect())
}
