//! The work language of scenarios: what a thread does, one step per line.
//!
//! | step | meaning |
//! | --- | --- |
//! | `cpu 20ms` | computes |
//! | `sleep 1s` | waits for a timer |
//! | `until 12s` | waits until this time since the recording began |
//! | `read 8x64KiB \Windows\a.dll` | reads requests one after another from a file |
//! | `prefetch 8x512KiB` | reads without a file, as the boot prefetcher does |
//! | `write 4x16KiB \Windows\a.log` | writes |
//! | `flush` | flushes the disk's cache |
//! | `fault 3 \Windows\a.dll` | hard faults of 16 KiB |
//! | `signal NAME`, `wait NAME` | sets an event; waits until it is set |
//! | `wait NAME at most 20s` | the same, but goes on without it after this time |
//! | `device 3s e1dexpress.sys` | waits until a deferred procedure call of this driver wakes it |
//! | `open 3s e1dexpress.sys \Device\Mup\a\b` | opens a file and waits so for the answer |
//! | `dpc 40ms nvlddmkm.sys` | its processor runs a deferred procedure call of this driver |
//! | `mark TEXT` | records a mark |
//! | `send 1460 192.0.2.9:443` | sends so many bytes by TCP, and gets as many back |
//! | `clock-back 3600s` | sets the wall clock back |
//! | `ask-person 9s` | waits for a person's credentials, as Winlogon does |
//! | `times 300: cpu 2ms; dpc 8ms a.sys` | does these steps so often |
//! | `loop 2ms/8ms` | for ever: computes for about the first time, sleeps about the second |
//! | `loop 2ms/8ms 30s` | the same until this time since the recording began |

use std::net::SocketAddr;
use std::str::FromStr;

use super::span::{Size, Span};

/// One step of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Computes for this long, however often it is interrupted.
    Cpu(Span),
    /// Waits for a timer.
    Sleep(Span),
    /// Waits until a time since the recording began.
    Until(Span),
    /// Disk requests, one after another.
    Disk {
        /// What the disk does.
        transfer: Transfer,
        /// Number of requests.
        count: u32,
        /// Bytes of each.
        size: u32,
        /// File, from the volume's root; empty = none.
        path: String,
    },
    /// Flushes the disk's cache.
    Flush,
    /// Sets an event.
    Signal(String),
    /// Waits until an event is set.
    Wait(String),
    /// The same, at most so long.
    WaitAtMost(String, Span),
    /// Waits until a driver's deferred procedure call wakes it.
    Device {
        /// How long that takes.
        time: Span,
        /// The driver's file.
        driver: String,
        /// Path of the file that it opens meanwhile; `None` = nothing says for what it waits.
        open: Option<String>,
    },
    /// Its processor runs a deferred procedure call.
    Dpc {
        /// How long.
        time: Span,
        /// The driver's file.
        driver: String,
    },
    /// Records a mark.
    Mark(String),
    /// Sends bytes by TCP, and gets as many back.
    Send {
        /// How many.
        size: u32,
        /// Where to.
        to: SocketAddr,
    },
    /// Sets the wall clock back.
    ClockBack(Span),
    /// Asks a person for credentials, who takes so long.
    AskPerson(Span),
    /// Steps that are done so often.
    Times(u32, Vec<Work>),
    /// Computes and sleeps in turn.
    Loop {
        /// About how long it computes each time.
        burst: Span,
        /// About how long it sleeps each time.
        pause: Span,
        /// When it ends; `None` = never.
        until: Option<Span>,
    },
}

/// How bytes move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Read of a file.
    Read,
    /// Read because of a page fault.
    Fault,
    /// Write of a file.
    Write,
}

const FAULT_SIZE: u32 = 16 << 10;

impl FromStr for Work {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let line = line.trim();
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        match verb {
            "cpu" => Ok(Self::Cpu(rest.parse()?)),
            "sleep" => Ok(Self::Sleep(rest.parse()?)),
            "until" => Ok(Self::Until(rest.parse()?)),
            "read" => disk(Transfer::Read, rest, line),
            "prefetch" => disk(Transfer::Read, rest, line),
            "write" => disk(Transfer::Write, rest, line),
            "fault" => {
                let (count, path) = rest.split_once(' ').unwrap_or((rest, ""));
                Ok(Self::Disk {
                    transfer: Transfer::Fault,
                    count: count.parse().map_err(|_| format!("`{line}`: expected a count"))?,
                    size: FAULT_SIZE,
                    path: path.trim().to_owned(),
                })
            }
            "flush" => Ok(Self::Flush),
            "signal" => Ok(Self::Signal(rest.to_owned())),
            "wait" => Ok(match rest.split_once(" at most ") {
                Some((name, time)) => Self::WaitAtMost(name.to_owned(), time.parse()?),
                None => Self::Wait(rest.to_owned()),
            }),
            "device" | "open" | "dpc" => driver(verb, rest, line),
            "ask-person" => Ok(Self::AskPerson(rest.parse()?)),
            "times" => {
                let (count, steps) =
                    rest.split_once(':').ok_or_else(|| format!("`{line}`: expected COUNT: STEP; STEP"))?;
                let count = count.trim().parse().map_err(|_| format!("`{line}`: expected a count"))?;
                Ok(Self::Times(count, steps.split(';').map(str::parse).collect::<Result<_, _>>()?))
            }
            "clock-back" => Ok(Self::ClockBack(rest.parse()?)),
            "mark" => Ok(Self::Mark(rest.to_owned())),
            "send" => {
                let lacking = || format!("`{line}`: expected BYTES ADDRESS:PORT");
                let (size, to) = rest.split_once(' ').ok_or_else(lacking)?;
                Ok(Self::Send { size: size.parse().map_err(|_| lacking())?, to: to.parse().map_err(|_| lacking())? })
            }
            "loop" => {
                let (cycle, until) = rest.split_once(' ').unwrap_or((rest, ""));
                let (burst, pause) = cycle.split_once('/').ok_or_else(|| format!("`{line}`: expected BURST/PAUSE"))?;
                Ok(Self::Loop {
                    burst: burst.parse()?,
                    pause: pause.parse()?,
                    until: (!until.is_empty()).then(|| until.parse()).transpose()?,
                })
            }
            _ => Err(format!("`{line}`: unknown kind of work")),
        }
    }
}

fn driver(verb: &str, rest: &str, line: &str) -> Result<Work, String> {
    let lacking = || format!("`{line}`: expected TIME DRIVER, and a path to open");
    let (time, rest) = rest.split_once(' ').ok_or_else(lacking)?;
    let time = time.parse()?;
    match verb {
        "open" => {
            let (driver, path) = rest.split_once(' ').ok_or_else(lacking)?;
            Ok(Work::Device { time, driver: driver.to_owned(), open: Some(path.trim().to_owned()) })
        }
        "dpc" => Ok(Work::Dpc { time, driver: rest.to_owned() }),
        _ => Ok(Work::Device { time, driver: rest.to_owned(), open: None }),
    }
}

fn disk(transfer: Transfer, rest: &str, line: &str) -> Result<Work, String> {
    let (amount, path) = rest.split_once(' ').unwrap_or((rest, ""));
    let (count, size) = amount.split_once('x').ok_or_else(|| format!("`{line}`: expected COUNTxSIZE"))?;
    let Size(size) = size.parse()?;
    Ok(Work::Disk {
        transfer,
        count: count.parse().map_err(|_| format!("`{line}`: expected COUNTxSIZE"))?,
        size: u32::try_from(size).map_err(|_| format!("`{line}`: a request is at most 4 GiB"))?,
        path: path.trim().to_owned(),
    })
}

impl<'de> serde::Deserialize<'de> for Work {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
