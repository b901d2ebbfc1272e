//! A rule: its code, its words, and the check itself.

use onoff_blame::account::Culprit;
use onoff_trace::Trace;
use onoff_transitions::linux::shutdown::LinuxShutdownReport;
use onoff_transitions::linux::suspend::LinuxSleep;
use onoff_transitions::suspend::PowerTransition;
use serde::Serialize;

use crate::context::{BootFacts, LinuxBootFacts, ShutdownFacts, SuspendFacts};
use crate::finding::RuleFinding;
use crate::image_facts::ImageFacts;
pub use crate::not_checked::NotChecked;

/// The headings that the text of every rule has, in this order.
pub const HEADINGS: [&str; 6] =
    ["What it finds", "Why it costs time", "Evidence needed", "What to do", "When it is wrong", "Source"];

/// What a check says.
pub type Outcome = Result<Vec<RuleFinding>, NotChecked>;

/// What a rule looks at, and how.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Any transition, by who took its time.
    Account(fn(&[Culprit]) -> Outcome),
    /// A boot.
    Boot(fn(&BootFacts<'_>) -> Outcome),
    /// An installation that is not running.
    Image(fn(&ImageFacts<'_>) -> Outcome),
    /// A boot of Linux.
    LinuxBoot(fn(&LinuxBootFacts<'_>) -> Outcome),
    /// A shutdown of Linux.
    LinuxShutdown(fn(&LinuxShutdownReport) -> Outcome),
    /// A sleep or hibernation of Linux.
    LinuxSuspend(fn(&LinuxSleep) -> Outcome),
    /// A boot, and of a fast startup the part that is one: the user's new session.
    Session(fn(&BootFacts<'_>) -> Outcome),
    /// The same, for what limits the trust in it.
    SessionTrust(fn(&BootFacts<'_>) -> Outcome),
    /// A shutdown.
    Shutdown(fn(&ShutdownFacts<'_>) -> Outcome),
    /// A sleep, hibernation or the like.
    Suspend(fn(&SuspendFacts<'_>, &PowerTransition) -> Outcome),
    /// The recording itself: what limits the trust in all else.
    Recording(fn(&Trace) -> Outcome),
    /// A boot, again for what limits the trust in it.
    Trust(fn(&BootFacts<'_>) -> Outcome),
}

impl Check {
    /// Whether it says how far the answers can be trusted, not what costs time.
    #[must_use]
    pub const fn is_about_trust(self) -> bool {
        matches!(self, Self::Recording(_) | Self::Trust(_) | Self::SessionTrust(_))
    }
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable code.
    pub code: &'static str,
    /// What it finds, as a phrase.
    pub title: &'static str,
    /// Its documentation: the [`HEADINGS`], each a line that begins with `#`, with text below.
    pub text: &'static str,
    /// The check.
    pub check: Check,
}

/// One section of a rule's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleSection {
    /// Heading.
    pub heading: String,
    /// Text, in paragraphs.
    pub text: String,
}

/// All rules, as they are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleList {
    /// The rules, by the transition they look at.
    pub rules: Vec<RuleDescription>,
}

/// A rule, as it is listed and explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleDescription {
    /// Stable code.
    pub code: &'static str,
    /// What it finds, as a phrase.
    pub title: &'static str,
    /// Its documentation.
    pub sections: Vec<RuleSection>,
}

impl Rule {
    /// The rule in words.
    #[must_use]
    pub fn describe(&self) -> RuleDescription {
        let mut sections: Vec<RuleSection> = Vec::new();
        for line in self.text.lines() {
            let line = line.trim();
            if let Some(heading) = line.strip_prefix("# ") {
                sections.push(RuleSection { heading: heading.to_owned(), text: String::new() });
            } else if let Some(section) = sections.last_mut() {
                let text = &mut section.text;
                match (line.is_empty(), text.is_empty() || text.ends_with('\n')) {
                    (true, false) => text.push_str("\n\n"),
                    (true, true) => {}
                    (false, true) => text.push_str(line),
                    (false, false) => {
                        text.push(' ');
                        text.push_str(line);
                    }
                }
            }
        }
        for section in &mut sections {
            section.text.truncate(section.text.trim_end().len());
        }
        RuleDescription { code: self.code, title: self.title, sections }
    }
}

/// Declares the rule of a file: its comment is its documentation, for people who read the code and for those who ask
/// `onoff diagnose --explain`.
macro_rules! rule {
    ($(#[doc = $text:literal])+ $code:literal, $title:literal, $kind:ident($check:path)) => {
        $(#[doc = $text])+
        pub(crate) const RULE: $crate::rule::Rule = $crate::rule::Rule {
            code: $code,
            title: $title,
            text: concat!($($text, "\n"),+),
            check: $crate::rule::Check::$kind($check),
        };
    };
}
pub(crate) use rule;
