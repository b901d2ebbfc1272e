//! `-a drvdelay`: how long drivers kept requests.

use crate::collected::driver_calls::{DriverCallListener, EVENTS};
use crate::layouts::driver_delays;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "drvdelay",
    summary: "how long drivers kept requests, by driver and call (text, µs)",
    help: "  -min N         list only calls that took N µs or more [default: 0]
  -name DRIVER   only this driver, with or without .sys
  -range T1 T2   only calls in this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let (mut shortest_ns, mut name, mut range) = (0, None, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "min" => shortest_ns = words.span(&option)?,
            "name" => name = Some(words.text(&option, "a driver")?),
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let taker = DriverCallListener::new(shortest_ns, name.as_deref());
    Ok(Question::collected(&EVENTS, range, taker, DriverCallListener::take, |taker, out| {
        let answer = taker.finish();
        let nothing = answer.drivers.is_empty() && answer.unfinished == 0;
        driver_delays::write(&answer, out)?;
        no_data_if(nothing, "no call of a driver matches; this needs the kernel's driver events (xperf -on DRIVERS)")
    }))
}
