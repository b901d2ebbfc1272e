//! Parses one line of the kernel log in the formats of `dmesg` and its options.

use std::borrow::Cow;

use onoff_trace::CivilTime;

/// Timestamp of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The log's clock, ns.
    Log(i64),
    /// Wall-clock time, ns from an arbitrary origin (`dmesg -T`, `--time-format iso`).
    Wall(i64),
}

/// One line of the kernel log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// When it was logged.
    pub stamp: Stamp,
    /// The text after the time, without the caller.
    pub message: &'a str,
}

/// Removes terminal color sequences (`dmesg --color=always`, systemd on consoles).
pub fn strip_colors(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut unread = text;
    while let Some((plain_text, sequence)) = unread.split_once('\u{1b}') {
        plain.push_str(plain_text);
        // `[`, numbers and semicolons, and a final letter.
        unread = match sequence.strip_prefix('[') {
            Some(codes) => {
                let end = codes.find(|character: char| ('@'..='~').contains(&character));
                end.and_then(|end| codes.get(end + 1..)).unwrap_or("")
            }
            None => sequence,
        };
    }
    plain.push_str(unread);
    Cow::Owned(plain)
}

/// Parses `[    1.234567] message`, optionally with `<5>` or `kern  :info  : ` before it or `[    T1] ` after the time;
/// the same with a date (`[Sun Nov 22 09:04:00 2026]`, `2026-11-22T09:04:00,123456+00:00`); and the format of
/// `/dev/kmsg` (`6,12,1234567,-;message`). Returns `None` for any other line.
pub fn line(text: &str) -> Option<Line<'_>> {
    let text = text.trim_end_matches('\r');
    if text.starts_with(|character: char| character.is_ascii_digit()) {
        return kmsg(text).or_else(|| iso(text));
    }
    let (prefix, rest) = text.split_once('[')?;
    let prefix = prefix.trim();
    let is_priority = prefix
        .strip_prefix('<')
        .and_then(|digits| digits.strip_suffix('>'))
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if !(prefix.is_empty() || is_priority || (prefix.ends_with(':') && prefix.len() < 24)) {
        return None;
    }
    let (time, message) = rest.split_once(']')?;
    // `dmesg -d` adds the time since the previous line, LG the wall clock: `0.000000 / 01-01 00:00:00.130`, and Amlogic
    // the processor: `0.000000@0`.
    let seconds = time.split(['<', '/', '@']).next().unwrap_or(time).trim();
    let stamp = match nanoseconds(seconds) {
        Some(ns) => Stamp::Log(ns),
        None => Stamp::Wall(date(time)?),
    };
    let message = message.strip_prefix(' ').unwrap_or(message);
    Some(Line { stamp, message: strip_caller(message) })
}

/// Parses `6,12,1234567,-;message`: priority, number, µs, flags.
fn kmsg(text: &str) -> Option<Line<'_>> {
    let (head, message) = text.split_once(';')?;
    let mut fields = head.split(',');
    for _priority_and_number in 0..2 {
        fields.next()?.parse::<u64>().ok()?;
    }
    let us: i64 = fields.next()?.parse().ok().filter(|&us| us >= 0)?;
    Some(Line { stamp: Stamp::Log(us.checked_mul(1000)?), message })
}

/// Parses `2026-11-22T09:04:00,123456+00:00 message`.
fn iso(text: &str) -> Option<Line<'_>> {
    let (time, message) = text.split_once(' ')?;
    let (date, time) = time.split_once('T')?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (time, fraction) = time.split_once(',')?;
    let digits = fraction.find(['+', '-', 'Z'])?;
    let fraction = nanoseconds(&format!("0.{}", fraction.get(..digits)?))?;
    let ns = civil(year.parse().ok()?, month.parse().ok()?, day, time)?.checked_add(fraction)?;
    Some(Line { stamp: Stamp::Wall(ns), message: strip_caller(message) })
}

/// Parses `Sun Nov 22 09:04:00 2026`.
fn date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace();
    let (_, month, day, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)?;
    civil(words.next()?.parse().ok()?, u8::try_from(month + 1).ok()?, day, time)
}

fn civil(year: i64, month: u8, day: &str, time: &str) -> Option<i64> {
    let mut parts = time.splitn(3, ':').map(|part| part.parse::<u8>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    CivilTime { year, month, day: day.parse().ok()?, hour, minute, second, nanosecond: 0 }.to_unix_ns()
}

/// Removes the caller: `[    T1]` or `[    C0]`, and what the kernels of several manufacturers print instead or in
/// addition.
fn strip_caller(message: &str) -> &str {
    /// Maximum number of such prefixes.
    const MAX_PREFIXES: usize = 3;
    (0..MAX_PREFIXES).fold(message, |message, _| {
        thread_prefix(message).or_else(|| vendor_prefix(message)).or_else(|| core_prefix(message)).unwrap_or(message)
    })
}

/// Returns the text after `[    T1] ` or `[    C0] `.
fn thread_prefix(message: &str) -> Option<&str> {
    let (caller, rest) = message.strip_prefix('[')?.split_once(']')?;
    let is_caller = caller
        .trim()
        .strip_prefix(['T', 'C'])
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    // MediaTek prints two blanks. More blanks indent the message.
    is_caller.then(|| rest.strip_prefix(' ').filter(|rest| !rest.starts_with(' ')).unwrap_or(rest))
}

/// Returns the text after the processor, program and thread id, as printed by Rockchip and Samsung
/// (`[0:      swapper/0:    1] `, `I[0: init: 1] `), MediaTek (`<0>.(0)[1:swapper/0]`, ` -(0)[1:init]`) and vivo
/// (`[pid:1,cpu0,init]`).
fn vendor_prefix(message: &str) -> Option<&str> {
    let (level, rest) = message.split_once('[')?;
    let is_level = level.len() <= 10
        && level.chars().all(|c| {
            c.is_ascii_digit() || c.is_ascii_uppercase() || matches!(c, '<' | '>' | '(' | ')' | '.' | '-' | ' ')
        })
        && level.chars().filter(char::is_ascii_uppercase).count() <= 1;
    let (caller, rest) = rest.split_once(']').filter(|_| is_level)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut fields = caller.split([':', ',']).map(str::trim);
    let first = fields.next()?;
    let name = fields.find(|field| !(first == "pid" && is_number(field)))?;
    // `[0:0:0:0]` is a SCSI device.
    let is_caller = (is_number(first) || first == "pid") && !name.is_empty() && !is_number(name);
    is_caller.then(|| rest.trim_start_matches(' '))
}

/// Returns the text after the processor, thread id and program as printed by Spreadtrum: `c0 1 (swapper/0) `, `c0 `.
fn core_prefix(message: &str) -> Option<&str> {
    let (core, rest) = message.trim_start().strip_prefix('c')?.split_once(' ')?;
    let is_number = |text: &str| (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(core) || core.len() > 2 {
        return None;
    }
    let rest = rest.trim_start();
    let rest = rest.split_once(' ').filter(|(id, _)| is_number(id)).map_or(rest, |(_, rest)| rest.trim_start());
    let program = rest.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    Some(program.map_or(rest, |(_, rest)| rest))
}

/// Parses `12.345678`, with up to nine decimal places. Returns ns.
pub fn nanoseconds(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits = u32::try_from(fraction.len()).ok()?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(seconds) || !is_number(fraction) || digits > 9 {
        return None;
    }
    let fraction = fraction.parse::<i64>().ok()?.checked_mul(10_i64.pow(9 - digits))?;
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Returns the time of a line that NVIDIA's boot loaders write to a serial console, `[0001.084] Verifying TBC …`: four
/// digits and milliseconds, where the kernel has microseconds.
pub fn loader_time(line: &str) -> Option<&str> {
    let (time, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, fraction) = time.split_once('.')?;
    let is_number = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(seconds, 4) && is_number(fraction, 3) && rest.starts_with(' ')).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_loader_time_from_kernel_time() {
        for line in ["[0000.125] [TegraBoot] (version 00.00.2018.01-l4t-8728f3cb)", "[0012.345] CBoot-1 (mode 0)"] {
            assert!(loader_time(line).is_some(), "{line}");
        }
        // Kernel lines, also with a large uptime, and lines that are neither.
        for line in [
            "[    0.125000] a",
            "[ 1234.567890] a",
            "[12345.678901] a",
            "[0000.125000] a",
            "[0000.125]a",
            "[00:11.125] a",
            "[a.b] c",
            "",
        ] {
            assert_eq!(loader_time(line), None, "{line}");
        }
    }

    #[test]
    fn reads_every_dmesg_format() {
        const DATE_NS: i64 = 1_795_338_240_000_000_000;
        for (text, stamp) in [
            ("[    1.500000] usb: [x] y", Stamp::Log(1_500_000_000)),
            ("<6>[    1.500000] usb: [x] y", Stamp::Log(1_500_000_000)),
            ("kern  :info  : [    1.500000] usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[    1.500000][    T1] usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[    1.500000 <    0.000012>] usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[    1.500000 / 01-01 00:00:01.630] usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[    1.500000@1] usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[    1.500000] [0:        swapper:    0] usb: [x] y", Stamp::Log(1_500_000_000)),
            ("<6>[    1.500000]  I[0:      swapper/0:    1] usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[    1.500000] <0>.(0)[1:swapper/0]usb: [x] y", Stamp::Log(1_500_000_000)),
            ("<6>[    1.500000]  -(0)[1:swapper/0]usb: [x] y", Stamp::Log(1_500_000_000)),
            ("<6>[    1.500000][T001]  usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[    1.500000][    T1] [pid:1,cpu0,swapper]usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[    1.500000] c0 1 (swapper/0) usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[    1.500000] c3 usb: [x] y", Stamp::Log(1_500_000_000)),
            ("\u{1b}[32m[    1.500000] \u{1b}[0m\u{1b}[33musb: \u{1b}[0m[x] y", Stamp::Log(1_500_000_000)),
            ("6,339,1500000,-;usb: [x] y", Stamp::Log(1_500_000_000)),
            ("6,339,1500000,-,caller=T1;usb: [x] y", Stamp::Log(1_500_000_000)),
            ("[Sun Nov 22 09:04:00 2026] usb: [x] y", Stamp::Wall(DATE_NS)),
            ("kern  :info  : [Sun Nov 22 09:04:00 2026] usb: [x] y", Stamp::Wall(DATE_NS)),
            ("2026-11-22T09:04:00,250000+00:00 usb: [x] y", Stamp::Wall(DATE_NS + 250_000_000)),
        ] {
            let plain = strip_colors(text);
            assert_eq!(line(&plain), Some(Line { stamp, message: "usb: [x] y" }), "{text}");
        }
        for text in
            ["", "[", "[  OK  ] Started x", "[Nov22 09:04] x", "[  +0.000012] x", "a;b", "1,2;x", "2026-11-22T x"]
        {
            assert_eq!(line(text), None, "{text}");
        }
    }

    #[test]
    fn keeps_brackets_of_the_message() {
        for message in [
            "[0:0:0:0] Direct-Access",
            "[drm:intel_init] x",
            "pci 0000:00:1f.0: [8086:1234] type 00",
            "sd 0:0:0:0: [sda] Write Protect is off",
            "  DMA      [mem 0x0000000000001000-0x0000000000ffffff]",
            "c0t0d0: x",
            "ACPI: PCI Interrupt Link [LNKA] (IRQs 5 *10 11)",
        ] {
            assert_eq!(line(&format!("[    1.500000] {message}")).map(|line| line.message), Some(message));
        }
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text: String, date in "[A-Za-z0-9 :,+T-]{0,40}") {
            line(&strip_colors(&text));
            line(&format!("[{date}] x"));
            line(&format!("{date} x"));
            line(&format!("[    1.500000] {date} [1:x] {text}"));
        }
    }
}
