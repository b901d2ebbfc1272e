//! The arguments of verbs that name functions.

use clap::Args;

/// Where the names of functions come from.
#[derive(Debug, Args)]
pub struct SymbolArguments {
    /// Where the files are that name functions: PDB files, or of a computer with Linux its programs, libraries and debug files
    /// (.build-id). Folders, stores and servers as in _NT_SYMBOL_PATH, which is used when this is not given, e.g.
    /// 'C:\my;srv*C:\symbols*https://msdl.microsoft.com/download/symbols'. A server gets name and identity of a PDB file that no
    /// folder has; what it sends is kept in the store before it
    #[allow(rustdoc::bare_urls, reason = "the help shows it as it is to be written")]
    #[arg(long, value_name = "PATH")]
    pub symbols: Option<String>,

    /// Ask no symbol server; so does the environment variable ONOFF_OFFLINE=1
    #[arg(long)]
    pub offline: bool,
}
