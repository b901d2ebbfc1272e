//! Downloads files over HTTP.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Error};

use super::{Failure, Limits};
use crate::DownloadError;

/// Result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    /// The file was downloaded.
    File,
    /// The server does not have the file.
    NotFound,
}

pub(super) struct Client {
    limits: Limits,
    /// Created on the first request, because it reads the system's certificates.
    agent: Option<Agent>,
}

impl Client {
    pub(super) const fn new(limits: Limits) -> Self {
        Self { limits, agent: None }
    }

    /// Downloads `url` into `file`.
    pub(super) fn get(&mut self, url: &str, file: &mut File) -> Result<Response, Failure> {
        let limits = self.limits;
        let agent = self.agent.get_or_insert_with(|| agent(limits));
        let request = agent.get(url).config().https_only(url.starts_with("https:")).build();
        let response = request.call().map_err(failure)?;
        match response.status().as_u16() {
            200 => {}
            404 | 410 => return Ok(Response::NotFound),
            status => return Err(DownloadError::Status(status).into()),
        }
        let max_bytes = limits.max_bytes;
        let body = response.into_body();
        if body.content_length().is_some_and(|length| length > max_bytes) {
            return Err(DownloadError::TooLarge(max_bytes).into());
        }
        let mut reader = body.into_reader().take(max_bytes.saturating_add(1));
        let length = io::copy(&mut reader, file)
            .map_err(|error| Failure::Fault(DownloadError::InvalidResponse(error.to_string())))?;
        if length > max_bytes {
            return Err(DownloadError::TooLarge(max_bytes).into());
        }
        file.seek(SeekFrom::Start(0))
            .map_err(|error| Failure::Fault(DownloadError::InvalidResponse(error.to_string())))?;
        Ok(Response::File)
    }
}

/// Errors specific to this request apply only to the file; all others make the server unreachable.
fn failure(error: Error) -> Failure {
    match error {
        Error::TooManyRedirects | Error::Protocol(_) | Error::RequireHttpsOnly(_) | Error::LargeResponseHeader(..) => {
            Failure::Fault(DownloadError::InvalidResponse(error.to_string()))
        }
        _ => Failure::Unreachable(error.to_string()),
    }
}

/// Uses the system's certificates, because servers and proxies within companies often have private ones.
fn agent(limits: Limits) -> Agent {
    let certificates: Vec<Certificate<'static>> = rustls_native_certs::load_native_certs()
        .certs
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .build();
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(limits.max_redirects)
        .max_redirects_will_error(true)
        .timeout_resolve(Some(limits.connect))
        .timeout_connect(Some(limits.connect))
        .timeout_recv_response(Some(limits.idle))
        .timeout_per_read(Some(limits.idle))
        .timeout_global(Some(limits.total))
        .user_agent(concat!("onoff/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build()
        .new_agent()
}
