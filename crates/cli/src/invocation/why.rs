//! What the arguments of `onoff why` mean.

use super::symbols::SymbolTask;
use super::{Invocation, Task};
use crate::arguments::why::{WhyArguments, WhyFormat as Typed};
use crate::failure::Failure;
use onoff_analysis::waits::PathOptions;
use onoff_analysis::why::{About, WhyQuestion};
use onoff_report::text::time_point::TimePoint;
use onoff_report::text::why::WhyTextOptions;
use onoff_sources::Pattern;

/// How to show why something took long.
#[derive(Clone, Copy, Debug)]
pub enum WhyFormat {
    /// For a person.
    Text(WhyTextOptions),
    /// For a program.
    Json,
    /// For flame graphs.
    Folded,
    /// A picture of the chain.
    Svg,
    /// A flame graph.
    FlameGraph,
}

/// What to explain; a time waits for the recording's clock.
#[derive(Debug)]
pub struct WhyTask {
    /// The question, but for the time.
    pub question: WhyQuestion,
    /// The time.
    pub at: Option<TimePoint>,
    /// The name of the phase in which it was under way.
    pub phase: Option<String>,
    /// Where symbols lie.
    pub symbols: SymbolTask,
    /// How to show the answer.
    pub format: WhyFormat,
}

/// All steps: a flame graph is made of every one.
const EVERY_STEP: PathOptions = PathOptions { shortest_ns: 0, most_steps: 1 << 22 };

/// Settles what the arguments mean.
pub fn resolve(arguments: WhyArguments) -> Result<Invocation, Failure> {
    let symbols = SymbolTask::resolve(arguments.symbols);
    let at = match &arguments.at {
        Some(text) => Some(TimePoint::parse(text).ok_or_else(|| {
            Failure::NothingToAnswer(format!(
                "--at: '{text}' is no time; write 1234us, 245ms, 12.5s or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]"
            ))
        })?),
        None => None,
    };
    let phase = arguments.phase.clone();
    let pattern = |text: Option<String>| text.map(|text| Pattern::new(&text));
    let about = if let Some(process) = pattern(arguments.process) {
        About::Process(process)
    } else if let Some(tid) = arguments.thread {
        About::Thread(tid)
    } else if let Some(service) = pattern(arguments.service) {
        About::Service(service)
    } else if let Some(device) = pattern(arguments.device) {
        About::Device(device)
    } else if arguments.phase.as_ref().is_some_and(String::is_empty) {
        About::LongestPhase(arguments.transition)
    } else {
        About::Phase(pattern(arguments.phase), arguments.transition)
    };
    let (format, path) = match arguments.format {
        Typed::Text => {
            let options = WhyTextOptions { steps: arguments.steps, ..WhyTextOptions::default() };
            let path = PathOptions { shortest_ns: 0, ..PathOptions::default() };
            (WhyFormat::Text(options), path)
        }
        Typed::Json => (WhyFormat::Json, PathOptions::default()),
        Typed::Folded => (WhyFormat::Folded, EVERY_STEP),
        Typed::Svg => (WhyFormat::Svg, EVERY_STEP),
        Typed::Flamegraph => (WhyFormat::FlameGraph, EVERY_STEP),
    };
    let question = WhyQuestion {
        about,
        at_ns: None,
        within: None,
        min_ns: i64::from(arguments.min) * 1_000_000,
        top: Some(arguments.top),
        waits_for_work: arguments.idle,
        path,
    };
    let phase = phase.filter(|_| !matches!(question.about, About::Phase(..) | About::LongestPhase(_)));
    Ok(Invocation {
        task: Task::Why(WhyTask { question, at, phase, symbols, format }),
        recording: arguments.recording.into(),
        destination: arguments.output.into(),
    })
}
