//! Signatures of driver files of the recorded computer.

use goblin::pe::PE;
use goblin::pe::options::ParseOptions;
use memchr::memmem;
use onoff_trace::DriverFile;

/// Names in test certificates: that of the Windows Driver Kit, and those of Microsoft's test root certificates.
const TEST_CERTIFICATES: [&[u8]; 4] =
    [b"WDKTestCert", b"Microsoft Testing Root", b"Microsoft Testing PCA", b"Microsoft Test Root"];

/// Signatures of a Windows program; `None` if the bytes are not one.
#[must_use]
pub fn driver_file(name: &str, bytes: &[u8]) -> Option<DriverFile> {
    let mut options = ParseOptions::default();
    options.resolve_rva = false;
    let program = PE::parse_with_opts(bytes, &options).ok()?;
    let names_test =
        |certificate: &[u8]| TEST_CERTIFICATES.iter().any(|test| memmem::find(certificate, test).is_some());
    let certificates = &program.certificates;
    Some(DriverFile {
        name: name.to_ascii_lowercase(),
        has_embedded_signature: !certificates.is_empty(),
        is_test_signed: certificates.iter().any(|one| names_test(one.certificate)),
    })
}
