//! PDB files from servers, simulated by local listeners. The PDB is the same as in `stores.rs`.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::read::GzDecoder;
use onoff_symbols::{DownloadError, Downloads, Limits, SymbolError, SymbolFinder, SymbolPath, Symbols};

const IDENTITY: &str = "662C43260F04F9624C4C44205044422E1";
const IN_STORE: &str = "/driver.pdb/662C43260F04F9624C4C44205044422E1/driver.pdb";

fn pdb() -> Vec<u8> {
    let packed = include_bytes!("data/driver.pdb.gz");
    let mut pdb = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut pdb).unwrap();
    pdb
}

/// Returns the PDB in a cabinet, as `makecab` packs it.
fn cabinet() -> Vec<u8> {
    let mut builder = cab::CabinetBuilder::new();
    builder.add_folder(cab::CompressionType::MsZip).add_file("driver.pdb");
    let mut writer = builder.build(std::io::Cursor::new(Vec::new())).unwrap();
    while let Some(mut file) = writer.next_file().unwrap() {
        file.write_all(&pdb()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A local server with a response for each path and a log of its requests.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(respond: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (respond, log) = (Arc::new(respond), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (respond, log) = (Arc::clone(&respond), Arc::clone(&log));
                std::thread::spawn(move || serve(stream, &*respond, &log));
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Serves one request and closes the connection.
fn serve(mut stream: TcpStream, respond: &dyn Fn(&str) -> Vec<u8>, log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(request_line)) = lines.next() else {
        return;
    };
    for line in lines {
        if line.unwrap_or_default().is_empty() {
            break;
        }
    }
    let path = request_line.split(' ').nth(1).unwrap_or_default().to_owned();
    let bytes = respond(&path);
    log.lock().unwrap().push(path);
    let _ = stream.write_all(&bytes);
}

fn response(status: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn not_found() -> Vec<u8> {
    response("404 Not Found", b"")
}

/// Returns a finder that downloads from the server at `url` into `store`.
fn finder(url: &str, store: &Path) -> SymbolFinder {
    let limits = Limits {
        max_bytes: 4 << 20,
        connect: Duration::from_secs(20),
        idle: Duration::from_secs(20),
        total: Duration::from_secs(60),
        max_redirects: 3,
    };
    let path = SymbolPath::parse(&format!("srv*{}*{url}", store.display()));
    SymbolFinder::online(path, Downloads::new(limits))
}

fn find_error(respond: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> (SymbolError, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(respond);
    let mut finder = finder(&server.url, folder.path());
    let error = finder.find("driver.pdb", IDENTITY).err().unwrap();
    assert_eq!(finder.unreachable_servers(), [] as [&str; 0]);
    assert_empty(folder.path());
    (error, server.requests())
}

fn fault(respond: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> DownloadError {
    let (error, _) = find_error(respond);
    match error {
        SymbolError::Server(_, fault) => fault,
        error => panic!("{error}"),
    }
}

/// Checks that the store is empty, without partial files.
fn assert_empty(store: &Path) {
    assert_eq!(std::fs::read_dir(store).unwrap().count(), 0);
}

fn assert_named(symbols: &Symbols) {
    assert_eq!(symbols.functions([0x1025]).unwrap(), [Some("t::start_device".to_owned())]);
}

#[test]
fn downloads_file_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|path| match path {
        IN_STORE => response("200 OK", &pdb()),
        _ => not_found(),
    });
    let stored_path = folder.path().join(&IN_STORE[1..]);
    for _ in 0..2 {
        let mut finder = finder(&server.url, folder.path());
        // As recorded: with folders of the build computer, in any case.
        let symbols = finder.find(r"D:\secret\driver.pdb", &IDENTITY.to_lowercase());
        let symbols = symbols.unwrap();
        assert_named(&symbols);
        assert_eq!(symbols.path(), stored_path);
    }
    assert_eq!(std::fs::read(&stored_path).unwrap(), pdb());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // Only the file name and identity were sent.
    assert_eq!(server.requests(), [IN_STORE]);
}

#[test]
fn follows_redirects_but_not_loops() {
    let folder = tempfile::tempdir().unwrap();
    let moved = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let server = Server::new(move |path| match path {
        "/elsewhere" => response("200 OK", &pdb()),
        _ => moved.into(),
    });
    let result = finder(&server.url, folder.path()).find("driver.pdb", IDENTITY);
    assert_named(&result.unwrap());
    assert_eq!(server.requests(), [IN_STORE, "/elsewhere"]);

    assert!(matches!(fault(move |_| moved.into()), DownloadError::InvalidResponse(_)));
}

#[test]
fn unpacks_cabinets() {
    let folder = tempfile::tempdir().unwrap();
    let packed = format!("{}_", &IN_STORE[..IN_STORE.len() - 1]);
    let server = Server::new(move |path| if path == packed { response("200 OK", &cabinet()) } else { not_found() });
    let result = finder(&server.url, folder.path()).find("driver.pdb", IDENTITY);
    assert_named(&result.unwrap());
    assert_eq!(std::fs::read(folder.path().join(&IN_STORE[1..])).unwrap(), pdb());

    let fault = fault(|path| match path {
        path if path.ends_with("pd_") => response("200 OK", b"MSCF, but no cabinet"),
        _ => not_found(),
    });
    assert!(matches!(fault, DownloadError::InvalidResponse(_)), "{fault}");
}

#[test]
fn requests_each_form_of_a_missing_file() {
    let (error, requests) = find_error(|_| not_found());
    assert!(matches!(error, SymbolError::NotOnServer));
    let base = "/driver.pdb/662C43260F04F9624C4C44205044422E1";
    let forms = ["driver.pdb", "driver.pd_", "file.ptr"];
    assert_eq!(requests, forms.map(|form| format!("{base}/{form}")));
}

#[test]
fn rejects_invalid_downloads() {
    let truncated = |_: &str| {
        let mut bytes = response("200 OK", &pdb());
        bytes.truncate(bytes.len() / 2);
        bytes
    };
    assert!(matches!(fault(truncated), DownloadError::InvalidResponse(_)));
    // The GUID is in the file once, with little-endian fields, followed by the age and the name.
    let other_build = |_: &str| {
        let mut pdb = pdb();
        let guid = [0x26, 0x43, 0x2C, 0x66, 0x04, 0x0F, 0x62, 0xF9, 0x4C, 0x4C, 0x44, 0x20, 0x50, 0x44, 0x42, 0x2E];
        let index = pdb.windows(guid.len()).position(|window| window == guid).unwrap();
        pdb[index] ^= 0xFF;
        response("200 OK", &pdb)
    };
    assert!(matches!(fault(other_build), DownloadError::OtherBuild));
    let sign_in = |_: &str| response("200 OK", b"<html>Please sign in</html>");
    assert!(matches!(fault(sign_in), DownloadError::NotPdb(_)));
    let too_large = |_: &str| response("200 OK", &vec![0; (4 << 20) + 1]);
    assert!(matches!(fault(too_large), DownloadError::TooLarge(4_194_304)));
    // A response without a content length is limited, too.
    let endless = |_: &str| {
        let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
        [&head[..], &vec![0; 5 << 20]].concat()
    };
    assert!(matches!(fault(endless), DownloadError::TooLarge(4_194_304)));
    assert!(matches!(fault(|_| response("403 Forbidden", b"")), DownloadError::Status(403)));
    let pointer = |path: &str| match path {
        path if path.ends_with("/file.ptr") => response("200 OK", br"PATH:\\evil\share\driver.pdb"),
        _ => not_found(),
    };
    assert!(matches!(fault(pointer), DownloadError::Pointer));
}

#[test]
fn contacts_unreachable_server_once_and_tries_next() {
    let folder = tempfile::tempdir().unwrap();
    let closed_url = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let mut single_server_finder = finder(&closed_url, folder.path());
    for name in ["driver.pdb", "other.pdb"] {
        let error = single_server_finder.find(name, IDENTITY).err().unwrap();
        assert!(matches!(error, SymbolError::NotFound));
    }
    let unreachable = single_server_finder.unreachable_servers();
    assert_eq!(unreachable.len(), 1);
    assert!(unreachable[0].starts_with(&format!("{closed_url}: cannot be reached: ")));

    let server = Server::new(|_| response("200 OK", &pdb()));
    let mut two_server_finder = finder(&format!("{closed_url}*{}", server.url), folder.path());
    assert_named(&two_server_finder.find("driver.pdb", IDENTITY).unwrap());
    assert_eq!(two_server_finder.unreachable_servers().len(), 1);
}

#[test]
fn local_finder_uses_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|_| response("200 OK", &pdb()));
    let text = format!("srv*{}*{}", folder.path().display(), server.url);
    let mut finder = SymbolFinder::local(SymbolPath::parse(&text));
    let error = finder.find("driver.pdb", IDENTITY).err().unwrap();
    assert!(matches!(error, SymbolError::NotFound));
    assert_eq!(server.requests(), [] as [&str; 0]);
}

#[test]
fn recorded_names_are_validated_and_encoded() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|_| not_found());
    let mut finder = finder(&server.url, folder.path());
    for (name, identity) in [("..", IDENTITY), ("driver.pdb", "../.."), ("a:b", IDENTITY)] {
        let error = finder.find(name, identity).err().unwrap();
        assert!(matches!(error, SymbolError::NotFound), "{name} {identity}");
    }
    assert_eq!(server.requests(), [] as [&str; 0]);
    finder.find("a b?c#d%.pdb", IDENTITY).err().unwrap();
    assert_eq!(server.requests()[0], format!("/a%20b%3Fc%23d%25.pdb/{IDENTITY}/a%20b%3Fc%23d%25.pdb"));
}
