//! `-a process`: the lives of processes.

use crate::layouts::process::{self, ProcessOptions};
use onoff_trace::{TableName, Tables};

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::scope_of;

pub const ACTION: Action = Action {
    name: "process",
    summary: "lives of processes, and of their threads and modules (text, µs)",
    help: "  -thread            threads under their process
  -image             modules under their process
  -tree              processes under their creator, not with -thread and -image
  -range T1 T2       only what lived in this time
  -withsid           the user's security identifier
  -withcmdline       the command line
  -vm                refused: allocations of memory are not read",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut range = None;
    let mut options = ProcessOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "thread" => options.threads = true,
            "image" => {
                options.images = true;
                // '-image detail' shows the same: every module has its row.
                words.skip_text("detail");
            }
            "tree" => options.tree = true,
            "range" => range = Some(words.range(&option)?),
            "withsid" | "withsids" => options.with_sid = true,
            "withcmdline" => options.with_command_line = true,
            "vm" => return Err(usage("-vm: allocations of memory are not read")),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if options.tree && (options.threads || options.images) {
        return Err(usage("-tree goes neither with -thread nor with -image"));
    }
    let mut wanted = Tables::of(&[TableName::Processes]);
    if options.threads {
        wanted = wanted.with(TableName::Threads);
    }
    if options.images {
        wanted = wanted.with(TableName::Images);
    }
    Ok(Question::tables(wanted, move |trace, out| {
        let scope = scope_of(trace, range)?;
        let nothing = trace.processes.is_empty();
        process::write(trace, scope.range, &options, out)?;
        no_data_if(nothing, "no process; this needs the kernel's process events")
    }))
}
