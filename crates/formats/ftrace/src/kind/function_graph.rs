//! Parses function_graph tracer text: `+ 12.1 us |    foo() {`, `0.6 us |  foo();`, `1.2 us |  }`.

use super::Kind;

/// Indentation of the outermost function, and additional indentation per level.
const INDENT: usize = 2;

/// Parses a line that starts with the duration.
pub(super) fn read(text: &str) -> Option<Kind<'_>> {
    let (duration, call) = text.split_once('|')?;
    let duration_ns = duration_ns(duration);
    let words = call.trim_start();
    let depth = u32::try_from((call.len() - words.len()) / INDENT).ok()?.saturating_sub(1);
    let words = words.trim_end();
    if words.starts_with('}') {
        return Some(Kind::FunctionEnd { depth, duration_ns, overrun: 0 });
    }
    let (function, tail) = words.split_once('(')?;
    let function = function.trim_end();
    if function.is_empty() {
        return None;
    }
    if tail.ends_with('{') {
        return Some(Kind::FunctionBegin { function, depth });
    }
    tail.contains(';').then_some(Kind::FunctionCall { function, depth, duration_ns })
}

/// Parses `0.633 us`, with an optional mark for long durations: `+`, `!`, `#`, `*`, `@`, `$`.
fn duration_ns(text: &str) -> Option<u64> {
    let number = text.trim().strip_suffix("us")?.trim().trim_start_matches(['+', '!', '#', '*', '@', '$']).trim_start();
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.len() > 3 || integer.is_empty() || !is_digits(integer) || !is_digits(fraction) {
        return None;
    }
    let fraction = format!("{fraction:0<3}").parse::<u64>().ok()?;
    integer.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_calls_and_returns() {
        let end = |depth, duration_ns| Some(Kind::FunctionEnd { depth, duration_ns, overrun: 0 });
        let leaf = |function, depth, duration_ns| Some(Kind::FunctionCall { function, depth, duration_ns });
        assert_eq!(
            read("|  dpm_run_callback() {"),
            Some(Kind::FunctionBegin { function: "dpm_run_callback", depth: 0 })
        );
        assert_eq!(
            read("|    xhci_resume [xhci_hcd](x=1) {"),
            Some(Kind::FunctionBegin { function: "xhci_resume [xhci_hcd]", depth: 1 })
        );
        assert_eq!(read("0.633 us    |      mutex_lock();"), leaf("mutex_lock", 2, Some(633)));
        assert_eq!(read("0.633 us    |  f(); /* = 0x0 */"), leaf("f", 0, Some(633)));
        assert_eq!(read("+ 12.1 us   |  }"), end(0, Some(12_100)));
        assert_eq!(read("$ 1234567 us |    } /* msleep */"), end(1, Some(1_234_567_000)));
        assert_eq!(read("|  }"), end(0, None));
        for text in ["", "|", "|  foo", "|  ();", "==========> |", "0.1 us foo();", "|  foo()"] {
            assert_eq!(read(text), None, "{text}");
        }
        for text in ["1.2345 us", "us", "x us", "1.2 ms", "99999999999999999999 us", ". us"] {
            assert_eq!(duration_ns(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text in "[-+!#*@$0-9. us|a-z(){};/]{0,60}", any: String) {
            let _ = read(&text);
            let _ = read(&any);
        }
    }
}
