//! `-a drvdelay`: time that drivers spent on requests.

use crate::event_analyses::driver_calls::{DriverCallListener, EVENTS};
use crate::layouts::driver_delays;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "drvdelay",
    summary: "time that drivers spent on requests, by driver and call (text, µs)",
    help: "  -min N         hide calls shorter than N µs [default: 0]
  -name DRIVER   only this driver, with or without .sys
  -range T1 T2   only calls in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let (mut min_ns, mut name, mut range) = (0, None, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "min" => min_ns = words.duration(&option)?,
            "name" => name = Some(words.text(&option, "a driver")?),
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let collector = DriverCallListener::new(min_ns, name.as_deref());
    Ok(Query::collect_events(&EVENTS, range, collector, DriverCallListener::take, |collector, out| {
        let driver_calls = collector.finish();
        let is_empty = driver_calls.drivers.is_empty() && driver_calls.unfinished == 0;
        driver_delays::write(&driver_calls, out)?;
        no_data_if(
            is_empty,
            "no matching driver calls recorded; this needs the kernel's driver events (xperf -on DRIVERS)",
        )
    }))
}
