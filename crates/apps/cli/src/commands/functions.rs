//! Looks up the function names of call stacks.

use onoff::resolve_functions;
use onoff_symbols::SymbolFinder;
use onoff_trace::Trace;
use onoff_usage::functions::{CodeLocation, FunctionNames};

use super::symbols::SymbolTask;

/// Returns true if symbol servers are not contacted.
pub const fn is_offline(symbols: &SymbolTask) -> bool {
    symbols.offline || cfg!(not(feature = "download"))
}

/// Returns true if there is a place to look for symbols.
pub fn has_source(symbols: &SymbolTask) -> bool {
    !symbols.path.places().is_empty() || !symbols.path.servers().is_empty()
}

/// Returns a lookup of function names by code address.
pub fn name_resolver(symbols: SymbolTask) -> impl FnMut(&Trace, &[CodeLocation]) -> FunctionNames {
    let servers_skipped = is_offline(&symbols) && !symbols.path.servers().is_empty();
    let mut finder = finder(symbols);
    move |trace, places| resolve_functions(trace, places, &mut finder, servers_skipped)
}

pub fn finder(symbols: SymbolTask) -> SymbolFinder {
    #[cfg(feature = "download")]
    if !symbols.offline {
        let downloads = onoff_symbols::Downloads::new(onoff_symbols::Limits::default());
        return SymbolFinder::online(symbols.path, downloads.with_listener(show_request));
    }
    SymbolFinder::local(symbols.path)
}

/// Shows the current download on a terminal.
#[cfg(feature = "download")]
fn show_request(name: &str, server: &str) {
    use std::io::{IsTerminal, Write, stderr};

    if stderr().is_terminal() {
        // Progress is optional; ignore a closed stderr.
        let _ = writeln!(stderr(), "requesting {name} from {server}");
    }
}
