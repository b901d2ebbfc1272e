//! Reads the signatures of the recorded computer's driver files.

use goblin::pe::PE;
use goblin::pe::options::ParseOptions;
use memchr::memmem;
use onoff_trace::DriverFile;

/// Names in test certificates of the Windows Driver Kit and in Microsoft's test root certificates.
const TEST_CERTIFICATES: [&[u8]; 4] =
    [b"WDKTestCert", b"Microsoft Testing Root", b"Microsoft Testing PCA", b"Microsoft Test Root"];

/// Reads the signatures of a Windows program. Returns `None` if the bytes are not a Windows program.
#[must_use]
pub fn driver_file(name: &str, bytes: &[u8]) -> Option<DriverFile> {
    let mut options = ParseOptions::default();
    options.resolve_rva = false;
    let program = PE::parse_with_opts(bytes, &options).ok()?;
    let is_test_certificate =
        |certificate: &[u8]| TEST_CERTIFICATES.iter().any(|name| memmem::find(certificate, name).is_some());
    let certificates = &program.certificates;
    Some(DriverFile {
        name: name.to_ascii_lowercase(),
        has_embedded_signature: !certificates.is_empty(),
        is_test_signed: certificates.iter().any(|entry| is_test_certificate(entry.certificate)),
    })
}
