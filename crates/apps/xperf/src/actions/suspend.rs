//! `-a suspend`: power transitions as XML.

use crate::layouts::suspend_xml::{self, MAX_DECIMALS, SuspendXmlOptions};
use crate::layouts::time_unit::TimeUnit;
use onoff_transitions::suspend::{self, SuspendOptions};

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "suspend",
    summary: "sleep, hibernation and resume: totals, applications, services, devices (XML, µs)",
    help: "  -summary           all power transitions in the recording [default]
  -timeunit U [P]    unit of times: ns, us, ms or s, with P decimals [default: us 0]
  -min D             hide applications, services and devices that took less than 1234[s|ms|us|ns]",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut xml_options = SuspendXmlOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "summary" => {}
            "timeunit" => {
                let text = words.text(&option, "a unit")?;
                xml_options.unit = TimeUnit::parse(&text)
                    .ok_or_else(|| usage(format!("-timeunit: invalid unit '{text}'; write ns, us, ms or s")))?;
                xml_options.decimals = words.optional_number().unwrap_or(0);
                if xml_options.decimals > MAX_DECIMALS {
                    return Err(usage(format!("-timeunit: at most {MAX_DECIMALS} decimals")));
                }
            }
            "min" => xml_options.min_ns = words.duration(&option)?,
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::tables(suspend::TABLES, move |trace, out| {
        let report = suspend::analyze(trace, &SuspendOptions::default())
            .map_err(|error| Failure::Unanswerable(error.to_string()))?;
        Ok(suspend_xml::write(&report, &xml_options, out)?)
    }))
}
