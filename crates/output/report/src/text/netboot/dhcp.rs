//! The exchanges with DHCP and boot servers.

use onoff_network::dhcp::{DhcpExchange, DhcpStep};
use onoff_network::report::NetworkBoot;

use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Minimum delay of a highlighted response, in ns.
const LATE_NS: i64 = 500_000_000;

pub(super) fn section(boot: &NetworkBoot, top: usize) -> Option<Section<'_>> {
    if boot.dhcp.is_empty() {
        return None;
    }
    let has_inferred = boot.dhcp.iter().flat_map(|exchange| &exchange.messages).any(|message| message.inferred);
    // Exchanges may overlap: their messages are shown in time order.
    let mut messages: Vec<(&DhcpExchange, &DhcpStep)> = boot
        .dhcp
        .iter()
        .flat_map(|exchange| exchange.messages.iter().map(move |message| (exchange, message)))
        .collect();
    messages.sort_by_key(|(_, message)| message.time_ns);
    // A regular exchange has four messages.
    let max = top.saturating_mul(4);
    let hidden = messages.len().saturating_sub(max);
    let hidden_note = (hidden > 0).then(|| format!("and {hidden} more messages; use --top to show them"));
    let section = Section::builder("dhcp", "DHCP", messages)
        .note(if has_inferred { "* message type cut off in the capture, inferred from the order" } else { "" })
        .top(max)
        .time("time_ns", "time", |row| Cell::since(row.1.time_ns, boot.start_ns))
        .quantity("delay_ns", "delay", |row| {
            let style = if row.1.delay_ns >= LATE_NS { DOUBT } else { QUIET };
            Cell::with_display_text(Value::Duration(row.1.delay_ns), format!("+{}", duration(row.1.delay_ns)))
                .with_style(style)
        })
        .name("kind", "message", 24, |row| {
            let star = if row.1.inferred { "*" } else { "" };
            Cell::with_display_text(Value::text(row.1.kind.as_str()), format!("{}{star}", row.1.kind.as_str()))
        })
        .name("from", "from", 40, |row| {
            let sender = if row.1.kind.is_from_client() { "client" } else { &row.1.from };
            Cell::with_display_text(Value::text(&row.1.from), sender).with_style(QUIET)
        })
        .name("address", "address", 40, |row| Value::text(row.1.address.as_deref().unwrap_or_default()))
        .name("boot_file", "", 64, |(exchange, message)| {
            let file = message.boot_file.as_deref().unwrap_or_default();
            match message.time_ns == exchange.start_ns {
                true => Cell::with_display_text(Value::text(file), summary(exchange)).with_style(QUIET),
                false => Value::text(file).styled(QUIET),
            }
        })
        .build();
    Some(section.line_if(QUIET, hidden_note))
}

fn summary(exchange: &DhcpExchange) -> String {
    let mut parts = vec![exchange.stack.as_str().to_owned()];
    if exchange.boot_server_dialogue {
        parts.push("to a boot server (port 4011)".to_owned());
    }
    if exchange.proxy {
        parts.push("ProxyDHCP".to_owned());
    }
    if !exchange.pxe.menu.is_empty() {
        parts.push(format!("menu with {} entries", exchange.pxe.menu.len()));
    }
    if let Some(seconds) = exchange.pxe.prompt_timeout_s {
        parts.push(format!("prompt for {seconds} s"));
    }
    printable(&parts.join(", ")).into_owned()
}
