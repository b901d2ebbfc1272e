//! `onoff mcp`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use onoff_mcp::folders::Folders;
use onoff_mcp::{Assistant, Work, server};
use onoff_sources::Progress;

use crate::failure::Failure;
use crate::progress::with_listener;

/// Serves the verbs as MCP tools for the recordings in `folders`.
pub fn run(folders: &[PathBuf]) -> Result<(), Failure> {
    onoff_sink::check_stdout()?;
    let folders = Folders::new(folders).map_err(|error| Failure::Unreadable(error.to_string()))?;
    let verb = |arguments: Vec<OsString>, work: &Arc<Work>| {
        let work = Arc::clone(work);
        let listener = Arc::new(move |progress: Progress| work.report(progress.done_bytes, progress.total_bytes));
        with_listener(listener, || crate::answer(arguments)).map_err(|error| error.message)
    };
    let assistant = Assistant::new(folders, Arc::new(verb), super::guide::TEXT.to_owned());
    Ok(server::serve(assistant, env!("CARGO_PKG_VERSION"))?)
}
