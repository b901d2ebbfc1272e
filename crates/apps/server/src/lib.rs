//! HTTP server for the page: 127.0.0.1 only, protected by a token, read-only.
//!
//! To reject requests from other pages and DNS rebinding, every request must name this server in `Host`, carry the
//! token as the first element of its path, and have no foreign `Origin`.
//!
//! Other programs on the computer can connect without the token, so connections are limited in number and time.

#![forbid(unsafe_code)]

mod content;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use onoff_page::file;
use onoff_page::queries::{self, QueryError};

pub use content::Content;

/// Maximum number of queries that are answered at the same time.
const MAX_CONCURRENT_QUERIES: usize = 16;
/// Maximum number of connections. A browser opens six; most systems allow 256 files or more.
const MAX_CONNECTIONS: usize = 64;

/// Time limits of a connection.
#[derive(Clone, Copy, Debug)]
struct TimeLimits {
    /// For the header of a request, and between two requests.
    header: Duration,
    /// Until the last request of a connection begins. The browser connects again.
    connection: Duration,
    /// For the last request of a connection: queries on large recordings take long.
    last_request: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            connection: Duration::from_secs(60),
            last_request: Duration::from_secs(600),
        }
    }
}

/// Time without a request after which the server stops if there is nothing to serve. The page asks once a second.
const FAILURE_INTERVAL: Duration = Duration::from_secs(3);

/// A server bound to a port.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    site: Arc<Site>,
    limits: TimeLimits,
}

/// The served content and the access token.
#[derive(Debug)]
struct Site {
    address: SocketAddr,
    token: String,
    content: Arc<Content>,
}

impl Server {
    /// Binds to `port` on 127.0.0.1; 0 selects a free port. `token` must not be guessable.
    ///
    /// # Errors
    /// The port is in use.
    pub fn bind(port: u16, token: String, content: Arc<Content>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let site = Arc::new(Site { address, token, content });
        Ok(Self { listener, site, limits: TimeLimits::default() })
    }

    /// Returns the URL of the page, including the token.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.site.address, self.site.token)
    }

    /// Serves requests until the process ends, or until reading has failed.
    ///
    /// # Errors
    /// The system provides no event queue.
    pub fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(MAX_CONCURRENT_QUERIES)
            .enable_all()
            .build()?;
        self.listener.set_nonblocking(true)?;
        runtime.block_on(async move {
            /// Time until the server tries again if there are too many connections or open files.
            const PAUSE: Duration = Duration::from_millis(20);
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let connections = Arc::new(AtomicUsize::new(0));
            loop {
                if connections.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                let Ok(accepted) = tokio::time::timeout(FAILURE_INTERVAL, listener.accept()).await else {
                    match self.site.content.has_failed() {
                        true => return Ok(()),
                        false => continue,
                    }
                };
                // A failure concerns one connection, or passes when others are closed.
                let Ok((stream, _)) = accepted else {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                };
                connections.fetch_add(1, Ordering::Relaxed);
                let (site, connections) = (Arc::clone(&self.site), Arc::clone(&connections));
                tokio::spawn(async move {
                    serve_connection(stream, site, self.limits).await;
                    connections.fetch_sub(1, Ordering::Relaxed);
                });
            }
        })
    }
}

/// Answers the requests of one connection.
async fn serve_connection(stream: tokio::net::TcpStream, site: Arc<Site>, limits: TimeLimits) {
    let service = service_fn(move |request: Request<Incoming>| {
        let site = Arc::clone(&site);
        async move {
            // A query can take seconds; others are answered meanwhile.
            let response = tokio::task::spawn_blocking(move || site.respond(&request)).await;
            Ok::<_, Infallible>(response.unwrap_or_else(|_| error(StatusCode::INTERNAL_SERVER_ERROR)))
        }
    });
    let mut connection = std::pin::pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header)
            .serve_connection(TokioIo::new(stream), service)
    );
    // Ignore errors: the browser may close the connection at any time.
    if tokio::time::timeout(limits.connection, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(limits.last_request, connection).await;
    }
}

impl Site {
    fn respond<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        match self.content(request) {
            Ok((content_type, body)) => response(StatusCode::OK, content_type, body),
            Err(status) => error(status),
        }
    }

    fn content<B>(&self, request: &Request<B>) -> Result<(&'static str, String), StatusCode> {
        let header = |name| request.headers().get(name).map(HeaderValue::as_bytes);
        let host = self.address.to_string();
        if header(HOST) != Some(host.as_bytes()) {
            return Err(StatusCode::FORBIDDEN);
        }
        if header(ORIGIN).is_some_and(|origin| origin != format!("http://{host}").as_bytes()) {
            return Err(StatusCode::FORBIDDEN);
        }
        let path = request.uri().path().strip_prefix('/').unwrap_or_default();
        let (token, resource) = path.split_once('/').ok_or(StatusCode::FORBIDDEN)?;
        if !constant_time_eq(token.as_bytes(), self.token.as_bytes()) {
            return Err(StatusCode::FORBIDDEN);
        }
        if *request.method() != Method::GET {
            return Err(StatusCode::METHOD_NOT_ALLOWED);
        }
        match resource {
            "" => {
                let html = file::html(&self.content.page()).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
                Ok(("text/html; charset=utf-8", html))
            }
            "page" => {
                let query = request.uri().query().unwrap_or_default();
                let revision = query.strip_prefix("after=").and_then(|revision| revision.parse().ok());
                let page = self.content.page_after(revision.ok_or(StatusCode::BAD_REQUEST)?);
                let page = serde_json::to_string(&page).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
                Ok(("application/json", page))
            }
            name => {
                let query = request.uri().query().unwrap_or_default();
                let recordings = self.content.recordings();
                Ok(("application/json", queries::answer(&recordings, name, query).map_err(status_code)?))
            }
        }
    }
}

/// Compares in constant time, so that the token cannot be guessed byte by byte.
fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

fn status_code(error: QueryError) -> StatusCode {
    match error {
        QueryError::NotFound => StatusCode::NOT_FOUND,
        QueryError::Malformed => StatusCode::BAD_REQUEST,
        QueryError::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn error(status: StatusCode) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", status.to_string())
}

fn response(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    for (name, value) in [
        (CONTENT_TYPE, content_type),
        (CACHE_CONTROL, "no-store"),
        (hyper::header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (hyper::header::REFERRER_POLICY, "no-referrer"),
        (hyper::header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_page::build::LoadedRecording;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn site() -> Site {
        let recording = LoadedRecording::new("empty.etl".to_owned(), Arc::default());
        let address = SocketAddr::from(([127, 0, 0, 1], 4711));
        let content = Arc::new(Content::complete(vec![recording], None));
        Site { address, token: TOKEN.to_owned(), content }
    }

    fn get_status(path: &str, headers: &[(&str, &str)]) -> StatusCode {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        site().respond(&request.body(()).unwrap()).status()
    }

    #[test]
    fn requires_token_host_and_origin() {
        let host = ("host", "127.0.0.1:4711");
        let page = format!("/{TOKEN}/");
        assert_eq!(get_status(&page, &[host]), StatusCode::OK);
        assert_eq!(get_status(&page, &[host, ("origin", "http://127.0.0.1:4711")]), StatusCode::OK);
        assert_eq!(get_status(&page, &[]), StatusCode::FORBIDDEN, "no host");
        assert_eq!(get_status(&page, &[("host", "rebound.example:4711")]), StatusCode::FORBIDDEN, "foreign host name");
        assert_eq!(get_status(&page, &[("host", "localhost:4711")]), StatusCode::FORBIDDEN);
        assert_eq!(get_status(&page, &[host, ("origin", "http://evil.example")]), StatusCode::FORBIDDEN);
        assert_eq!(get_status(&page, &[host, ("origin", "null")]), StatusCode::FORBIDDEN);
        for path in ["/", "/0/", "/0123456789abcdef0123456789abcdee/", "/lanes", &format!("/{TOKEN}")] {
            assert_eq!(get_status(path, &[host]), StatusCode::FORBIDDEN, "{path}");
        }
        assert_eq!(get_status(&format!("/{TOKEN}/other"), &[host]), StatusCode::NOT_FOUND);
    }

    #[test]
    fn answers_while_a_query_computes() {
        use std::io::{Read, Write};
        use std::sync::mpsc;
        let (finish, wait) = mpsc::channel::<()>();
        let (started, has_started) = mpsc::channel();
        let (started, wait) = (std::sync::Mutex::new(started), std::sync::Mutex::new(wait));
        let mut recording = LoadedRecording::new("slow.etl".to_owned(), Arc::default());
        recording.events = Some(onoff_page::events::EventReader::new(move |_, _| {
            started.lock().unwrap().send(()).unwrap();
            wait.lock().unwrap().recv().map_err(|error| error.to_string())
        }));
        let server = Server::bind(0, TOKEN.to_owned(), Arc::new(Content::complete(vec![recording], None))).unwrap();
        let address = server.site.address;
        std::thread::spawn(|| server.run());
        let ask = |resource: &str| {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            write!(stream, "GET /{TOKEN}/{resource} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
            stream
        };
        let read = |mut stream: std::net::TcpStream| {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        let slow = ask("table?from=0&to=1&about=events");
        has_started.recv().unwrap();
        assert!(read(ask("")).contains("slow.etl"));
        assert!(read(ask("steps?from=0&to=1")).starts_with("HTTP/1.1 200"));
        finish.send(()).unwrap();
        assert!(read(slow).starts_with("HTTP/1.1 200"));
    }

    #[test]
    fn idle_connections_are_closed_and_do_not_stop_the_server() {
        use std::io::{Read, Write};
        use std::net::TcpStream;

        let mut server = Server::bind(0, TOKEN.to_owned(), Arc::clone(&site().content)).unwrap();
        let short = Duration::from_millis(400);
        server.limits = TimeLimits { header: short, connection: 3 * short, last_request: short };
        let address = server.site.address;
        std::thread::spawn(|| server.run());
        // More than the limit: the others wait in the queue of the system.
        let mut idle: Vec<TcpStream> =
            (0..MAX_CONNECTIONS + 20).map(|_| TcpStream::connect(address).unwrap()).collect();
        // A header that never ends.
        let mut slow = TcpStream::connect(address).unwrap();
        write!(slow, "GET /{TOKEN}/ HTTP/1.1\r\nHost: {address}\r\n").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /{TOKEN}/ HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        // The server ends the connection, because no other request follows.
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("empty.etl"), "{answer}");
        for stream in idle.iter_mut().chain([&mut slow]) {
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).unwrap();
        }
    }

    #[test]
    fn page_grows_while_files_are_read() {
        let mut site = site();
        site.content = Arc::new(Content::being_read("big.etl".to_owned()));
        let get = |after: u32| {
            let request = Request::get(format!("/{TOKEN}/page?after={after}")).header("host", "127.0.0.1:4711");
            let (_, body) = site.content(&request.body(()).unwrap()).unwrap();
            serde_json::from_str::<serde_json::Value>(&body).unwrap()
        };
        let page = get(0);
        assert_eq!((page["reading"].as_str(), page["revision"].as_u64()), (Some("big.etl"), Some(0)));
        assert!(page["recordings"].as_array().unwrap().is_empty());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| get(0));
            site.content.set(0, Some(LoadedRecording::new("big.etl".to_owned(), Arc::default())));
            let page = waiting.join().unwrap();
            assert_eq!((page["recordings"][0]["name"].as_str(), page["revision"].as_u64()), (Some("big.etl"), Some(1)));
        });
        site.content.set_reading(String::new());
        assert_eq!(get(1)["reading"].as_str(), Some(""));
        site.content.add_failure("other.etl: unreadable".to_owned());
        assert_eq!(get(2)["not_shown"][0].as_str(), Some("other.etl: unreadable"));
    }

    #[test]
    fn rejects_malformed_queries() {
        let host = ("host", "127.0.0.1:4711");
        for (query, status) in [
            ("page", StatusCode::BAD_REQUEST),
            ("lanes", StatusCode::BAD_REQUEST),
            ("lanes?from=0&to=10&pixels=4000000000&tracks=0", StatusCode::BAD_REQUEST),
            ("lanes?from=10&to=0&pixels=10&tracks=0", StatusCode::BAD_REQUEST),
            ("lanes?from=0&to=10&pixels=10&tracks=../../etc", StatusCode::BAD_REQUEST),
            ("lanes?from=0&to=10&pixels=10&tracks=0", StatusCode::NOT_FOUND),
            ("table?recording=7&from=0&to=1&about=disk", StatusCode::NOT_FOUND),
            ("table?from=0&to=1&about=passwords", StatusCode::BAD_REQUEST),
            ("table?from=0&to=1&about=disk&by=path,thread", StatusCode::BAD_REQUEST),
            ("table?from=0&to=1&about=events&by=path", StatusCode::BAD_REQUEST),
            ("table?from=0&to=1&about=events", StatusCode::OK),
            ("table?from=-9223372036854775808&to=9223372036854775807&about=disk&by=path,process", StatusCode::OK),
            ("flame?from=-9223372036854775808&to=9223372036854775807&of=samples", StatusCode::OK),
            ("flame?from=0&to=1&of=", StatusCode::BAD_REQUEST),
            ("steps?from=-9223372036854775808&to=9223372036854775807", StatusCode::OK),
            ("arrows?from=-9223372036854775808&to=9223372036854775807&pixels=16384", StatusCode::OK),
            ("arrows?from=0&to=1&pixels=99999", StatusCode::BAD_REQUEST),
            ("what-if?findings=0", StatusCode::BAD_REQUEST),
            ("what-if?transition=0&findings=0", StatusCode::NOT_FOUND),
        ] {
            assert_eq!(get_status(&format!("/{TOKEN}/{query}"), &[host]), status, "{query}");
        }
    }
}
