//! Files downloaded over HTTP and HTTPS.

use onoff_network::http::Download;
use onoff_network::report::NetworkBoot;

use crate::text::style::{DOUBT, MISSING, QUIET};
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

pub(super) fn section(boot: &NetworkBoot, top: usize) -> Option<Section<'_>> {
    if boot.downloads.is_empty() {
        return None;
    }
    let mut shown_downloads: Vec<&Download> = boot.downloads.iter().collect();
    shown_downloads.sort_by_key(|download| std::cmp::Reverse(download.duration_ns));
    shown_downloads.truncate(top);
    shown_downloads.sort_by_key(|download| download.start_ns);
    let note = if shown_downloads.len() < boot.downloads.len() {
        format!("longest {} of {}", shown_downloads.len(), boot.downloads.len())
    } else {
        String::new()
    };
    let time = |ns| Value::from_option(ns, Value::Duration);
    let section = Section::builder("downloads", "Files over HTTP", shown_downloads)
        .note(note)
        .name("url", "file", 56, |download| Value::text(&download.url))
        .name("method", "", 5, |download| Value::text(&download.method).styled(QUIET))
        .id("status", "status", |download| {
            let style = if download.status.is_some_and(|status| status >= 400) { MISSING } else { QUIET };
            Value::id(download.status).styled(style)
        })
        .time("start_ns", "start", |download| Cell::since(download.start_ns, boot.start_ns))
        .quantity("duration_ns", "duration", |download| Value::Duration(download.duration_ns))
        .quantity("lookup_ns", "DNS", move |download| time(download.lookup_ns))
        .quantity("connect_ns", "connect", move |download| time(download.connect_ns))
        .quantity("tls_ns", "TLS", move |download| time(download.tls_ns))
        .quantity("first_byte_ns", "first byte", move |download| time(download.first_byte_ns))
        .column(Heading::quantity("body_ns", "body").sparse(), move |download| time(download.body_ns))
        .column(Heading::quantity("bytes", "size").sparse(), |download| Value::Bytes(download.bytes))
        .quantity("bytes_per_s", "per s", |download| {
            let rate = download.bytes_per_s.filter(|_| download.bytes > 0);
            Value::from_option(rate, |rate| Value::Bytes(rate as u64))
        })
        .quantity("zero_window_ns", "window closed", |download| {
            let closed = (download.zero_windows > 0 && !download.reused).then_some(download.zero_window_ns);
            time(closed).styled(DOUBT)
        })
        .name("", "", 40, |download| {
            let unfinished = download.announced_bytes.is_some_and(|bytes| bytes > download.bytes);
            let note = match download.first_byte_ns {
                None => "no response in this capture",
                Some(_) if unfinished && download.method != "HEAD" => "not finished in this capture",
                Some(_) => "",
            };
            Cell::text_only(MISSING, note)
        })
        .build();
    Some(section)
}
