//! The `onoff` program.

mod process;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    {
        process::report_closed_stdout();
        remove_unfinished_on_signal();
    }
    ExitCode::from(onoff_cli::run(std::env::args_os()))
}

/// Removes unfinished output when a signal ends the program.
#[cfg(unix)]
fn remove_unfinished_on_signal() {
    use std::sync::Arc;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let ignored = ignored_signals();
    let handled = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    // Without the handler, the program still works.
    let Ok(mut signals) = Signals::new(handled) else { return };
    let handle = move || {
        for signal in signals.forever() {
            onoff_cli::remove_unfinished();
            // Ends the process as if there were no handler.
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(handle);
    // With a handler, a write beyond the maximum file size (ulimit -f) is an error like a full disk.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::default());
}

/// Returns the signals that `nohup` or a shell lets this process ignore, as bits; none where Linux' `/proc` is missing.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
