//! `onoff mcp`.

use std::ffi::OsString;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::sync::Arc;

use onoff_mcp::folders::Folders;
use onoff_mcp::{Assistant, server};

use crate::failure::Failure;

/// Serves the verbs as MCP tools for the recordings in `folders`.
pub fn run(folders: &[PathBuf]) -> Result<(), Failure> {
    onoff_sink::check_stdout()?;
    let folders = Folders::new(folders).map_err(|error| Failure::Unreadable(error.to_string()))?;
    // A panic fails one call, not the server.
    let verb = |arguments: Vec<OsString>| match catch_unwind(|| crate::answer(arguments)) {
        Ok(answer) => answer.map_err(|error| error.message),
        Err(_) => Err("onoff crashed on this recording; please report it".to_owned()),
    };
    let assistant = Assistant::new(folders, Arc::new(verb), super::guide::TEXT.to_owned());
    Ok(server::serve(assistant, env!("CARGO_PKG_VERSION"))?)
}
