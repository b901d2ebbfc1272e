//! Limits on the data that is kept from a capture.

/// DHCP messages.
pub const MAX_DHCP_MESSAGES: usize = 1 << 16;
/// Finished transfers.
pub const MAX_TRANSFERS: usize = 1 << 15;
/// Transfers tracked at the same time; beyond that, the half that has been idle longest is closed.
pub const MAX_OPEN_TRANSFERS: usize = 1 << 10;
/// TCP connections tracked at the same time; beyond that, the half that has been idle longest is closed.
pub const MAX_OPEN_CONNECTIONS: usize = 1 << 12;
/// TCP connections of machines that requested a network boot.
pub const MAX_CONNECTIONS: usize = 1 << 14;
/// TCP connections of other machines that may be part of a boot whose start was not captured.
pub const MAX_OTHER_CONNECTIONS: usize = 1 << 12;
/// Machines that requested a network boot.
pub const MAX_BOOTING_STATIONS: usize = 1 << 16;
/// HTTP requests per connection.
pub const MAX_REQUESTS: usize = 1 << 10;
/// DNS lookups.
pub const MAX_LOOKUPS: usize = 1 << 14;
/// Reports of undeliverable packets.
pub const MAX_UNDELIVERED: usize = 1 << 12;
/// Router solicitations and advertisements.
pub const MAX_ROUTER_MESSAGES: usize = 1 << 12;
/// RPC calls to NFS services.
pub const MAX_RPC_CALLS: usize = 1 << 12;
/// Distinct window sizes per transfer for which turnaround times are kept.
pub const MAX_WINDOW_SIZES: usize = 1 << 6;
/// Stations and addresses.
pub const MAX_STATIONS: usize = 1 << 16;
/// Packets by which two captures are aligned: 64 MiB of marks.
pub const MAX_MARKS: usize = 1 << 20;
/// Incomplete fragmented datagrams.
pub const MAX_FRAGMENTED: usize = 1 << 10;
/// Server ports that answered one request.
pub const MAX_ANSWER_PORTS: usize = 1 << 4;
/// Window changes per transfer.
pub const MAX_WINDOW_CHANGES: usize = 1 << 10;
/// Timeouts listed individually per transfer; totals include all of them.
pub const MAX_TIMEOUTS: usize = 1 << 8;
/// Maximum length of a name from the network, bytes.
pub const MAX_NAME_LEN: usize = 512;
