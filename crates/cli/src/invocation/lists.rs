//! The verbs that list rows of any range.

use onoff::{List, ListQuestion};
use onoff_analysis::lists::functions::{CodeGroup, TimeOf};

use super::symbols::SymbolTask;
use super::{Invocation, Task, table};
use crate::arguments::cpu::Of;
use crate::arguments::storage::Grouping;
use crate::arguments::symbols::SymbolArguments;
use crate::arguments::table::{TableArguments, TableFormat};
use crate::arguments::{OutputArguments, RecordingArguments};
use crate::failure::Failure;

/// In which functions time went.
#[derive(Debug)]
pub struct FunctionTask {
    /// What took the time.
    pub of: TimeOf,
    /// What rows are grouped by.
    pub by: Vec<CodeGroup>,
    /// Which rows, of which part.
    pub question: ListQuestion,
    /// How.
    pub format: TableFormat,
    /// Where names come from.
    pub symbols: SymbolTask,
}

/// What a verb says of code, where its rows are grouped by code.
pub(super) struct CodeQuestion {
    of: TimeOf,
    symbols: SymbolArguments,
    /// Whether this was said on the command line, so that it must not be ignored.
    is_chosen: bool,
}

impl CodeQuestion {
    pub(super) fn of(of: TimeOf, symbols: SymbolArguments) -> Self {
        Self { of, symbols, is_chosen: false }
    }

    pub(super) fn of_processors(of: Option<Of>, symbols: SymbolArguments) -> Self {
        Self { of: of.map_or(TimeOf::Samples, Into::into), symbols, is_chosen: of.is_some() }
    }
}

/// What a list is grouped by.
pub(super) struct Groups<K> {
    pub(super) by: Vec<Grouping<K>>,
    /// The key that goes with code.
    pub(super) process: K,
    /// The list by keys.
    pub(super) list: fn(Vec<K>) -> List,
}

impl Invocation {
    /// Settles what the arguments of such a verb mean.
    pub(super) fn list(
        list: List,
        recording: RecordingArguments,
        table: TableArguments,
        output: OutputArguments,
    ) -> Result<Self, Failure> {
        let (question, format) = table::resolve(table)?;
        let format = table::without_picture(format)?;
        Ok(Self { task: Task::List(list, question, format), recording: recording.into(), destination: output.into() })
    }

    /// The same of a verb whose rows are also grouped by code: by keys of the list or by code, which a process may come with. Pictures
    /// show processes and their call stacks.
    pub(super) fn list_or_functions<K: Copy + PartialEq>(
        Groups { by, process, list }: Groups<K>,
        code: CodeQuestion,
        recording: RecordingArguments,
        table: TableArguments,
        output: OutputArguments,
    ) -> Result<Self, Failure> {
        let refused = |message: &str| Err(Failure::WrongUsage(message.to_owned()));
        let (question, format) = table::resolve(table)?;
        let groups: Vec<CodeGroup> = by
            .iter()
            .filter_map(|&by| match by {
                Grouping::Code(group) => Some(group),
                Grouping::Key(key) => (key == process).then_some(CodeGroup::Process),
            })
            .collect();
        let has_code = by.iter().any(|by| matches!(by, Grouping::Code(_)));
        if !has_code && !format.is_picture() {
            if code.is_chosen {
                return refused("--of: it is about '--by module', 'function' or 'stack', and about pictures");
            }
            if code.symbols.symbols.is_some() {
                return refused("--symbols: they name functions: add '--by function' or '--by stack'");
            }
            let keys = by.into_iter().filter_map(|by| match by {
                Grouping::Key(key) => Some(key),
                Grouping::Code(_) => None,
            });
            let task = Task::List(list(keys.collect()), question, format);
            return Ok(Self { task, recording: recording.into(), destination: output.into() });
        }
        if groups.len() < by.len() || groups.iter().filter(|&&group| group != CodeGroup::Process).count() > 1 {
            return refused("--by: 'module', 'function' or 'stack', and every picture, go with 'process' only");
        }
        let task =
            FunctionTask { of: code.of, by: groups, question, format, symbols: SymbolTask::resolve(code.symbols) };
        Ok(Self { task: Task::Functions(task), recording: recording.into(), destination: output.into() })
    }
}
