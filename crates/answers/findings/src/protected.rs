//! Advice about services, which never suggests disabling one that Windows needs.

pub use onoff_image::protected::{PART_OF_WINDOWS, guard, is_protected, with_guard};

/// Advice for a service that is slow to start.
#[must_use]
pub fn advice_for_service(service: &str) -> String {
    if is_protected(service) {
        format!(
            "leave {service} on: it is part of Windows, and other services need it. Find out what it waits for \
             ('onoff why FILE --service {}') and fix that",
            crate::shell_argument::quote_argument(service)
        )
    } else {
        format!(
            "have {service} report SERVICE_RUNNING before its slow work, or make it demand-start, trigger-start or delayed; \
            check first with 'sc qc {service}' that its ERROR_CONTROL is not 3 and with 'sc enumdepend {service}' that nothing \
             needs it earlier"
        )
    }
}

#[cfg(test)]
mod tests {
    use onoff_image::protected::PROTECTED;

    use super::*;

    #[test]
    fn advice_never_disables_protected_services() {
        for name in PROTECTED {
            let advice = advice_for_service(name);
            assert!(advice.starts_with(&format!("leave {name} on")), "{advice}");
            assert!(!advice.contains("demand"), "{advice}");
        }
        assert!(advice_for_service("Slowsvc").contains("ERROR_CONTROL"));
    }
}
