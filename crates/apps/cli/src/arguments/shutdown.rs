//! The arguments of `onoff shutdown` as typed.

use clap::Args;

use super::{EXIT_CODES, OutputArguments, RecordingArguments, TransitionFormat};

/// Show where the time of a shutdown went: sessions, applications, services or units, the kernel, and what ran into a time-out
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff shutdown                            how the last boot of this Linux computer ended
  onoff shutdown shutdown.etl
  onoff shutdown kernel.etl user.etl        two logs of one shutdown
  onoff shutdown shutdown.etl --top 20      longer lists
  onoff shutdown shutdown.etl --service-timeout 12
  onoff shutdown shutdown.etl --format json | jq '.longest, .lacking.items'
  onoff shutdown shutdown.etl --format xml -o summary.xml
  onoff shutdown linux.tar.xz               Linux: units, processes, last program, kernel
  onoff shutdown last.export                Linux: the journal alone, 'journalctl -b -1 -o export'

A recording without the events of a shutdown, such as ShutdownCKCL.etl, is answered from
the ends of its processes, and says so. What it lacked, and how to record that next time,
stands at the end.

{EXIT_CODES}"))]
pub struct ShutdownArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// How to answer; csv is one row per phase, application, service and step
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TransitionFormat,

    /// How long the recorded computer waits for its services, in seconds: its WaitToKillServiceTimeout [default: 20 on
    /// Vista, 12 on Windows 7, 5 later]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub service_timeout: Option<i64>,

    /// Rows of each list of the text; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Seconds, with or without decimals, as nanoseconds: more than none, at most a day.
fn seconds(text: &str) -> Result<i64, String> {
    const DAY: f64 = 86_400.0;
    let seconds: f64 = text.parse().map_err(|_| "write seconds, as in 12 or 0.5".to_owned())?;
    if seconds > 0.0 && seconds <= DAY {
        #[allow(clippy::cast_possible_truncation, reason = "a day in nanoseconds fits, and below one nothing is meant")]
        Ok((seconds * 1e9).round() as i64)
    } else {
        Err("more than 0 s and at most a day".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_positive_and_finite() {
        assert_eq!(seconds("12"), Ok(12_000_000_000));
        assert_eq!(seconds("0.25"), Ok(250_000_000));
        for text in ["", "soon", "0", "-1", "NaN", "inf", "86401"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
