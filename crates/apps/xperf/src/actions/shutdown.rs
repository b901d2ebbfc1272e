//! `-a shutdown`: summary of a shutdown as XML.

use crate::layouts::shutdown_xml::{self, ShutdownXmlOptions};
use onoff_report::text;
use onoff_transitions::shutdown::{self, ShutdownOptions};

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "shutdown",
    summary: "summary of a shutdown: sessions, applications, services (XML, ms)",
    help: "  -minCPUToShow N     hide processes below N % of an interval's CPU time
  -maxFilesToShow N   show at most N files and N extensions per interval",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut xml_options = ShutdownXmlOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "mincputoshow" => {
                xml_options.min_cpu_percent = words.number(&option)?;
                if !(0.0..=100.0).contains(&xml_options.min_cpu_percent) {
                    return Err(usage("-minCPUToShow: write a percentage from 0 to 100"));
                }
            }
            "maxfilestoshow" => xml_options.max_files = Some(words.number(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::tables(shutdown::TABLES, move |trace, out| {
        let report = shutdown::analyze(trace, &ShutdownOptions::default())
            .map_err(|error| Failure::Unanswerable(text::shutdown::no_shutdown(&error)))?;
        Ok(shutdown_xml::write(&report, &xml_options, out)?)
    }))
}
