//! `-a stack`: modules and functions in call stacks.

use crate::layouts::stack::{write_butterfly, write_csv, write_xml};
use onoff_sections::json::escape::write_indented;
use onoff_usage::call_stacks::{StackFilter, butterfly, count, tables};
use regex_lite::{Regex, RegexBuilder};

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_scope;

pub const ACTION: Action = Action {
    name: "stack",
    summary: "modules in call stacks, with callers and callees (HTML, CSV, JSON, XML)",
    help: "  -butterfly [n]    HTML page of processes, modules, and functions with at least n hits, with their
                    callers and callees [default; n: 1]
  -export FORMAT    csv, json or xml
  -pid ID…          only these processes
  -tid ID…          only these threads
  -process RE       only processes whose image name matches this regular expression
  -symbol RE        only stacks with a module that matches
  -event RE         only stacks of matching events: SampledProfile, CSwitch, ReadyThread
  -range T1 T2      only this range
With -symbols before the action: names of functions. Exports count modules without it.",
    ..Action::with_parser(parse)
};

const NO_STACKS: &str = "no call stacks recorded; this needs stack walking for some event";

#[derive(Clone, Copy)]
enum OutputFormat {
    Butterfly(u64),
    Csv,
    Json,
    Xml,
}

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut format = OutputFormat::Butterfly(1);
    let (mut pids, mut tids) = (Vec::new(), Vec::new());
    let (mut process, mut module, mut event) = (None, None, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "butterfly" => format = OutputFormat::Butterfly(words.optional_number().unwrap_or(1)),
            "export" => format = export_format(words)?,
            "pid" => pids.extend(ids(words, &option)?),
            "tid" => tids.extend(ids(words, &option)?),
            "process" => process = Some(regular_expression(words, &option)?),
            "symbol" => module = Some(regular_expression(words, &option)?),
            "event" => event = Some(regular_expression(words, &option)?),
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::with_functions(tables(event.is_some()), move |trace, functions, out| {
        let range = resolve_scope(trace, range)?.range;
        let is_empty = trace.stacks.is_empty();
        let matches_process = process.as_ref().map(matcher);
        let matches_module = module.as_ref().map(matcher);
        let matches_event = event.as_ref().map(matcher);
        let filter = StackFilter {
            pids,
            tids,
            process: matches_process.as_ref().map(|predicate| predicate as _),
            module: matches_module.as_ref().map(|predicate| predicate as _),
            event: matches_event.as_ref().map(|predicate| predicate as _),
        };
        let check = |stacks: u64| match stacks {
            0 if !is_empty => Err(usage("no call stacks match these processes, threads, modules and events")),
            _ => Ok(()),
        };
        if let OutputFormat::Butterfly(min_hits) = format {
            let stacks = butterfly(trace, range, &filter, functions);
            check(stacks.stacks)?;
            write_butterfly(&stacks, min_hits, out)?;
            return no_data_if(is_empty, NO_STACKS);
        }
        let stacks = count(trace, range, &filter, functions);
        check(stacks.stacks)?;
        match format {
            OutputFormat::Butterfly(_) => {}
            OutputFormat::Csv => write_csv(&stacks, out)?,
            OutputFormat::Json => {
                write_indented(&stacks, out)?;
                writeln!(out)?;
            }
            OutputFormat::Xml => write_xml(&stacks, out)?,
        }
        no_data_if(is_empty, NO_STACKS)
    }))
}

fn matcher(expression: &Regex) -> impl Fn(&str) -> bool {
    |text| expression.is_match(text)
}

fn export_format(words: &mut Words) -> Result<OutputFormat, Failure> {
    let text = words.text("export", "a format")?;
    match text.to_ascii_lowercase().as_str() {
        "csv" => Ok(OutputFormat::Csv),
        "json" => Ok(OutputFormat::Json),
        "xml" => Ok(OutputFormat::Xml),
        _ => Err(usage(format!("-export: unknown format '{text}'; write csv, json or xml"))),
    }
}

fn ids(words: &mut Words, option: &str) -> Result<Vec<u32>, Failure> {
    let texts = words.list(option, "an id")?;
    // Both `-pid 1 2` and `-pid "1,2"` are in use.
    let texts = texts.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|text| !text.is_empty());
    let ids = texts.map(|text| text.parse().map_err(|_| usage(format!("-{option}: invalid id '{text}'"))));
    ids.collect()
}

/// Takes a case-insensitive regular expression.
fn regular_expression(words: &mut Words, option: &str) -> Result<Regex, Failure> {
    let text = words.text(option, "a regular expression")?;
    RegexBuilder::new(&text)
        .case_insensitive(true)
        .build()
        .map_err(|error| usage(format!("-{option}: '{text}': {error}")))
}
