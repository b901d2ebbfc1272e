//! Converts a capture to tables of the model.

use onoff_netboot::Capture;
use onoff_netboot::connection::{Connection, Protocol};
use onoff_netboot::transfer::{Outcome, Transfer};
use onoff_trace::{
    Clock, DhcpMessage, NameLookup, NetworkTransfer, RecordingFile, StringId, StringPool, TableName, TableSet, Trace,
    TransferOutcome, TransferProtocol,
};

/// Builds the `wanted` tables of a capture. Times are relative to the first frame.
pub(crate) fn tables(capture: Capture, wanted: TableSet) -> Trace {
    let mut strings = StringPool::new();
    let mut trace = Trace {
        recorder: "network capture".to_owned(),
        clock: Clock { start_unix_ns: capture.start_unix_ns, ..Clock::default() },
        duration_ns: capture.duration_ns,
        requested_tables: wanted,
        ..Trace::default()
    };
    if wanted.contains(TableName::NetworkTransfers) {
        let tftp_rows = capture.transfers.iter().map(|transfer| tftp_row(transfer, &mut strings));
        let mut rows: Vec<NetworkTransfer> = tftp_rows.collect();
        for connection in &capture.connections {
            add_requests(connection, &mut strings, &mut rows);
        }
        rows.sort_by_key(|row| row.start_ns);
        trace.network_transfers = rows.into_iter().collect();
    }
    if wanted.contains(TableName::DhcpMessages) {
        let rows = capture.dhcp.iter().map(|message| DhcpMessage {
            time_ns: message.time_ns,
            kind: strings.intern(message.kind.as_str()),
            from_client: message.kind.is_from_client(),
            source: intern(message.source, &mut strings),
            destination: intern(message.destination, &mut strings),
            size: message.bytes.into(),
            transaction: message.transaction,
            client_mac: intern_or_empty(message.client_mac, &mut strings),
            address: intern_or_empty(message.address, &mut strings),
            boot_server: strings.intern(message.boot_server.as_deref().unwrap_or_default()),
            boot_file: strings.intern(message.boot_file.as_deref().unwrap_or_default()),
            architecture: message.architecture,
        });
        trace.dhcp_messages = rows.collect();
    }
    if wanted.contains(TableName::NameLookups) {
        let rows = capture.lookups.iter().map(|lookup| NameLookup {
            start_ns: lookup.query_ns,
            end_ns: lookup.response_ns,
            client: intern(lookup.client, &mut strings),
            name: strings.intern(&lookup.name),
        });
        trace.name_lookups = rows.collect();
    }
    trace.files = capture
        .files
        .into_iter()
        .map(|file| RecordingFile {
            name: file.name,
            content: file.container,
            bytes: file.bytes,
            compressed: false,
            finished: true,
        })
        .collect();
    trace.losses = capture.losses;
    trace.strings = strings;
    trace
}

fn tftp_row(transfer: &Transfer, strings: &mut StringPool) -> NetworkTransfer {
    NetworkTransfer {
        protocol: TransferProtocol::Tftp,
        client: intern(transfer.client, strings),
        client_mac: intern_or_empty(transfer.client_mac, strings),
        server: intern(transfer.server, strings),
        file: strings.intern(&transfer.file),
        start_ns: transfer.request_ns,
        first_data_ns: transfer.first_data_ns,
        end_ns: transfer.complete_ns,
        size: transfer.counts.bytes,
        outcome: match transfer.outcome {
            Outcome::Complete => TransferOutcome::Complete,
            Outcome::SizeProbe => TransferOutcome::SizeProbe,
            Outcome::Refused => TransferOutcome::Refused,
            Outcome::Aborted => TransferOutcome::Aborted,
            Outcome::Unfinished => TransferOutcome::Unfinished,
        },
        status: transfer.error.as_ref().map(|error| error.code.into()),
        repeated_packets: Some(transfer.counts.repeated_data),
        timeout_ns: Some(transfer.timeout_ns),
    }
}

fn add_requests(connection: &Connection, strings: &mut StringPool, rows: &mut Vec<NetworkTransfer>) {
    let protocol = match connection.protocol {
        Protocol::Http => TransferProtocol::Http,
        Protocol::Tls => TransferProtocol::Tls,
        Protocol::Other => return,
    };
    // Segments are counted per connection, so they can be assigned to a request only if there is a single one.
    let is_only_request = connection.requests.len() == 1 && connection.requests_skipped == 0;
    for request in &connection.requests {
        let is_refused = request.status.is_some_and(|status| status >= 400);
        let file = match protocol {
            TransferProtocol::Tls => connection.server_name.as_deref().unwrap_or_default(),
            _ => &request.target,
        };
        rows.push(NetworkTransfer {
            protocol,
            client: intern(connection.client, strings),
            client_mac: intern_or_empty(connection.client_mac, strings),
            server: intern(connection.server, strings),
            file: strings.intern(file),
            start_ns: request.sent_ns,
            first_data_ns: request.first_byte_ns,
            end_ns: request.last_byte_ns.filter(|_| request.complete),
            size: request.body_bytes,
            outcome: match (request.complete, is_refused) {
                (_, true) => TransferOutcome::Refused,
                (true, false) => TransferOutcome::Complete,
                (false, false) if connection.reset.is_some() => TransferOutcome::Aborted,
                (false, false) => TransferOutcome::Unfinished,
            },
            status: request.status.map(u32::from),
            repeated_packets: is_only_request.then_some(connection.retransmitted_segments),
            timeout_ns: None,
        });
    }
}

fn intern(value: impl ToString, strings: &mut StringPool) -> StringId {
    strings.intern(&value.to_string())
}

fn intern_or_empty(value: Option<impl ToString>, strings: &mut StringPool) -> StringId {
    value.map_or(StringId::EMPTY, |value| intern(value, strings))
}
