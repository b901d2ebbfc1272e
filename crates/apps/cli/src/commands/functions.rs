//! Where the functions of an answer's call stacks are looked up.

use onoff::function_names;
use onoff_symbols::SymbolFinder;
use onoff_trace::Trace;
use onoff_usage::functions::{CodePlace, FunctionNames};

use super::symbols::SymbolTask;

/// Whether the path has servers that are not asked.
pub const fn is_offline(symbols: &SymbolTask) -> bool {
    symbols.offline || cfg!(not(feature = "download"))
}

/// Gives the functions at places in code, as the arguments say.
pub fn names(symbols: SymbolTask) -> impl FnMut(&Trace, &[CodePlace]) -> FunctionNames {
    let servers_left_alone = is_offline(&symbols) && !symbols.path.servers().is_empty();
    let mut finder = finder(symbols);
    move |trace, places| function_names(trace, places, &mut finder, servers_left_alone)
}

/// Finds files as the arguments say.
pub fn finder(symbols: SymbolTask) -> SymbolFinder {
    #[cfg(feature = "download")]
    if !symbols.offline {
        let downloads = onoff_symbols::Downloads::new(onoff_symbols::Limits::default());
        return SymbolFinder::online(symbols.path, downloads.with_listener(show_request));
    }
    SymbolFinder::local(symbols.path)
}

/// Says on a terminal what is being waited for.
#[cfg(feature = "download")]
fn show_request(name: &str, server: &str) {
    use std::io::{IsTerminal, Write, stderr};

    if stderr().is_terminal() {
        // An answer is not worth less because nobody saw how it came.
        let _ = writeln!(stderr(), "asking {server} for {name}");
    }
}
