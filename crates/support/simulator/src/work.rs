//! The work language of scenarios: what a thread does, one step per line.
//!
//! | step | meaning |
//! | --- | --- |
//! | `cpu 20ms` | computes |
//! | `sleep 1s` | waits for a timer |
//! | `until 12s` | waits until this time since the recording began |
//! | `read 8x64KiB \Windows\a.dll` | issues read requests one after another |
//! | `prefetch 8x512KiB` | reads without a file, as the boot prefetcher does |
//! | `write 4x16KiB \Windows\a.log` | writes |
//! | `flush` | flushes the disk's cache |
//! | `fault 3 \Windows\a.dll` | hard faults of 16 KiB |
//! | `signal NAME`, `wait NAME` | sets an event; waits until it is set |
//! | `wait NAME at most 20s` | the same, with a timeout |
//! | `device 3s e1dexpress.sys` | waits until a DPC of this driver wakes it |
//! | `open 3s e1dexpress.sys \Device\Mup\a\b` | opens a file and waits this way for the response |
//! | `dpc 40ms nvlddmkm.sys` | its processor runs a DPC of this driver |
//! | `mark TEXT` | records a mark |
//! | `send 1460 192.0.2.9:443` | sends bytes over TCP and receives the same number |
//! | `clock-back 3600s` | sets the wall clock back |
//! | `ask-person 9s` | waits for the user's credentials, as Winlogon does |
//! | `times 300: cpu 2ms; dpc 8ms a.sys` | repeats these steps |
//! | `loop 2ms/8ms` | forever: computes for about the first time, then sleeps for about the second |
//! | `loop 2ms/8ms 30s` | the same, until this time since the recording began |

use std::net::SocketAddr;
use std::str::FromStr;

use super::units::{Size, TickDuration};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkStep {
    /// Computes for this long, excluding preemption.
    Cpu(TickDuration),
    Sleep(TickDuration),
    /// Waits until this time since the recording began.
    Until(TickDuration),
    Disk {
        transfer: Transfer,
        count: u32,
        size: u32,
        /// Path from the volume's root; empty for no file.
        path: String,
    },
    Flush,
    Signal(String),
    Wait(String),
    /// Waits until an event is set, with a timeout.
    WaitAtMost(String, TickDuration),
    /// Waits until a driver's DPC wakes the thread.
    Device {
        time: TickDuration,
        driver: String,
        /// File it opens meanwhile; `None` if the cause of the wait is not recorded.
        open: Option<String>,
    },
    /// Its processor runs a DPC.
    Dpc {
        time: TickDuration,
        driver: String,
    },
    Mark(String),
    /// Sends bytes over TCP and receives the same number.
    Send {
        size: u32,
        destination: SocketAddr,
    },
    /// Sets the wall clock back.
    SetClockBack(TickDuration),
    /// Asks the user for credentials, which takes this long.
    RequestCredentials(TickDuration),
    /// Repeats steps.
    Repeat(u32, Vec<WorkStep>),
    /// Alternately computes and sleeps.
    Loop {
        /// Approximate time of each computation.
        burst: TickDuration,
        /// Approximate time of each sleep.
        pause: TickDuration,
        /// End of the loop; `None` for never.
        until: Option<TickDuration>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    Read,
    /// Read caused by a page fault.
    Fault,
    Write,
}

const FAULT_SIZE: u32 = 16 << 10;

impl FromStr for WorkStep {
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
            "ask-person" => Ok(Self::RequestCredentials(rest.parse()?)),
            "times" => {
                let (count, steps) =
                    rest.split_once(':').ok_or_else(|| format!("`{line}`: expected COUNT: STEP; STEP"))?;
                let count = count.trim().parse().map_err(|_| format!("`{line}`: expected a count"))?;
                Ok(Self::Repeat(count, steps.split(';').map(str::parse).collect::<Result<_, _>>()?))
            }
            "clock-back" => Ok(Self::SetClockBack(rest.parse()?)),
            "mark" => Ok(Self::Mark(rest.to_owned())),
            "send" => {
                let usage_error = || format!("`{line}`: expected BYTES ADDRESS:PORT");
                let (size, destination) = rest.split_once(' ').ok_or_else(usage_error)?;
                Ok(Self::Send {
                    size: size.parse().map_err(|_| usage_error())?,
                    destination: destination.parse().map_err(|_| usage_error())?,
                })
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

fn driver(verb: &str, rest: &str, line: &str) -> Result<WorkStep, String> {
    let usage_error = || format!("`{line}`: expected TIME DRIVER, and a path to open");
    let (time, rest) = rest.split_once(' ').ok_or_else(usage_error)?;
    let time = time.parse()?;
    match verb {
        "open" => {
            let (driver, path) = rest.split_once(' ').ok_or_else(usage_error)?;
            Ok(WorkStep::Device { time, driver: driver.to_owned(), open: Some(path.trim().to_owned()) })
        }
        "dpc" => Ok(WorkStep::Dpc { time, driver: rest.to_owned() }),
        _ => Ok(WorkStep::Device { time, driver: rest.to_owned(), open: None }),
    }
}

fn disk(transfer: Transfer, rest: &str, line: &str) -> Result<WorkStep, String> {
    let (amount, path) = rest.split_once(' ').unwrap_or((rest, ""));
    let (count, size) = amount.split_once('x').ok_or_else(|| format!("`{line}`: expected COUNTxSIZE"))?;
    let Size(size) = size.parse()?;
    Ok(WorkStep::Disk {
        transfer,
        count: count.parse().map_err(|_| format!("`{line}`: expected COUNTxSIZE"))?,
        size: u32::try_from(size).map_err(|_| format!("`{line}`: a request is at most 4 GiB"))?,
        path: path.trim().to_owned(),
    })
}

impl<'de> serde::Deserialize<'de> for WorkStep {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
