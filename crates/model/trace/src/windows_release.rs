//! Windows release names from build numbers.
//!
//! Source: Microsoft's release information (learn.microsoft.com, "Windows 10 release information", "Windows 11 release
//! information", "Windows Server release information"). A build newer than the last build here gets the name
//! of the system without a release.

struct Release {
    build: u32,
    /// Client release; empty if no client release has this build.
    client: &'static str,
    /// Server release; empty if no server release has this build.
    server: &'static str,
}

const fn client_and_server(build: u32, client: &'static str, server: &'static str) -> Release {
    Release { build, client, server }
}

const fn client(build: u32, client: &'static str) -> Release {
    Release { build, client, server: "" }
}

const fn server(build: u32, server: &'static str) -> Release {
    Release { build, client: "", server }
}

/// Releases by build.
const RELEASES: [Release; 28] = [
    client(6000, "Windows Vista"),
    client_and_server(6001, "Windows Vista SP1", "Server 2008"),
    client_and_server(6002, "Windows Vista SP2", "Server 2008 SP2"),
    client_and_server(7600, "Windows 7", "Server 2008 R2"),
    client_and_server(7601, "Windows 7 SP1", "Server 2008 R2 SP1"),
    client_and_server(9200, "Windows 8", "Server 2012"),
    client_and_server(9600, "Windows 8.1", "Server 2012 R2"),
    client(10240, "Windows 10 1507"),
    client(10586, "Windows 10 1511"),
    client_and_server(14393, "Windows 10 1607", "Server 2016"),
    client(15063, "Windows 10 1703"),
    client(16299, "Windows 10 1709"),
    client(17134, "Windows 10 1803"),
    client_and_server(17763, "Windows 10 1809", "Server 2019"),
    client(18362, "Windows 10 1903"),
    client(18363, "Windows 10 1909"),
    client(19041, "Windows 10 2004"),
    client(19042, "Windows 10 20H2"),
    client(19043, "Windows 10 21H1"),
    client(19044, "Windows 10 21H2"),
    client(19045, "Windows 10 22H2"),
    server(20348, "Server 2022"),
    client(22000, "Windows 11 21H2"),
    client(22621, "Windows 11 22H2"),
    client(22631, "Windows 11 23H2"),
    server(25398, "Server 23H2"),
    client_and_server(26100, "Windows 11 24H2", "Server 2025"),
    client(26200, "Windows 11 25H2"),
];

/// Returns the marketing name of a Windows build, e.g. `Windows 11 24H2`. `product` is the product name from the
/// recording (may be empty); it distinguishes server from client and adds the edition. Without a product name, a build
/// shared by client and server gets both names. Empty if neither build nor product is known.
#[must_use]
pub fn windows_release(build: u32, product: &str) -> String {
    let product = product.trim();
    let release = RELEASES.iter().find(|release| release.build == build);
    // The registry of Windows 11 still says "Windows 10".
    let product_line = match build {
        22000.. => "Windows 11",
        10240.. => "Windows 10",
        _ => "",
    };
    if product.contains("Server") {
        return product.to_owned();
    }
    if !product.is_empty() {
        let edition = product.strip_prefix("Windows 10").or_else(|| product.strip_prefix("Windows 11"));
        return match (edition, release.map(|release| release.client)) {
            (Some(edition), Some(name)) if !name.is_empty() => format!("{name}{edition}"),
            (Some(edition), _) if !product_line.is_empty() => format!("{product_line}{edition}"),
            _ => product.to_owned(),
        };
    }
    match release {
        Some(Release { client, server: "", .. }) => (*client).to_owned(),
        Some(Release { client: "", server, .. }) => format!("Windows {server}"),
        Some(Release { client, server, .. }) => format!("{client} or {server}"),
        None => product_line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_known_builds() {
        assert_eq!(windows_release(19045, ""), "Windows 10 22H2");
        assert_eq!(windows_release(26100, ""), "Windows 11 24H2 or Server 2025");
        assert_eq!(windows_release(20348, ""), "Windows Server 2022");
        assert_eq!(windows_release(7601, ""), "Windows 7 SP1 or Server 2008 R2 SP1");
    }

    #[test]
    fn product_name_selects_server_and_edition() {
        assert_eq!(windows_release(26100, "Windows Server 2025 Datacenter"), "Windows Server 2025 Datacenter");
        // The registry's product name of Windows 11 is "Windows 10".
        assert_eq!(windows_release(26100, "Windows 10 Pro"), "Windows 11 24H2 Pro");
        assert_eq!(windows_release(19045, "Windows 10 Enterprise"), "Windows 10 22H2 Enterprise");
        assert_eq!(windows_release(7601, "Windows 7 Ultimate"), "Windows 7 Ultimate");
    }

    #[test]
    fn unknown_build_has_no_release() {
        assert_eq!(windows_release(27842, ""), "Windows 11");
        assert_eq!(windows_release(19999, "Windows 10 Pro"), "Windows 10 Pro");
        assert_eq!(windows_release(29559, "Windows 10 Pro"), "Windows 11 Pro");
        assert_eq!(windows_release(0, ""), "");
        assert_eq!(windows_release(6003, ""), "");
    }

    #[test]
    fn builds_are_sorted() {
        assert!(RELEASES.is_sorted_by(|a, b| a.build < b.build));
    }
}
