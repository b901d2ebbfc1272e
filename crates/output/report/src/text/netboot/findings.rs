//! The findings of a network boot.

use std::io::{self, Write};

use onoff_network::report::NetworkBoot;

use super::title;
use crate::text::printable::printable;
use crate::text::quantity::{capitalized, duration};
use crate::text::style::{QUIET, WORST};

pub(super) fn write(boot: &NetworkBoot, out: &mut dyn Write) -> io::Result<()> {
    if boot.findings.is_empty() {
        return Ok(());
    }
    title("Findings", "", out)?;
    for finding in &boot.findings {
        let cost = finding.cost_ns.map_or_else(|| "-".to_owned(), duration);
        writeln!(
            out,
            "  {WORST}{cost:>7}{WORST:#}  {}: {}.",
            finding.rule.replace('_', " "),
            printable(&finding.title)
        )?;
        writeln!(out, "           {QUIET}{}.{QUIET:#}", capitalized(&printable(&finding.advice)))?;
    }
    Ok(())
}
