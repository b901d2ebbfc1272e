//! `onoff netboot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{EXIT_CODES, OutputArguments};

/// How to answer about network boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NetbootOutput {
    /// For a person: the answer, the stages, the files, what to change
    Text,
    /// For a program; the names are documented and stay
    Json,
    /// Stages, transfers and downloads, one row each
    Csv,
    /// A picture of the stages
    Svg,
}

/// Show where the time of a network boot went, from a capture: DHCP, files by TFTP, what to change
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff netboot boot.pcapng
  onoff netboot boot.pcap.xz --client 52:54:00:77:00:01
  onoff netboot pktmon.etl                       packets that Windows logged
  onoff netboot ring_*.pcapng                    files of one capture, in any order
  onoff netboot boot.pcap --link-rate 100M --top 20
  onoff netboot boot.pcap --window 16 --rtt 5ms   what other settings would take
  onoff netboot boot.pcap --format svg -o boot.svg
  onoff netboot boot.pcap --format json | jq '.boots[].transfers[] | {{file, duration_ns}}'

Capture whole frames, best at the server or a mirror port:
  tcpdump -i eth0 -s 0 -w boot.pcap 'port 67 or port 68 or port 4011 or udp or tcp'

{EXIT_CODES}"))]
pub struct NetbootArguments {
    /// The capture: pcap, pcapng or an event trace log with packets (pktmon, netsh trace), as it is or packed (.xz, .gz,
    /// .zst, .zip). Several files are read as one capture, the way recorders write them that start a new file now and then
    #[arg(required = true, value_name = "CAPTURE")]
    pub files: Vec<PathBuf>,

    /// Only this client: its station address or IP address
    #[arg(long, value_name = "MAC|IP")]
    pub client: Option<String>,

    /// Speed of the client's link, bits per second
    #[arg(long, value_name = "RATE", default_value = "1G")]
    pub link_rate: String,

    /// What if: blocks per acknowledgment
    #[arg(long, value_name = "BLOCKS")]
    pub window: Option<u32>,

    /// What if: bytes per block
    #[arg(long, value_name = "BYTES")]
    pub block: Option<u32>,

    /// What if: round trip of the network, e.g. 5ms
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<String>,

    /// What if: share of the blocks that are lost, e.g. 0.5%
    #[arg(long, value_name = "PERCENT")]
    pub loss: Option<String>,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: NetbootOutput,

    /// Rows of each list of the text; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
