//! `-a process`: processes, with start and end.

use crate::layouts::process::{self, ProcessOptions};
use onoff_trace::{TableName, TableSet};

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_scope;

pub const ACTION: Action = Action {
    name: "process",
    summary: "processes with start and end, and their threads and modules (text, µs)",
    help: "  -thread            list threads under their process
  -image             list modules under their process
  -tree              list processes under their parent; not with -thread or -image
  -range T1 T2       only processes, threads and modules alive in this range
  -withsid           show the user's security identifier
  -withcmdline       show the command line
  -vm                not supported",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut options = ProcessOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "thread" => options.threads = true,
            "image" => {
                options.images = true;
                // '-image detail' shows the same; each module has a row anyway.
                words.skip_text("detail");
            }
            "tree" => options.tree = true,
            "range" => range = Some(words.range(&option)?),
            "withsid" | "withsids" => options.with_sid = true,
            "withcmdline" => options.with_command_line = true,
            "vm" => return Err(usage("-vm is not supported: memory allocations are not analyzed")),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if options.tree && (options.threads || options.images) {
        return Err(usage("-tree cannot be combined with -thread or -image"));
    }
    let mut wanted = TableSet::from_names(&[TableName::Processes]);
    if options.threads {
        wanted = wanted.with(TableName::Threads);
    }
    if options.images {
        wanted = wanted.with(TableName::Images);
    }
    Ok(Query::tables(wanted, move |trace, out| {
        let scope = resolve_scope(trace, range)?;
        let is_empty = trace.processes.is_empty();
        process::write(trace, scope.range, &options, out)?;
        no_data_if(is_empty, "no processes recorded; this needs the kernel's process events")
    }))
}
