//! Third-party parts of the logon.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Credential providers, authentication packages and network providers that are not part of Windows.
    ///
    /// # Why it costs time
    /// The logon screen loads every credential provider, LSASS loads every package early in the boot, and the logon calls
    /// every network provider and waits for it.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM; SOFTWARE for credential providers.
    ///
    /// # What to do
    /// Remove the products that are not needed, and record a logon to see what each costs.
    ///
    /// # When it is wrong
    /// Two-factor logon and virtual machine tools need them. The names of Windows' own parts come from public lists; a
    /// part of a newer Windows can be missing from them.
    ///
    /// # Source
    /// Autoruns lists them under "Winlogon", "LSA Providers" and "Network Providers".
    "image/logon-extensions", "third-party parts take part in each logon", Image(check)
}

/// DLLs of Windows' own credential providers.
const CREDENTIAL_PROVIDERS: [&str; 20] = [
    "authui.dll",
    "biocredprov.dll",
    "certcredprovider.dll",
    "cloudexperiencehost.dll",
    "cngcredui.dll",
    "credprov2fahelper.dll",
    "credprovhost.dll",
    "credprovs.dll",
    "credprovslegacy.dll",
    "devicengccredprov.dll",
    "facecredentialprovider.dll",
    "fidocredprov.dll",
    "ngccredprov.dll",
    "rasplap.dll",
    "smartcardcredentialprovider.dll",
    "trustedsignalcredprov.dll",
    "vaultcredprovider.dll",
    "winbio.dll",
    "wlidcredprov.dll",
    "wwancredprov.dll",
];
/// Values of `Control\Lsa` with the packages of Windows.
const PACKAGES: [(&str, &[&str]); 3] = [
    ("Authentication Packages", &["msv1_0", "sshdpinauthlsa"]),
    ("Notification Packages", &["scecli", "rassfm", "kdcsvc"]),
    (
        "Security Packages",
        &["kerberos", "msv1_0", "schannel", "wdigest", "tspkg", "pku2u", "livessp", "cloudap", "negoexts", "\"\""],
    ),
];
/// Windows' own network providers.
const NETWORK_PROVIDERS: [&str; 6] = ["lanmanworkstation", "rdpnp", "webclient", "p9np", "nfsnp", "cscnet"];

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let mut parts: Vec<(String, String)> = Vec::new();
    for (name, known) in PACKAGES {
        let Some(setting) = facts.system(r"CS\Control\Lsa", name) else { continue };
        for package in setting.texts().unwrap_or_default() {
            let package = package.trim();
            if !package.is_empty() && !known.contains(&package.to_lowercase().as_str()) {
                parts.push((package.to_owned(), setting.evidence()));
            }
        }
    }
    if let Some(setting) = facts.system(r"CS\Control\NetworkProvider\Order", "ProviderOrder") {
        let providers = setting.text().unwrap_or_default();
        for provider in providers.split(',').map(str::trim).filter(|provider| !provider.is_empty()) {
            if !NETWORK_PROVIDERS.contains(&provider.to_lowercase().as_str()) {
                parts.push((provider.to_owned(), setting.evidence()));
            }
        }
    }
    parts.extend(credential_providers(facts));
    let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Work, *first),
        format!("{} of each logon: {}", counted(names.len(), "third-party part"), listed(&names, 8)),
    )
    .certainty(Certainty::Inferred)
    .advice("remove the products that are not needed; record a boot to see what each costs ('onoff boot')");
    let mut evidence: Vec<String> = parts.iter().map(|(_, evidence)| evidence.clone()).collect();
    evidence.dedup();
    Ok(vec![evidence.into_iter().fold(finding, |finding, evidence| finding.evidence(None, evidence))])
}

/// Returns the DLLs of third-party credential providers, with evidence.
fn credential_providers(facts: &ImageFacts<'_>) -> Vec<(String, String)> {
    let path = r"Microsoft\Windows\CurrentVersion\Authentication\Credential Providers";
    let Some((providers, _)) = facts.image.key(HiveKind::Software, path) else { return Vec::new() };
    let mut parts = Vec::new();
    for provider in providers.subkeys() {
        if provider.value("Disabled").and_then(|value| value.number()) == Some(1) {
            continue;
        }
        let class = format!(r"Classes\CLSID\{}\InprocServer32", provider.name());
        let Some(setting) = facts.image.setting(HiveKind::Software, &class, "") else { continue };
        let file = setting.text().unwrap_or_default().to_lowercase();
        let name = file.trim_matches('"').rsplit(['\\', '/']).next().unwrap_or_default();
        if !name.is_empty() && !CREDENTIAL_PROVIDERS.contains(&name) {
            parts.push((name.to_owned(), setting.evidence()));
        }
    }
    parts
}
