//! Which files a task reads and which it writes, so that none is both.

use std::path::PathBuf;

use onoff::{RunsQuestion, files_of_one_recording};
use onoff_output::Inputs;
use onoff_xperf::CommandLine;

use crate::failure::Failure;
use crate::invocation::diagnose::DiagnosisQuestion;
use crate::invocation::{Invocation, Task};

/// Refuses a task one of whose answers would replace what it reads.
pub fn refuse_overwriting(invocation: &Invocation) -> Result<(), Failure> {
    let inputs = Inputs::new(reads(invocation));
    let refused = |refusal: onoff_output::Refusal| Failure::WrongUsage(refusal.to_string());
    for output in writes(invocation) {
        inputs.refuse(&output).map_err(refused)?;
    }
    inputs.refuse_stdout().map_err(refused)
}

/// The files and folders that are read.
fn reads(invocation: &Invocation) -> Vec<PathBuf> {
    let mut paths = invocation.recording.files.clone();
    paths.extend_from_slice(&invocation.recording.options.manifests);
    paths.extend_from_slice(&invocation.recording.options.drivers);
    match &invocation.task {
        Task::Boot(_, _, beside) => paths.extend(beside.firmware.iter().chain(&beside.capture).cloned()),
        Task::Firmware(question) => {
            paths.extend(question.compare.clone());
            paths.extend_from_slice(&question.guids);
        }
        Task::Compare(question) => {
            paths.extend(question.study.clone());
            of_runs(&question.compared.runs, &mut paths);
        }
        Task::Io(question) => paths.extend(question.compare.clone()),
        Task::Diagnose(DiagnosisQuestion::Diagnose(_, image, _), _) => paths.extend_from_slice(image),
        Task::Image(question) => {
            paths.extend_from_slice(&question.paths);
            paths.extend(question.compare.clone());
            paths.extend(question.needed.clone());
        }
        Task::Prefetch(question) => paths.extend_from_slice(&question.paths),
        Task::Gate(question) => of_runs(&question.compared.runs, &mut paths),
        Task::View(question) => question.compared.iter().for_each(|compared| of_runs(&compared.runs, &mut paths)),
        Task::Xperf(CommandLine::Process(line)) => paths.extend_from_slice(&line.inputs),
        Task::Xperf(CommandLine::Merge(merging)) => paths.extend_from_slice(&merging.inputs),
        Task::ListBoots(_)
        | Task::BootHistory(..)
        | Task::Suspend(..)
        | Task::Shutdown(..)
        | Task::Diagnose(..)
        | Task::Summary(_)
        | Task::Info(_)
        | Task::Events(_)
        | Task::List(..)
        | Task::Functions(_)
        | Task::Netboot(..)
        | Task::Record(_)
        | Task::Collect(_)
        | Task::Export(_)
        | Task::Picture(_)
        | Task::Why(_)
        | Task::Overview
        | Task::Explain(_)
        | Task::Guide
        | Task::Mcp(_)
        | Task::Completions(_)
        | Task::Manual(_)
        | Task::Xperf(CommandLine::Help(_) | CommandLine::Providers) => {}
    }
    paths
}

fn of_runs(question: &RunsQuestion, paths: &mut Vec<PathBuf>) {
    paths.extend_from_slice(&question.reading.manifests);
    for path in question.configurations.iter().flat_map(|configuration| &configuration.paths) {
        paths.extend(files_of_one_recording(path));
    }
}

/// The files that answers go to.
fn writes(invocation: &Invocation) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = invocation.destination.path.iter().cloned().collect();
    match &invocation.task {
        Task::Gate(question) => paths.extend(question.save_baseline.clone()),
        Task::Xperf(CommandLine::Process(line)) => {
            paths.extend(line.output.clone());
            paths.extend(line.calls.iter().flat_map(|call| [call.output.clone(), call.errors.clone()]).flatten());
        }
        Task::Xperf(CommandLine::Merge(merging)) => paths.push(merging.output.clone()),
        Task::Io(question) => paths.extend(question.record.as_ref().and_then(|record| record.keep.clone())),
        _ => {}
    }
    paths
}
