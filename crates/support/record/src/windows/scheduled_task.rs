//! Tasks of the Windows Task Scheduler, as XML.
//!
//! Elements and values follow Microsoft's "Task Scheduler Schema". The text is ASCII and declares no encoding:
//! `schtasks` refuses files whose encoding differs from the declared one.

use onoff_trace::utc::CivilTime;

use super::commands::to_windows_path;

/// What starts a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A logon of the user, after a delay.
    Logon {
        /// Delay after the logon, in seconds.
        delay_s: u64,
    },
    /// A time; the computer is woken for it.
    Wake {
        /// Seconds since 1970.
        at_s: u64,
    },
}

/// Returns the XML of a task that runs `program` with `arguments` as `user` with administrator rights.
#[must_use]
pub fn task_xml(trigger: Trigger, user: &str, program: &str, arguments: &str) -> String {
    let user = escape_xml(user);
    let (trigger, wakes_computer) = match trigger {
        Trigger::Logon { delay_s } => (
            format!(
                "<LogonTrigger><Enabled>true</Enabled><UserId>{user}</UserId><Delay>PT{delay_s}S</Delay></LogonTrigger>"
            ),
            false,
        ),
        Trigger::Wake { at_s } => (
            format!(
                "<TimeTrigger><StartBoundary>{}</StartBoundary><Enabled>true</Enabled></TimeTrigger>",
                utc_timestamp(at_s)
            ),
            true,
        ),
    };
    // Without the battery settings, the task would not run on a laptop on battery power.
    format!(
        "<?xml version=\"1.0\"?>\n\
         <Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">\n\
         <RegistrationInfo><Description>Written by 'onoff record'; 'onoff record --restore' removes it.</Description></RegistrationInfo>\n\
         <Triggers>{trigger}</Triggers>\n\
         <Principals><Principal id=\"Author\"><UserId>{user}</UserId><LogonType>InteractiveToken</LogonType>\
         <RunLevel>HighestAvailable</RunLevel></Principal></Principals>\n\
         <Settings><MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>\
         <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries><StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>\
         <WakeToRun>{wakes_computer}</WakeToRun><ExecutionTimeLimit>PT0S</ExecutionTimeLimit></Settings>\n\
         <Actions Context=\"Author\"><Exec><Command>{}</Command><Arguments>{}</Arguments></Exec></Actions>\n\
         </Task>\n",
        escape_xml(&to_windows_path(program)),
        escape_xml(arguments),
    )
}

/// Escapes XML's special characters and all non-ASCII characters.
fn escape_xml(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '<' | '>' | '&' | '"' | '\'' => format!("&#{};", u32::from(character)),
            character if character.is_ascii() => character.to_string(),
            character => format!("&#{};", u32::from(character)),
        })
        .collect()
}

/// Formats a time as `2026-11-23T09:10:26Z`.
fn utc_timestamp(seconds: u64) -> String {
    let ns = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000_000);
    let CivilTime { year, month, day, hour, minute, second, .. } = CivilTime::from_unix_ns(ns);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
