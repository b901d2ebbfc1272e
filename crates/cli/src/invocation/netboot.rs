//! `onoff netboot`.

use onoff_analysis::netboot::{ClientFilter, NetbootOptions};
use onoff_files::Options;
use onoff_netboot::MacAddress;
use onoff_report::text::netboot::NetbootTextOptions;

use super::{Invocation, Recording, Task};
use crate::arguments::netboot::{NetbootArguments, NetbootOutput};
use crate::failure::Failure;

/// How to show where the time of network boots went.
#[derive(Clone, Copy, Debug)]
pub enum NetbootFormat {
    /// For a person.
    Text(NetbootTextOptions),
    /// For a program.
    Json,
    /// A table.
    Csv,
    /// A picture.
    Svg,
}

impl Invocation {
    /// Settles what the arguments of `onoff netboot` mean.
    pub(super) fn netboot(arguments: NetbootArguments) -> Result<Self, Failure> {
        let options = NetbootOptions {
            client: arguments.client.as_deref().map(client_filter).transpose()?,
            link_bits_per_s: link_rate(&arguments.link_rate)?,
        };
        let top = arguments.top;
        let format = match arguments.format {
            NetbootOutput::Text => NetbootFormat::Text(NetbootTextOptions { top }),
            NetbootOutput::Json => NetbootFormat::Json,
            NetbootOutput::Csv => NetbootFormat::Csv,
            NetbootOutput::Svg => NetbootFormat::Svg,
        };
        Ok(Self {
            task: Task::Netboot(options, format),
            recording: Recording { files: arguments.files, options: Options::default() },
            destination: arguments.output.into(),
        })
    }
}

fn client_filter(text: &str) -> Result<ClientFilter, Failure> {
    let station = MacAddress::parse(text).map(ClientFilter::Station);
    let address = text.parse().ok().map(ClientFilter::Address);
    station.or(address).ok_or_else(|| {
        Failure::NothingToAnswer(format!(
            "--client: '{text}' is neither a station address (52:54:00:77:00:01) nor an IP address"
        ))
    })
}

/// Bits per second: `100M`, `1G`, `2.5G`.
fn link_rate(text: &str) -> Result<u64, Failure> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'm' | 'M')) => (&text[..at], 1e6),
        Some((at, 'g' | 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let rate = digits.parse::<f64>().ok().map(|rate| rate * factor);
    match rate {
        Some(rate) if (1e3..=1e13).contains(&rate) => Ok(rate as u64),
        _ => Err(Failure::NothingToAnswer(format!("--link-rate: '{text}' is no link speed; write 100M, 1G, 2.5G"))),
    }
}
