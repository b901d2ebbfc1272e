//! The dialogues with DHCP and boot servers.

use std::io::{self, Write};

use onoff_analysis::netboot::dhcp::{DhcpExchange, DhcpStep};
use onoff_analysis::netboot::report::NetworkBoot;

use super::title;
use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::style::{DOUBT, QUIET};
use crate::text::table::{Table, cell, styled_cell};

/// Answers later than this stand out, ns.
const LATE_NS: i64 = 500_000_000;

pub(super) fn write(boot: &NetworkBoot, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if boot.dhcp.is_empty() {
        return Ok(());
    }
    let inferred = boot.dhcp.iter().flat_map(|exchange| &exchange.messages).any(|message| message.inferred);
    let note = if inferred { "* kind cut off in the capture: inferred from the order" } else { "" };
    title("DHCP", note, out)?;
    let mut table =
        Table::new().right("at").right("after").left("message", 24).left("from", 40).left("address", 40).left("", 64);
    // Dialogues may overlap: their messages are shown in the order of time.
    let mut messages: Vec<(&DhcpExchange, &DhcpStep)> = boot
        .dhcp
        .iter()
        .flat_map(|exchange| exchange.messages.iter().map(move |message| (exchange, message)))
        .collect();
    messages.sort_by_key(|(_, message)| message.time_ns);
    // A dialogue has four messages when all is well.
    let most = top.saturating_mul(4);
    let left_out = messages.len().saturating_sub(most);
    for (exchange, message) in messages.into_iter().take(most) {
        let late = message.delay_ns >= LATE_NS;
        let star = if message.inferred { "*" } else { "" };
        let note = if message.time_ns == exchange.start_ns {
            begins(exchange)
        } else {
            message.boot_file.clone().unwrap_or_default()
        };
        let from = if message.kind.is_from_client() { "client" } else { &message.from };
        let style = if late { DOUBT } else { QUIET };
        table.row([
            cell(duration(message.time_ns.saturating_sub(boot.start_ns))),
            styled_cell(style, format!("+{}", duration(message.delay_ns))),
            cell(format!("{}{star}", message.kind.as_str())),
            styled_cell(QUIET, from),
            cell(message.address.clone().unwrap_or_default()),
            styled_cell(QUIET, note),
        ]);
    }
    table.write(out)?;
    if left_out > 0 {
        writeln!(out, "  {QUIET}and {left_out} more messages; --top shows them{QUIET:#}")?;
    }
    Ok(())
}

fn begins(exchange: &DhcpExchange) -> String {
    let mut parts = vec![exchange.stack.as_str().to_owned()];
    if exchange.boot_server_dialogue {
        parts.push("to a boot server (port 4011)".to_owned());
    }
    if exchange.proxy {
        parts.push("ProxyDHCP answers".to_owned());
    }
    if !exchange.pxe.menu.is_empty() {
        parts.push(format!("menu of {}", exchange.pxe.menu.len()));
    }
    if let Some(seconds) = exchange.pxe.prompt_timeout_s {
        parts.push(format!("prompt {seconds} s"));
    }
    printable(&parts.join(", ")).into_owned()
}
