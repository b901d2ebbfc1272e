//! `-a stack`: through which modules call stacks go.

use crate::layouts::stack::{write_butterfly, write_csv, write_xml};
use onoff_sections::json::escape::write_indented;
use onoff_usage::call_stacks::{StackFilter, count, tables};
use regex_lite::{Regex, RegexBuilder};

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::scope_of;

pub const ACTION: Action = Action {
    name: "stack",
    summary: "through which modules call stacks go, with callers and callees (HTML, CSV, JSON, XML)",
    help: "  -butterfly [n]    a page with each module between its callers and callees, from n hits on (1); the default
  -export FORMAT    csv, json or xml
  -pid ID…          only these processes
  -tid ID…          only these threads
  -process RE       only processes whose image matches this regular expression
  -symbol RE        only stacks through a module that matches
  -event RE         only stacks of events that match: SampledProfile, CSwitch, ReadyThread
  -range T1 T2      only this time
                    with -symbols before the action, through which functions",
    ..Action::of(parse)
};

#[derive(Clone, Copy)]
enum Form {
    Butterfly(u64),
    Csv,
    Json,
    Xml,
}

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut range = None;
    let mut form = Form::Butterfly(1);
    let (mut pids, mut tids) = (Vec::new(), Vec::new());
    let (mut process, mut module, mut event) = (None, None, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "butterfly" => form = Form::Butterfly(words.optional_number().unwrap_or(1)),
            "export" => form = export(words)?,
            "pid" => pids.extend(ids(words, &option)?),
            "tid" => tids.extend(ids(words, &option)?),
            "process" => process = Some(expression(words, &option)?),
            "symbol" => module = Some(expression(words, &option)?),
            "event" => event = Some(expression(words, &option)?),
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Question::of_functions(tables(event.is_some()), move |trace, functions, out| {
        let range = scope_of(trace, range)?.range;
        let nothing = trace.stacks.is_empty();
        let is_process = process.as_ref().map(test);
        let is_module = module.as_ref().map(test);
        let is_event = event.as_ref().map(test);
        let filter = StackFilter {
            pids,
            tids,
            process: is_process.as_ref().map(|test| test as _),
            module: is_module.as_ref().map(|test| test as _),
            event: is_event.as_ref().map(|test| test as _),
        };
        let found = count(trace, range, &filter, functions);
        if found.stacks == 0 && !nothing {
            return Err(usage("no call stack of the recording is of these processes, threads, modules and events"));
        }
        match form {
            Form::Butterfly(minimum) => write_butterfly(&found, minimum, out)?,
            Form::Csv => write_csv(&found, out)?,
            Form::Json => {
                write_indented(&found, out)?;
                writeln!(out)?;
            }
            Form::Xml => write_xml(&found, out)?,
        }
        no_data_if(nothing, "no call stack; this needs stack walking of some event")
    }))
}

fn test(expression: &Regex) -> impl Fn(&str) -> bool {
    |text| expression.is_match(text)
}

fn export(words: &mut Words) -> Result<Form, Failure> {
    let text = words.text("export", "a format")?;
    match text.to_ascii_lowercase().as_str() {
        "csv" => Ok(Form::Csv),
        "json" => Ok(Form::Json),
        "xml" => Ok(Form::Xml),
        _ => Err(usage(format!("-export: '{text}' is no format; there are csv, json and xml"))),
    }
}

fn ids(words: &mut Words, option: &str) -> Result<Vec<u32>, Failure> {
    let texts = words.list(option, "an id")?;
    let ids = texts.iter().map(|text| text.parse().map_err(|_| usage(format!("-{option}: '{text}' is no id"))));
    ids.collect()
}

/// A regular expression, compared without case.
fn expression(words: &mut Words, option: &str) -> Result<Regex, Failure> {
    let text = words.text(option, "a regular expression")?;
    RegexBuilder::new(&text)
        .case_insensitive(true)
        .build()
        .map_err(|error| usage(format!("-{option}: '{text}': {error}")))
}
