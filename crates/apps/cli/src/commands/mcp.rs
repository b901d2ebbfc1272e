//! `onoff mcp`.

use std::path::PathBuf;

use crate::failure::Failure;

/// Serves the verbs as tools, about the recordings in the folders.
#[cfg(feature = "mcp")]
pub fn run(folders: &[PathBuf]) -> Result<(), Failure> {
    use std::ffi::OsString;
    use std::panic::catch_unwind;
    use std::sync::Arc;

    use onoff_mcp::folders::Folders;
    use onoff_mcp::{Assistant, server};

    let folders = Folders::new(folders).map_err(|refused| Failure::Unreadable(refused.to_string()))?;
    // A fault of a reader is an answer that failed, not the end of the conversation.
    let verb = |arguments: Vec<OsString>| match catch_unwind(|| crate::answer(arguments)) {
        Ok(answered) => answered.map_err(|none| none.message),
        Err(_) => Err("the program failed on this recording; please report it".to_owned()),
    };
    let assistant = Assistant::new(folders, Arc::new(verb), super::guide::TEXT.to_owned());
    Ok(server::serve(assistant, env!("CARGO_PKG_VERSION"))?)
}

/// Says what is missing.
#[cfg(not(feature = "mcp"))]
pub fn run(_: &[PathBuf]) -> Result<(), Failure> {
    Err(Failure::nothing(
        "mcp: this program was built without it; build it with '--features mcp', or take a released one",
    ))
}
