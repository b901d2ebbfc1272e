//! A rule: its code, its documentation and its check.

use onoff_blame::account::Culprit;
use onoff_trace::Trace;
use onoff_transitions::linux::shutdown::LinuxShutdownReport;
use onoff_transitions::linux::suspend::LinuxSleep;
use onoff_transitions::suspend::{PowerTransition, UserAbsence};
use serde::Serialize;

use crate::context::{BootFacts, LinuxBootFacts, ShutdownFacts, SuspendFacts};
use crate::finding::RuleFinding;
use crate::image_facts::ImageFacts;
pub use crate::missing_input::MissingInput;

/// The headings in the documentation of every rule, in order.
pub const HEADINGS: [&str; 6] =
    ["What it finds", "Why it costs time", "Evidence needed", "What to do", "When it is wrong", "Source"];

pub type Outcome = Result<Vec<RuleFinding>, MissingInput>;

/// The check of a rule, by its input.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Any transition, by the subjects on its critical path.
    Account(fn(&[Culprit]) -> Outcome),
    Boot(fn(&BootFacts<'_>) -> Outcome),
    /// An offline installation.
    Image(fn(&ImageFacts<'_>) -> Outcome),
    LinuxBoot(fn(&LinuxBootFacts<'_>) -> Outcome),
    LinuxShutdown(fn(&LinuxShutdownReport) -> Outcome),
    LinuxSuspend(fn(&LinuxSleep) -> Outcome),
    /// A boot, or the new user session of a fast startup.
    Session(fn(&BootFacts<'_>) -> Outcome),
    /// The same, for limits of the recording.
    SessionCaveat(fn(&BootFacts<'_>) -> Outcome),
    Shutdown(fn(&ShutdownFacts<'_>) -> Outcome),
    Suspend(fn(&SuspendFacts<'_>, &PowerTransition) -> Outcome),
    /// Intervals without a user, if the recording has any.
    Absences(fn(&[UserAbsence]) -> Outcome),
    /// The recording itself, for its limits.
    Recording(fn(&Trace) -> Outcome),
    /// A boot, for limits of the recording.
    BootCaveat(fn(&BootFacts<'_>) -> Outcome),
}

impl Check {
    /// True if the rule reports limits of the recording instead of costs.
    #[must_use]
    pub const fn is_caveat(self) -> bool {
        matches!(self, Self::Recording(_) | Self::BootCaveat(_) | Self::SessionCaveat(_))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable code.
    pub code: &'static str,
    /// What the rule finds, as a phrase.
    pub title: &'static str,
    /// The documentation: each of the [`HEADINGS`] on a line starting with `#`, followed by text.
    pub text: &'static str,
    pub check: Check,
}

/// One section of a rule's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleSection {
    pub heading: String,
    /// Paragraphs separated by blank lines.
    pub text: String,
}

/// The list of all rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleList {
    /// The rules, grouped by transition.
    pub rules: Vec<RuleDescription>,
}

/// The description of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleDescription {
    /// Stable code.
    pub code: &'static str,
    /// What the rule finds, as a phrase.
    pub title: &'static str,
    pub sections: Vec<RuleSection>,
}

impl Rule {
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

/// Declares the rule of a file. Its doc comment is also what `onoff diagnose --explain` prints.
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
