//! The arguments of `onoff shutdown`.

use clap::Args;

use super::{EXIT_CODES, OutputArguments, RecordingArguments, TransitionFormat};

/// Show where the time of a shutdown went: sessions, applications, services or units, kernel, timeouts
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff shutdown                         this computer's last shutdown
  onoff shutdown shutdown.etl
  onoff shutdown kernel.etl user.etl     two logs of one shutdown
  onoff shutdown shutdown.etl winevt/Logs   with Windows' own account of it
  onoff shutdown shutdown.etl --top 20   longer lists
  onoff shutdown shutdown.etl --service-timeout 12
  onoff shutdown shutdown.etl --format json |
      jq '.longest, .missing_evidence.items'
  onoff shutdown shutdown.etl --format xml -o summary.xml
  onoff shutdown linux.tar.xz            Linux: trace, logs, systemd output
  onoff shutdown last.export             Linux: journalctl -b -1 -o export

If a recording has no shutdown events (ShutdownCKCL.etl, for example), the phases are inferred from \
process exits, and the report says so. The report ends with what was not recorded and how to record it.

{EXIT_CODES}"))]
pub struct ShutdownArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Output format; csv is one row per phase, application, service and step
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TransitionFormat,

    /// Service shutdown timeout of the recorded computer in seconds (WaitToKillServiceTimeout) [default: 20 on Vista,
    /// 12 on Windows 7, 5 on later versions]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub service_timeout: Option<i64>,

    /// Rows per list in text; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    /// For Windows event logs, replace names of computers and accounts, addresses and security identifiers; each is
    /// replaced the same way everywhere
    #[arg(long)]
    pub redact: bool,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Parses seconds, with or without decimals, into nanoseconds; more than zero and at most a day.
fn seconds(text: &str) -> Result<i64, String> {
    const DAY: f64 = 86_400.0;
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds; use 12 or 0.5".to_owned())?;
    if seconds > 0.0 && seconds <= DAY {
        #[allow(clippy::cast_possible_truncation, reason = "a day in nanoseconds fits in i64")]
        Ok((seconds * 1e9).round() as i64)
    } else {
        Err("must be more than 0 s and at most a day".to_owned())
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
