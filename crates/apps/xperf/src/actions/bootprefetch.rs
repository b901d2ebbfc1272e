//! `-a bootprefetch`: what the boot's read-ahead did.

use crate::boot_prefetch;
use crate::collected::ready_boot::{EVENTS, ReadyBoot};
use crate::layouts::boot_prefetch as report;
use onoff_report::text;
use onoff_transitions::boot::{self, BootOptions};

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "bootprefetch",
    aliases: &["readyboot"],
    summary: "what the boot's read-ahead did, by phase and disk (text, s)",
    help: "  -summary       read ahead, missed and written in each phase [default]
  -disktime      what the time of each disk went into during the boot
  -events        the requests that the read-ahead looked at, and its own sums
  -range T1 T2   only requests in this time, with -events",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let (mut summary, mut disk_time, mut events, mut range) = (false, false, false, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "summary" => summary = true,
            "disktime" => disk_time = true,
            "events" => events = true,
            "range" => range = Some(words.range(&option)?),
            "pattern" | "type" => {
                return Err(usage(format!(
                    "-a bootprefetch -{option}: which request was a hit or a miss is not published, so it cannot be asked for"
                )));
            }
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if events {
        if summary || disk_time {
            return Err(usage("-a bootprefetch: -events stands alone; ask for the others in an action of their own"));
        }
        return Ok(Question::collected(&EVENTS, range, ReadyBoot::default(), ReadyBoot::take, |said, out| {
            if said.requests.is_empty() && said.sums.is_none() {
                return Err(usage(
                    "no request of the read-ahead; this needs Microsoft-Windows-ReadyBoostDriver (keyword 0x20) and \
                     Microsoft-Windows-ReadyBoost",
                ));
            }
            Ok(report::write_events(&said, out)?)
        }));
    }
    if range.is_some() {
        return Err(usage("-a bootprefetch: -range is about -events"));
    }
    Ok(Question::tables(boot::TABLES, move |trace, out| {
        let boot = boot::analyze(trace, &BootOptions::default())
            .map_err(|answer| Failure::NothingToAnswer(text::boot::no_boot(&answer)))?;
        if trace.disk_ios.is_empty() {
            return Err(usage(super::NO_DISK_REQUESTS));
        }
        let answer = boot_prefetch::of_boot(trace, &boot);
        if summary || !disk_time {
            report::write_summary(&answer, out)?;
        }
        if disk_time {
            report::write_disk_time(&answer, out)?;
        }
        Ok(())
    }))
}
