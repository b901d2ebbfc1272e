//! One line of the kernel's log as text.

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::linux) struct Line<'a> {
    /// Time by the log's clock, ns.
    pub(in crate::linux) time_ns: i64,
    /// What it says.
    pub(in crate::linux) message: &'a str,
}

/// Reads `[    1.234567] message`, with `<5>` or `kern  :info  : ` before it, or `[    T1] ` behind the time. `None` for any other
/// line.
pub(in crate::linux) fn line(text: &str) -> Option<Line<'_>> {
    let text = text.trim_end_matches('\r');
    let (prefix, rest) = text.split_once('[')?;
    let prefix = prefix.trim();
    let priority = prefix
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if !(prefix.is_empty() || priority || (prefix.ends_with(':') && prefix.len() < 24)) {
        return None;
    }
    let (time, message) = rest.split_once(']')?;
    let time_ns = nanoseconds(time.trim())?;
    let message = message.strip_prefix(' ').unwrap_or(message);
    Some(Line { time_ns, message: caller(message) })
}

/// Leaves out who called: `[    T1]` or `[    C0]`.
fn caller(message: &str) -> &str {
    let Some((inside, rest)) = message.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return message;
    };
    let inside = inside.trim();
    let known = inside
        .strip_prefix(['T', 'C'])
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    if known { rest.strip_prefix(' ').unwrap_or(rest) } else { message }
}

/// `12.345678`, up to nine digits behind the point.
pub(in crate::linux) fn nanoseconds(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits = u32::try_from(fraction.len()).ok()?;
    let whole = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !whole(seconds) || !whole(fraction) || digits > 9 {
        return None;
    }
    let fraction = fraction.parse::<i64>().ok()?.checked_mul(10_i64.pow(9 - digits))?;
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}
