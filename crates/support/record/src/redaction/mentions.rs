//! Finds names by the words before them: names of wireless networks, serial numbers, ids of file systems, computers,
//! users and secrets, as the kernel and programs log them.

use super::identifiers::array_uuid_len;
use super::words::begins_word;

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameKind {
    Host,
    User,
    /// A wireless network or a connection.
    Network,
    /// A serial number of a device.
    Serial,
    /// An id of a file system or volume; its substitute has the same form.
    Uuid,
    /// A key, a fingerprint, or another secret.
    Key,
}

/// A name in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub start: usize,
    pub end: usize,
    pub kind: NameKind,
    /// True if the name is distinctive, so that it can be replaced wherever it occurs.
    pub is_distinctive: bool,
}

/// Where the name after a marker ends.
#[derive(Clone, Copy)]
enum Extent {
    /// In quotes or brackets, else none.
    Quoted,
    /// At the next character that names of this kind do not have.
    Token,
    /// At the end of the line.
    Line,
    /// At one of these texts, or the end of the line.
    Until(&'static str),
}

/// A text in lower case before a name.
struct Marker {
    text: &'static str,
    /// Another text that the line must have.
    requires: &'static str,
    kind: NameKind,
    extent: Extent,
    is_distinctive: bool,
}

const fn marker(
    text: &'static str,
    requires: &'static str,
    kind: NameKind,
    extent: Extent,
    is_distinctive: bool,
) -> Marker {
    Marker { text, requires, kind, extent, is_distinctive }
}

use Extent::{Line, Quoted, Token, Until};
use NameKind::{Host, Key, Network, Serial, User, Uuid};

/// Sources: wpa_supplicant, NetworkManager, iwd, systemd-networkd; the USB core, smartd, systemd-udevd; NFS, CIFS,
/// dracut, sshd, PAM, sudo, cron, logind, timesyncd.
const MARKERS: &[Marker] = &[
    marker("ssid' value ", "", Network, Quoted, true),
    marker("ssid ", "", Network, Quoted, true),
    marker("ssid=", "", Network, Quoted, true),
    marker("ssid: ", "", Network, Until(", "), true),
    marker("ssid:", "", Network, Quoted, true),
    marker("wireless network ", "", Network, Quoted, true),
    marker("access point ", "", Network, Quoted, true),
    marker("(wifi) connection ", "", Network, Quoted, true),
    marker("wifi access point: ", "", Network, Until(" ("), true),
    marker("system-connections/", "", Network, Until(".nmconnection"), true),
    marker("connection ", "", Network, Quoted, false),
    marker("policy: set ", "", Network, Quoted, false),
    marker(" name=", "uuid=\"", Network, Quoted, false),
    marker("serialnumber: ", "", Serial, Line, true),
    marker("serial number: ", "", Serial, Token, true),
    marker("serial number ", "", Serial, Token, true),
    marker("serial no: ", "", Serial, Token, true),
    marker("serial: ", "", Serial, Line, true),
    marker("serial\t\t: ", "", Serial, Line, true),
    marker("s/n:", "", Serial, Token, true),
    marker("s/n ", "", Serial, Token, true),
    marker("serial=", "", Serial, Token, true),
    marker("serialno=", "", Serial, Token, true),
    marker("serial_short=", "", Serial, Token, true),
    marker("wwn:", "", Serial, Token, true),
    marker("service tag: ", "", Serial, Token, true),
    marker("imei: ", "", Serial, Token, true),
    marker("imsi: ", "", Serial, Token, true),
    marker("iccid: ", "", Serial, Token, true),
    marker("uuid=", "", Uuid, Token, true),
    marker("partuuid=", "", Uuid, Token, true),
    marker("by-uuid/", "", Uuid, Token, true),
    marker("by-partuuid/", "", Uuid, Token, true),
    marker("by\\x2duuid-", "", Uuid, Token, true),
    marker("by\\x2dpartuuid-", "", Uuid, Token, true),
    marker("crypt-luks1-", "", Uuid, Token, true),
    marker("crypt-luks2-", "", Uuid, Token, true),
    marker("crypt\\x2dluks1\\x2d", "", Uuid, Token, true),
    marker("crypt\\x2dluks2\\x2d", "", Uuid, Token, true),
    marker("server ", "nfs: server ", Host, Token, true),
    marker("time server ", "", Host, Until(":"), false),
    marker("mount //", "", Host, Token, true),
    marker("mounting //", "", Host, Token, true),
    marker("what=//", "", Host, Token, true),
    marker("cifs: //", "", Host, Token, true),
    marker("cifs: vfs: \\\\", "", Host, Token, true),
    marker("nfsroot=", ":/", Host, Token, true),
    marker("root=nfs:", ":/", Host, Token, true),
    marker("rhost=", "", Host, Token, true),
    marker("hostname set to ", "", Host, Quoted, true),
    marker("set hostname to ", "", Host, Quoted, true),
    marker("system hostname ", "", Host, Quoted, true),
    marker("hostname: ", "", Host, Quoted, true),
    marker("host name is ", "", Host, Token, true),
    marker("host_name => ", "", Host, Quoted, true),
    marker("domain_name => ", "", Host, Quoted, true),
    marker("domain name ", "", Host, Quoted, true),
    marker("domain_search => ", "", Host, Quoted, false),
    marker("/home/", "", User, Token, true),
    marker("/run/media/", "", User, Token, true),
    marker(" of user ", "new session ", User, Token, true),
    marker(" for user ", "session ", User, Token, true),
    marker("accepted publickey for ", "", User, Token, true),
    marker("accepted password for ", "", User, Token, true),
    marker("failed password for ", " from ", User, Token, false),
    marker("invalid user ", " from ", User, Token, false),
    marker("authenticating user ", "", User, Token, false),
    marker("ruser=", "", User, Token, false),
    marker("logname=", "", User, Token, false),
    marker(" user=", "rhost=", User, Token, false),
    marker("psk=", "", Key, Token, false),
    marker("password=", "", Key, Token, false),
    marker("passwd=", "", Key, Token, false),
    marker("passphrase=", "", Key, Token, false),
    marker("token=", "", Key, Token, false),
];

/// Maximum length of a name, bytes; a wireless network has up to 32 bytes (IEEE 802.11), each of which may be escaped.
const MAX_NAME_LEN: usize = 160;
/// Maximum length of a line in which a connection is compared with the interfaces.
const MAX_COMPARED_LEN: usize = 4_096;
/// Minimum length of a serial number; shorter values are indexes.
const MIN_SERIAL_LEN: usize = 4;
/// Minimum length of a serial number or id that is replaced wherever it occurs.
const MIN_DISTINCTIVE_LEN: usize = 8;

/// Returns the names that words before them identify, in the order of the text, without overlaps.
pub(super) fn mentions(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        mentions_in_line(line.trim_end_matches(['\n', '\r']), offset, &mut mentions);
        offset += line.len();
    }
    mentions.sort_by_key(|mention| (mention.start, std::cmp::Reverse(mention.is_distinctive)));
    let mut end = 0;
    mentions.retain(|mention| {
        let is_first = mention.start >= end;
        if is_first {
            end = mention.end;
        }
        is_first
    });
    mentions
}

fn mentions_in_line(line: &str, offset: usize, mentions: &mut Vec<Mention>) {
    // The case of ASCII letters only, so that positions are the same.
    let lower = line.to_ascii_lowercase();
    for marker in MARKERS {
        if !lower.contains(marker.text) || !lower.contains(marker.requires) {
            continue;
        }
        for (position, _) in lower.match_indices(marker.text) {
            let is_word = marker.text.starts_with(|character: char| !character.is_ascii_alphanumeric())
                || begins_word(line.as_bytes(), position)
                // 'ESSID', 'PARTUUID', 'ID_SERIAL'.
                || lower.get(..position).is_some_and(|before| before.ends_with('e') && marker.text.starts_with("ssid"));
            let start = position + marker.text.len();
            if let Some((start, end)) = is_word.then(|| extent(line, start, marker)).flatten() {
                add(line, offset, (start, end), marker, mentions);
            }
        }
    }
    add_device_ids(line, &lower, offset, mentions);
    // "alice : TTY=pts/0 ; PWD=/home/alice ; USER=root ; COMMAND=…" of sudo, "(alice) CMD (…)" of cron.
    let name_before = |marker: &str| {
        let (before, _) = lower.split_once(marker)?;
        let start = before.rfind(|character: char| !is_name_character(character)).map_or(0, |index| index + 1);
        (start < before.len()).then_some((start, before.len()))
    };
    for (start, end) in [name_before(" : tty="), name_before(") cmd (")].into_iter().flatten() {
        mentions.push(Mention { start: offset + start, end: offset + end, kind: User, is_distinctive: true });
    }
}

/// Returns where the name after a marker starts and ends.
fn extent(line: &str, start: usize, marker: &Marker) -> Option<(usize, usize)> {
    let rest = bounded(line.get(start..)?);
    let (skipped, length) = match marker.extent {
        Extent::Quoted => quoted(rest)?,
        Extent::Line => (0, rest.trim_end().len()),
        Extent::Until(end) => {
            let length = rest.find(end).unwrap_or(rest.len());
            match quoted(rest) {
                Some(extent) => extent,
                None => (0, length),
            }
        }
        Extent::Token => {
            let accepts = |character: char| match marker.kind {
                Uuid => character.is_ascii_hexdigit() || character == '-',
                Host | User => is_name_character(character),
                _ => !character.is_whitespace() && !"'\"<>(),;".contains(character),
            };
            let array_uuid = array_uuid_len(rest.as_bytes()).filter(|_| marker.kind == Uuid);
            array_uuid.map_or_else(|| token(rest, marker.kind == Uuid, accepts), |length| (0, length))
        }
    };
    (length > 0).then_some((start + skipped, start + skipped + length))
}

/// Returns the part of a text that a name can be in.
fn bounded(text: &str) -> &str {
    let end = (0..=MAX_NAME_LEN.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || "._-".contains(character)
}

/// Returns the offset and the length of a token. Ids may have hyphens that systemd escapes.
fn token(rest: &str, with_escapes: bool, accepts: impl Fn(char) -> bool) -> (usize, usize) {
    let skipped = usize::from(rest.starts_with(['"', '\'']));
    let rest = rest.get(skipped..).unwrap_or_default();
    let mut length = 0;
    loop {
        let after = rest.get(length..).unwrap_or_default();
        match after.chars().next() {
            Some(character) if accepts(character) => length += character.len_utf8(),
            Some(_) if with_escapes && after.starts_with("\\x2d") => length += 4,
            _ => break,
        }
    }
    (skipped, rest.get(..length).unwrap_or_default().trim_end_matches(['.', '-', ':']).len())
}

/// Returns the offset and the length of a text in quotes or angle brackets. A quote inside, as in 'Anna's Phone', is
/// followed by a letter.
fn quoted(rest: &str) -> Option<(usize, usize)> {
    let open = rest.chars().next()?;
    let close = match open {
        '\'' | '"' => open,
        '<' => '>',
        _ => return None,
    };
    let inner = rest.get(1..)?;
    let ends = inner.match_indices(close).map(|(index, _)| index);
    let end = ends.into_iter().find(|index| {
        inner.get(index + 1..).and_then(|after| after.chars().next()).is_none_or(|next| !next.is_alphanumeric())
    })?;
    Some((1, end))
}

/// Adds a mention if the text can be a name of this kind.
fn add(line: &str, offset: usize, (start, end): (usize, usize), marker: &Marker, mentions: &mut Vec<Mention>) {
    let Some(value) = line.get(start..end) else { return };
    let mut is_distinctive = marker.is_distinctive;
    match marker.kind {
        Serial => {
            let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
            // The host controller is a device of the bus itself: `usb usb1: SerialNumber: 0000:00:14.0`.
            let before = (start.saturating_sub(64)..=start).find(|&position| line.is_char_boundary(position));
            let before = before.and_then(|position| line.get(position..start)).unwrap_or_default();
            let is_controller = before.contains("usb usb");
            if !is_serial(value) || is_controller || !has_digit && !matches!(marker.extent, Extent::Line) {
                return;
            }
            // 'Serial: 8250/16550 driver' is the kernel's driver.
            if marker.text.starts_with("serial:") && !value.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return;
            }
            is_distinctive = is_distinctive_serial(value);
        }
        Uuid => {
            if value.len() < MIN_DISTINCTIVE_LEN || super::identifiers::guid_len(value.as_bytes()).is_some() {
                // A UUID is recognized everywhere.
                return;
            }
        }
        // A connection is often named after its interface.
        Network if !is_distinctive => {
            if value.starts_with("Wired connection") || value == "lo" || names_interface(line, value) {
                return;
            }
        }
        Host | User if !value.chars().all(is_name_character) => return,
        Network | Host | User | Key => {}
    }
    mentions.push(Mention { start: offset + start, end: offset + end, kind: marker.kind, is_distinctive });
}

/// True if a line names an interface like the connection: `starting connection 'eth0' (eth0)`.
fn names_interface(line: &str, connection: &str) -> bool {
    line.len() <= MAX_COMPARED_LEN && line.contains(&format!("({connection})"))
}

/// True if a value can be a serial number. The serial number of a host controller is its place on the bus, and what
/// makers forget to fill in is no serial number.
fn is_serial(value: &str) -> bool {
    let is_place = value.split([':', '.']).count() >= 3 && value.len() <= 12 && value.contains(':');
    let first = value.chars().next();
    value.len() >= MIN_SERIAL_LEN
        && !is_place
        && !value.chars().all(|character| Some(character) == first)
        && !["none", "default string", "not specified", "to be filled by o.e.m.", "system serial number"]
            .contains(&value.to_ascii_lowercase().as_str())
}

/// True if a serial number can be replaced wherever it occurs.
pub(super) fn is_distinctive_serial(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_serial(value) && has_digit && (has_letter && value.len() >= MIN_DISTINCTIVE_LEN || value.len() >= 12)
}

/// Adds serial numbers in names of devices: links in `/dev/disk/by-id` and `/dev/serial/by-id` and their units, and
/// device ids of Windows.
fn add_device_ids(line: &str, lower: &str, offset: usize, mentions: &mut Vec<Mention>) {
    for (marker, is_escaped) in [("by-id/", false), ("by\\x2did-", true)] {
        for (position, _) in lower.match_indices(marker) {
            let start = position + marker.len();
            let rest = bounded(line.get(start..).unwrap_or_default());
            let ends = |character: char| {
                character.is_whitespace() || "/'\"<>(),;=".contains(character) || is_escaped && character == '-'
            };
            let id = rest.get(..rest.find(ends).unwrap_or(rest.len())).unwrap_or_default();
            if let Some((serial_start, serial_end)) = serial_in_link(id) {
                let (start, end) = (start + serial_start, start + serial_end);
                let is_distinctive = line.get(start..end).is_some_and(is_distinctive_serial);
                mentions.push(Mention { start: offset + start, end: offset + end, kind: Serial, is_distinctive });
            }
        }
    }
    add_windows_serials(line, lower, offset, mentions);
}

/// Adds the serial numbers in device ids of Windows.
pub(super) fn add_windows_serials(line: &str, lower: &str, offset: usize, mentions: &mut Vec<Mention>) {
    for marker in ["usbstor\\", "usb\\vid_"] {
        for (position, _) in lower.match_indices(marker) {
            let start = position + marker.len();
            let rest = bounded(line.get(start..).unwrap_or_default());
            let Some((device, rest)) = rest.split_once('\\') else { continue };
            let start = start + device.len() + 1;
            let length = rest.find(|character: char| !character.is_ascii_alphanumeric() && character != '.');
            let length = length.unwrap_or(rest.len());
            // The ampersand at the second place marks an id that Windows made up.
            if length >= MIN_SERIAL_LEN && !device.contains(char::is_whitespace) {
                let end = start + length;
                mentions.push(Mention {
                    start: offset + start,
                    end: offset + end,
                    kind: Serial,
                    is_distinctive: line.get(start..end).is_some_and(is_distinctive_serial),
                });
            }
        }
    }
}

/// Returns the place of the serial number in the name of a link: `ata-MODEL_SERIAL-part1`, `usb-MODEL_SERIAL-0:0`,
/// `nvme-MODEL_SERIAL_1`, `nvme-eui.SERIAL`, `wwn-SERIAL`, `virtio-SERIAL`; hyphens may be escaped.
fn serial_in_link(id: &str) -> Option<(usize, usize)> {
    let mut end = id.len();
    for suffix in [".device", ".swap", ".mount", ".service", ".", ":"] {
        if let Some(stem) = id.get(..end).and_then(|id| id.strip_suffix(suffix)) {
            end = stem.len();
        }
    }
    for separator in ["-", "\\x2d"] {
        for part in ["part", "if0", "lun", "0:"] {
            if let Some(position) = id.get(..end).and_then(|id| id.find(&format!("{separator}{part}"))) {
                end = position;
            }
        }
    }
    let id = id.get(..end)?;
    let has_digit = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    let is_index = |text: &str| text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (bus, after_bus) = match (id.find("\\x2d"), id.find('-')) {
        (Some(escaped), _) => (escaped, escaped + 4),
        (None, Some(hyphen)) => (hyphen, hyphen + 1),
        (None, None) => return None,
    };
    let bus = id.get(..bus)?;
    if let Some(last) = id.rfind('_') {
        // The number of a namespace follows the serial number.
        let end = if is_index(id.get(last + 1..)?) { last } else { id.len() };
        let start = id.get(..end)?.rfind('_')? + 1;
        return (start >= after_bus && has_digit(id.get(start..end)?)).then_some((start, end));
    }
    let has_serial = ["wwn", "nvme", "virtio", "scsi", "mmc", "ata", "usb"].contains(&bus);
    (has_serial && has_digit(id.get(after_bus..)?)).then_some((after_bus, id.len()))
}
