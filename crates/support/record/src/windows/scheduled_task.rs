//! Tasks of the Windows Task Scheduler, as its XML.
//!
//! Elements and their values: Microsoft's "Task Scheduler Schema". The text is ASCII without a declared encoding: `schtasks` refuses
//! files whose encoding differs from the declared one.

use onoff_trace::utc::CivilTime;

use super::commands::typed;

/// What starts a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The user logs on, and some time passes, s.
    Logon {
        /// Seconds after the logon.
        delay_s: u64,
    },
    /// A moment, s since 1970; the computer is woken for it.
    Wake {
        /// When.
        at_s: u64,
    },
}

/// The text of a task that runs `program` with `arguments` as `user`, with administrator's rights.
#[must_use]
pub fn text(trigger: Trigger, user: &str, program: &str, arguments: &str) -> String {
    let user = escaped(user);
    let (trigger, wakes) = match trigger {
        Trigger::Logon { delay_s } => (
            format!(
                "<LogonTrigger><Enabled>true</Enabled><UserId>{user}</UserId><Delay>PT{delay_s}S</Delay></LogonTrigger>"
            ),
            false,
        ),
        Trigger::Wake { at_s } => (
            format!(
                "<TimeTrigger><StartBoundary>{}</StartBoundary><Enabled>true</Enabled></TimeTrigger>",
                universal_time(at_s)
            ),
            true,
        ),
    };
    // Without the settings about batteries a notebook that is not plugged in would never go on.
    format!(
        "<?xml version=\"1.0\"?>\n\
         <Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">\n\
         <RegistrationInfo><Description>Written by 'onoff record'; 'onoff record --restore' removes it.</Description></RegistrationInfo>\n\
         <Triggers>{trigger}</Triggers>\n\
         <Principals><Principal id=\"Author\"><UserId>{user}</UserId><LogonType>InteractiveToken</LogonType>\
         <RunLevel>HighestAvailable</RunLevel></Principal></Principals>\n\
         <Settings><MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>\
         <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries><StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>\
         <WakeToRun>{wakes}</WakeToRun><ExecutionTimeLimit>PT0S</ExecutionTimeLimit></Settings>\n\
         <Actions Context=\"Author\"><Exec><Command>{}</Command><Arguments>{}</Arguments></Exec></Actions>\n\
         </Task>\n",
        escaped(&typed(program)),
        escaped(arguments),
    )
}

/// Text between elements: what means something to XML, and all that is not ASCII, by its number.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '<' | '>' | '&' | '"' | '\'' => format!("&#{};", u32::from(character)),
            character if character.is_ascii() => character.to_string(),
            character => format!("&#{};", u32::from(character)),
        })
        .collect()
}

/// `2026-11-23T09:10:26Z`.
fn universal_time(seconds: u64) -> String {
    let ns = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000_000);
    let CivilTime { year, month, day, hour, minute, second, .. } = CivilTime::from_unix_ns(ns);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
