//! The arguments of `onoff netboot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onoff_network::outcome::Verdict;

use super::{EXIT_CODES, OutputArguments};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NetbootOutput {
    /// For people: summary, stages, files, what to fix
    Text,
    /// For programs; names are documented and stable
    Json,
    /// One row per stage, transfer and download
    Csv,
    /// A picture of the stages
    Svg,
}

/// The outcome that a boot must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExpectedOutcome {
    /// All boot files were loaded
    Loaded,
    /// The boot failed
    Failed,
}

impl ExpectedOutcome {
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Loaded => Verdict::Loaded,
            Self::Failed => Verdict::Failed,
        }
    }
}

/// Show where the time of a network boot went, from a packet capture: DHCP, TFTP and HTTP transfers, what to fix
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff netboot boot.pcapng
  onoff netboot boot.pcap.xz --client 52:54:00:77:00:01
  onoff netboot pktmon.etl      packets logged by Windows
  onoff netboot ring_*.pcapng   files of one capture, in any order
  onoff netboot boot.pcap --link-rate 100M --top 20
  onoff netboot boot.pcap --window 16 --rtt 5ms   estimate with other settings
  onoff netboot boot.pcap --format svg -o boot.svg
  onoff netboot boot.pcap --expect loaded   test a boot server
  onoff netboot boot.pcap --format json |
      jq '.boots[].transfers[] | {{file, duration_ns}}'

Capture full frames, preferably on the server or a mirror port:
  tcpdump -i eth0 -s 0 -w boot.pcap \\
      'port 67 or port 68 or port 4011 or udp or tcp'

{EXIT_CODES}"))]
pub struct NetbootArguments {
    /// The capture: pcap, pcapng or an event trace log with packets (pktmon, netsh trace), optionally compressed (.xz,
    /// .gz, .zst, .zip). Several files are read as one capture, as written by a ring buffer of files
    #[arg(required = true, value_name = "CAPTURE")]
    pub files: Vec<PathBuf>,

    /// Only this client: MAC or IP address
    #[arg(long, value_name = "MAC|IP")]
    pub client: Option<String>,

    /// Link speed of the client in bits per second
    #[arg(long, value_name = "RATE", default_value = "1G")]
    pub link_rate: String,

    /// Estimate the time with this many blocks per acknowledgment
    #[arg(long, value_name = "BLOCKS")]
    pub window: Option<u32>,

    /// Estimate the time with blocks of this many bytes
    #[arg(long, value_name = "BYTES")]
    pub block: Option<u32>,

    /// Estimate the time with this network round-trip time, such as 5ms
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<String>,

    /// Estimate the time with this block loss rate, such as 0.5%
    #[arg(long, value_name = "PERCENT")]
    pub loss: Option<String>,

    /// Exit with code 1 if a boot has another outcome, with code 2 if its outcome is not known
    #[arg(long, value_name = "OUTCOME")]
    pub expect: Option<ExpectedOutcome>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: NetbootOutput,

    /// Rows per list in text; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
