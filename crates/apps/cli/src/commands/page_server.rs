//! Serves the page of `onoff view` on this computer.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onoff_server::{Content, Server};
use onoff_sink::PrivateFile;

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::output::Destination;

pub const NOTHING_TO_SHOW: &str = "nothing to show: no boot, shutdown or sleep, and no process, service or device events; 'onoff info' shows the contents";

/// Length of the token: 128 bits, too many to guess.
const TOKEN_BYTES: usize = 16;

/// Returns the name that the page shows for a recording.
pub fn display_name(files: &[PathBuf], recording: &Recording) -> String {
    let file_name = |path: &PathBuf| {
        path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    match recording.redact {
        // The names of the files may contain the name of the computer.
        true => "redacted event logs".to_owned(),
        false => files.iter().map(file_name).collect::<Vec<String>>().join("+"),
    }
}

/// Serves `content`, which may still grow, until the process ends.
pub fn serve(
    (port, open): (u16, bool),
    names: &[&str],
    content: Arc<Content>,
    destination: &Destination,
) -> Result<(), Failure> {
    let cannot_serve =
        |error: std::io::Error| Failure::Unreadable(format!("cannot serve the page on 127.0.0.1: {error}"));
    let port = match port {
        0 => usual_port(names.iter().copied()),
        port => port,
    };
    let server = Server::bind(port, random_token()?, content).map_err(cannot_serve)?;
    let url = server.url();
    destination.write(|out| Ok(writeln!(out, "{url}\nPress Ctrl-C to stop.").and_then(|()| out.flush())?))?;
    // The file must exist until the browser has read it.
    let redirect = (open && cfg!(unix)).then(|| redirect_file(&url));
    if open {
        // If there is no browser, or no file, the user can copy the address.
        let _ignored = match &redirect {
            Some(file) => file.as_ref().map(|file| ::open::that_detached(file.path())).ok(),
            None => Some(::open::that_detached(Path::new(&url))),
        };
    }
    server.run().map_err(cannot_serve)
}

/// Writes a private file that redirects to `url`. Other users see the command lines of programs, so the token must not
/// be in the command line of a browser.
fn redirect_file(url: &str) -> std::io::Result<PrivateFile> {
    let page = format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>onoff</title>\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">onoff view</a></html>\n"
    );
    PrivateFile::create(&redirect_folder(), ".html", page.as_bytes())
}

/// Returns a folder that browsers can read. Browsers installed as snaps can read neither `/tmp` nor `/run`.
fn redirect_folder() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = folder("HOME").unwrap_or_default();
    let snaps = ["firefox", "chromium"].map(|browser| home.join("snap").join(browser).join("common"));
    let existing = snaps.into_iter().chain(folder("XDG_RUNTIME_DIR")).find(|folder| folder.is_dir());
    existing.unwrap_or_else(std::env::temp_dir)
}

/// Returns the port for recordings with these names if it is free, otherwise 0 for any port. Browsers keep saved views
/// by address, so they are found again if the port is the same.
fn usual_port<'n>(names: impl Iterator<Item = &'n str>) -> u16 {
    /// The first port that no service is registered for, and the number of such ports.
    const FIRST: u16 = 49_152;
    const COUNT: u32 = 16_384;
    let hash = names.flat_map(str::bytes).fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
    let port = u16::try_from(hash % COUNT).map_or(0, |offset| FIRST.saturating_add(offset));
    match std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => port,
        Err(_) => 0,
    }
}

fn random_token() -> Result<String, Failure> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Unreadable(format!("no random numbers available: {error}")))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::usual_port;

    #[test]
    fn usual_port_is_the_same_unless_it_is_taken() {
        let port = usual_port(["a.etl", "b.etl"].into_iter());
        assert!(port >= 49_152);
        assert_eq!(usual_port(["a.etl", "b.etl"].into_iter()), port);
        let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        assert_eq!(usual_port(["a.etl", "b.etl"].into_iter()), 0);
    }
}
