//! The arguments of verbs that resolve function names.

use clap::Args;

#[derive(Debug, Args)]
pub struct SymbolArguments {
    /// Symbol path (PDB or ELF files, folders, servers). Same syntax as _NT_SYMBOL_PATH, which is the default, e.g.
    /// 'C:\my;srv*C:\symbols*https://msdl.microsoft.com/download/symbols'. For Linux, name the folders of programs,
    /// libraries and debug files (.build-id). A server receives only the names and ids of PDB files that no folder has;
    /// downloads are saved in the preceding store
    #[allow(rustdoc::bare_urls, reason = "the help shows the URL as it is typed")]
    #[arg(long, value_name = "PATH")]
    pub symbols: Option<String>,

    /// Do not contact symbol servers; same as the environment variable ONOFF_OFFLINE=1
    #[arg(long)]
    pub offline: bool,
}
