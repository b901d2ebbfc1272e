//! Writes logs of Linux computers as text: `journalctl -o short-monotonic`, `dmesg`, and serial consoles.

/// Sender of a line.
#[derive(Clone, Debug)]
enum Sender {
    Kernel,
    /// A program, with its process id.
    Program(&'static str, u32),
    /// A line that a program printed on the console, without a time.
    Console,
}

/// A log, line by line.
#[derive(Clone, Debug, Default)]
pub struct TextLog {
    lines: Vec<(i64, Sender, String)>,
}

impl TextLog {
    /// Creates the log of a boot whose service manager starts at `user_space_ms`.
    #[must_use]
    pub fn boot(user_space_ms: i64) -> Self {
        let log = Self::default()
            .kernel(0, "Linux version 6.1.0-test (gcc) #1 SMP")
            .kernel(1, "Command line: root=/dev/sda1 quiet");
        let log = (1..user_space_ms / 500)
            .fold(log, |log, number| log.kernel(number * 500, &format!("pci 0000:00:{number:02x}.0: enabled")));
        log.kernel(user_space_ms, "Run /sbin/init as init process")
            .manager(user_space_ms + 10, "systemd 252 running in system mode (+PAM)")
            .manager(user_space_ms + 11, "Detected architecture x86-64.")
    }

    /// Adds a line of the kernel.
    #[must_use]
    pub fn kernel(mut self, ms: i64, text: &str) -> Self {
        self.lines.push((ms, Sender::Kernel, text.to_owned()));
        self
    }

    /// Adds a line of the service manager.
    #[must_use]
    pub fn manager(mut self, ms: i64, text: &str) -> Self {
        self.lines.push((ms, Sender::Program("systemd", 1), text.to_owned()));
        self
    }

    /// Adds a line of another program.
    #[must_use]
    pub fn program(mut self, ms: i64, name: &'static str, text: &str) -> Self {
        self.lines.push((ms, Sender::Program(name, 400), text.to_owned()));
        self
    }

    /// Adds a line that a program printed on the console after the line before.
    #[must_use]
    pub fn console(mut self, text: &str) -> Self {
        let ms = self.lines.last().map_or(0, |line| line.0);
        self.lines.push((ms, Sender::Console, text.to_owned()));
        self
    }

    /// Adds the start of a unit.
    #[must_use]
    pub fn unit(self, name: &str, start_ms: i64, end_ms: i64) -> Self {
        self.manager(start_ms, &format!("Starting {name} - Test..."))
            .manager(end_ms, &format!("Finished {name} - Test."))
    }

    /// Adds the start of a unit that fails.
    #[must_use]
    pub fn failed_unit(self, name: &str, start_ms: i64, end_ms: i64) -> Self {
        self.manager(start_ms, &format!("Starting {name} - Test..."))
            .manager(end_ms, &format!("Failed to start {name} - Test."))
    }

    /// Adds a target that is reached.
    #[must_use]
    pub fn target(self, ms: i64, name: &str) -> Self {
        self.manager(ms, &format!("Reached target {name} - Test."))
    }

    /// Adds the end of the boot: its target, and the report of the service manager.
    #[must_use]
    pub fn finished(self, user_space_ms: i64, end_ms: i64) -> Self {
        let seconds = |ms: i64| format!("{}.{:03}s", ms / 1_000, ms % 1_000);
        let (kernel, user) = (seconds(user_space_ms), seconds(end_ms - user_space_ms));
        self.target(end_ms, "graphical.target").manager(
            end_ms + 1,
            &format!("Startup finished in {kernel} (kernel) + {user} (userspace) = {}.", seconds(end_ms)),
        )
    }

    /// Returns the log as `journalctl -o short-monotonic` prints it.
    #[must_use]
    pub fn journal_file(&self) -> Vec<(String, Vec<u8>)> {
        let text = self.text(|ms, sender, text| match sender {
            Sender::Kernel => format!("[{}] lab kernel: {text}", stamp(ms)),
            Sender::Program(name, pid) => format!("[{}] lab {name}[{pid}]: {text}", stamp(ms)),
            Sender::Console => String::new(),
        });
        vec![("journal.txt".to_owned(), text.into_bytes())]
    }

    /// Returns the lines of the kernel, of the service manager and of the console, as on a serial console.
    #[must_use]
    pub fn console_file(&self) -> Vec<(String, Vec<u8>)> {
        let text = self.text(|ms, sender, text| match sender {
            Sender::Kernel => format!("[{}] {text}", stamp(ms)),
            Sender::Program(name, pid) => format!("[{}] {name}[{pid}]: {text}", stamp(ms)),
            Sender::Console => text.to_owned(),
        });
        vec![("console.log".to_owned(), text.into_bytes())]
    }

    fn text(&self, line: impl Fn(i64, &Sender, &str) -> String) -> String {
        let mut lines: Vec<&(i64, Sender, String)> = self.lines.iter().collect();
        lines.sort_by_key(|line| line.0);
        let mut text = String::new();
        for (ms, sender, message) in lines {
            let line = line(*ms, sender, message);
            if !line.is_empty() {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }
}

fn stamp(ms: i64) -> String {
    format!("{:5}.{:03}000", ms / 1_000, ms % 1_000)
}
