//! How much is kept of a capture, whatever it holds.

/// DHCP messages.
pub const DHCP_MESSAGES: usize = 1 << 16;
/// Finished transfers.
pub const TRANSFERS: usize = 1 << 15;
/// Transfers followed at the same time; the half that was silent longest ends for new ones.
pub const OPEN_TRANSFERS: usize = 1 << 10;
/// TCP connections followed at the same time; the half that was silent longest ends for new ones.
pub const OPEN_CONNECTIONS: usize = 1 << 12;
/// TCP connections of machines that asked for a network boot.
pub const CONNECTIONS: usize = 1 << 14;
/// TCP connections of other machines that may be part of a boot whose start was not captured.
pub const OTHER_CONNECTIONS: usize = 1 << 12;
/// Machines that asked for a network boot.
pub const BOOTING: usize = 1 << 16;
/// HTTP requests of one connection.
pub const REQUESTS: usize = 1 << 10;
/// Names looked up.
pub const LOOKUPS: usize = 1 << 14;
/// Reports of packets that could not be delivered.
pub const UNDELIVERED: usize = 1 << 12;
/// Different lengths of a window whose turns are distinguished, of one transfer.
pub const WINDOW_LENGTHS: usize = 1 << 6;
/// Stations and addresses remembered.
pub const STATIONS: usize = 1 << 16;
/// Fragmented datagrams whose parts are awaited.
pub const FRAGMENTED: usize = 1 << 10;
/// Ports of a server that are remembered to have answered one request.
pub const ANSWER_PORTS: usize = 1 << 4;
/// Changes of a transfer's window that are kept.
pub const WINDOW_CHANGES: usize = 1 << 10;
/// Pauses, time-outs and the like kept one by one for each transfer; all of them are summed.
pub const INCIDENTS: usize = 1 << 8;
/// Characters kept of a name that comes from the network.
pub const NAME: usize = 512;
