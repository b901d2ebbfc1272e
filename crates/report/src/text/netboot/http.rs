//! Files over HTTP and HTTPS.

use std::io::{self, Write};

use onoff_analysis::netboot::http::Download;
use onoff_analysis::netboot::report::NetworkBoot;

use super::title;
use crate::text::quantity::{duration, size};
use crate::text::style::{DOUBT, MISSING, QUIET};
use crate::text::table::{Table, cell, styled_cell};

pub(super) fn write(boot: &NetworkBoot, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if boot.downloads.is_empty() {
        return Ok(());
    }
    let mut shown: Vec<&Download> = boot.downloads.iter().collect();
    shown.sort_by_key(|download| std::cmp::Reverse(download.duration_ns));
    shown.truncate(top);
    shown.sort_by_key(|download| download.start_ns);
    let note = if shown.len() < boot.downloads.len() {
        format!("longest {} of {}", shown.len(), boot.downloads.len())
    } else {
        String::new()
    };
    title("Files by HTTP", &note, out)?;
    let mut table = Table::new()
        .left("file", 56)
        .left("", 5)
        .right("status")
        .right("begins")
        .right("took")
        .right("look-up")
        .right("connect")
        .right("TLS")
        .right("first byte")
        .right("body")
        .right("size")
        .right("per s")
        .right("window closed")
        .left("", 40);
    for download in shown {
        let time = |ns: Option<i64>| cell(ns.map_or(String::new(), duration));
        let status = download.status.map_or(String::new(), |status| status.to_string());
        let style = if download.status.is_some_and(|status| status >= 400) { MISSING } else { QUIET };
        let closed = if download.zero_windows > 0 && !download.reused {
            duration(download.zero_window_ns)
        } else {
            String::new()
        };
        let note = if download.first_byte_ns.is_none() {
            "no answer in this capture"
        } else if download.announced_bytes.is_some_and(|bytes| bytes > download.bytes) && download.method != "HEAD" {
            "not finished in this capture"
        } else {
            ""
        };
        let rate = download.bytes_per_s.filter(|_| download.bytes > 0);
        table.row([
            cell(download.url.clone()),
            styled_cell(QUIET, download.method.clone()),
            styled_cell(style, status),
            cell(duration(download.start_ns.saturating_sub(boot.start_ns))),
            cell(duration(download.duration_ns)),
            time(download.lookup_ns),
            time(download.connect_ns),
            time(download.tls_ns),
            time(download.first_byte_ns),
            time(download.body_ns.filter(|&ns| ns > 0)),
            cell(if download.bytes > 0 { size(download.bytes) } else { String::new() }),
            cell(rate.map_or(String::new(), |rate| size(rate as u64))),
            styled_cell(DOUBT, closed),
            styled_cell(MISSING, note),
        ]);
    }
    table.write(out)
}
