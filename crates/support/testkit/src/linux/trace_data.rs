//! Writes trace-cmd files (`trace.dat`, version 6) with context switches and call stacks.
//!
//! Source: trace-cmd.dat(5) and the `format` files of Linux 6.1.

/// Builds a `trace.dat` file.
#[derive(Clone, Debug, Default)]
pub struct TraceDatBuilder {
    kallsyms: String,
    process_maps: Vec<String>,
    records: Vec<Record>,
}

#[derive(Clone, Debug)]
struct Record {
    time_ns: u64,
    cpu: usize,
    payload: Vec<u8>,
}

/// Time, processor and thread of an event.
#[derive(Clone, Copy, Debug)]
pub struct EventOrigin {
    pub time_ns: u64,
    pub cpu: usize,
    pub tid: u32,
    pub in_interrupt: bool,
}

impl EventOrigin {
    #[must_use]
    pub const fn new(time_ns: u64, cpu: usize, tid: u32) -> Self {
        Self { time_ns, cpu, tid, in_interrupt: false }
    }

    #[must_use]
    pub const fn in_interrupt(self) -> Self {
        Self { in_interrupt: true, ..self }
    }
}

const PAGE_SIZE: usize = 4096;
const PAGE_HEADER_SIZE: usize = 16;
const KERNEL_STACK: u16 = 4;
const USER_STACK: u16 = 12;
const SWITCH: u16 = 300;
const WAKING: u16 = 301;
const ISSUE: u16 = 302;
const COMPLETE: u16 = 303;

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

/// Fields of an event: declaration, offset, size.
type Fields = &'static [(&'static str, usize, usize)];

/// An event: name, id and fields.
type EventFormat = (&'static str, u16, Fields);

const FTRACE_EVENTS: &[EventFormat] = &[
    ("kernel_stack", KERNEL_STACK, &[("int size", 8, 4), ("unsigned long caller[8]", 16, 64)]),
    ("user_stack", USER_STACK, &[("unsigned int tgid", 8, 4), ("unsigned long caller[8]", 16, 64)]),
];

const EVENTS: &[(&str, &[EventFormat])] = &[
    (
        "sched",
        &[
            (
                "sched_switch",
                SWITCH,
                &[
                    ("char prev_comm[16]", 8, 16),
                    ("pid_t prev_pid", 24, 4),
                    ("int prev_prio", 28, 4),
                    ("long prev_state", 32, 8),
                    ("char next_comm[16]", 40, 16),
                    ("pid_t next_pid", 56, 4),
                    ("int next_prio", 60, 4),
                ],
            ),
            (
                "sched_waking",
                WAKING,
                &[("char comm[16]", 8, 16), ("pid_t pid", 24, 4), ("int prio", 28, 4), ("int target_cpu", 32, 4)],
            ),
        ],
    ),
    (
        "block",
        &[
            (
                "block_rq_issue",
                ISSUE,
                &[
                    ("dev_t dev", 8, 4),
                    ("sector_t sector", 16, 8),
                    ("unsigned int nr_sector", 24, 4),
                    ("unsigned int bytes", 28, 4),
                    ("char rwbs[8]", 32, 8),
                    ("char comm[16]", 40, 16),
                ],
            ),
            (
                "block_rq_complete",
                COMPLETE,
                &[
                    ("dev_t dev", 8, 4),
                    ("sector_t sector", 16, 8),
                    ("unsigned int nr_sector", 24, 4),
                    ("int error", 28, 4),
                    ("char rwbs[8]", 32, 8),
                ],
            ),
        ],
    ),
];

impl TraceDatBuilder {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the kernel's symbols in the format of `/proc/kallsyms`.
    #[must_use]
    pub fn kallsyms(mut self, text: &str) -> Self {
        text.clone_into(&mut self.kallsyms);
        self
    }

    /// Adds the mapped files of a process: start, end and path.
    #[must_use]
    pub fn process_map(mut self, pid: u32, program: &str, files: &[(u64, u64, &str)]) -> Self {
        use std::fmt::Write as _;
        let mut text = format!("{pid:x} {:x} {program}\n", files.len());
        for (begin, end, path) in files {
            let _ = writeln!(text, "{begin:x} {end:x} {path}");
        }
        self.process_maps.push(text + "\0");
        self
    }

    /// Adds a context switch from the thread of `origin` to another; the old thread is left in `state` (1 for
    /// `TASK_INTERRUPTIBLE`).
    #[must_use]
    pub fn switch(
        mut self,
        origin: EventOrigin,
        (old_name, state): (&str, i64),
        (new_tid, new_name): (u32, &str),
    ) -> Self {
        let mut payload = event_head(SWITCH, origin);
        payload.extend(task_name(old_name));
        payload.extend(origin.tid.to_le_bytes());
        payload.extend(120_i32.to_le_bytes());
        payload.extend(state.to_le_bytes());
        payload.extend(task_name(new_name));
        payload.extend(new_tid.to_le_bytes());
        payload.extend(120_i32.to_le_bytes());
        self.push(origin, payload);
        self
    }

    /// Adds a wakeup of a thread.
    #[must_use]
    pub fn waking(mut self, origin: EventOrigin, (tid, task): (u32, &str)) -> Self {
        let mut payload = event_head(WAKING, origin);
        payload.extend(task_name(task));
        payload.extend(tid.to_le_bytes());
        payload.extend([120_i32, 0].into_iter().flat_map(i32::to_le_bytes));
        self.push(origin, payload);
        self
    }

    /// Adds a read of eight sectors from disk 8:0, with the call stack of its issue.
    #[must_use]
    pub fn disk_read(mut self, origin: EventOrigin, sector: u64, kernel: &[u64], complete_ns: u64) -> Self {
        let request = |id: u16, origin: EventOrigin| {
            let mut payload = event_head(id, origin);
            payload.extend((8_u32 << 20).to_le_bytes());
            payload.extend([0; 4]);
            payload.extend(sector.to_le_bytes());
            payload.extend(8_u32.to_le_bytes());
            payload.extend((if id == ISSUE { 4096_u32 } else { 0 }).to_le_bytes());
            payload.extend(b"R\0\0\0\0\0\0\0");
            payload
        };
        let mut payload = request(ISSUE, origin);
        payload.extend(task_name("reader"));
        self.push(origin, payload);
        self = self.kernel_stack(origin, kernel);
        let completion = EventOrigin { time_ns: complete_ns, tid: 0, in_interrupt: true, ..origin };
        self.push(completion, request(COMPLETE, completion));
        self
    }

    /// Adds the kernel call stack of the previous event.
    #[must_use]
    pub fn kernel_stack(mut self, origin: EventOrigin, addresses: &[u64]) -> Self {
        let mut payload = event_head(KERNEL_STACK, origin);
        payload.extend(u32::try_from(addresses.len()).unwrap_or(u32::MAX).to_le_bytes());
        payload.extend([0; 4]);
        payload.extend(addresses.iter().flat_map(|address| address.to_le_bytes()));
        self.push(origin, payload);
        self
    }

    /// Adds the user call stack of the previous event: at most eight addresses.
    #[must_use]
    pub fn user_stack(mut self, origin: EventOrigin, pid: u32, addresses: &[u64]) -> Self {
        let mut payload = event_head(USER_STACK, origin);
        payload.extend(pid.to_le_bytes());
        payload.extend([0; 4]);
        let addresses = addresses.iter().copied().chain(std::iter::repeat(0)).take(8);
        payload.extend(addresses.flat_map(u64::to_le_bytes));
        self.push(origin, payload);
        self
    }

    fn push(&mut self, origin: EventOrigin, payload: Vec<u8>) {
        self.records.push(Record { time_ns: origin.time_ns, cpu: origin.cpu, payload });
    }

    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = b"\x17\x08\x44tracing6\0\0\x08".to_vec();
        file.extend((PAGE_SIZE as u32).to_le_bytes());
        let page = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
        for (section, text) in [("header_page", page), ("header_event", "# compressed entry header\n")] {
            file.extend(section.as_bytes());
            file.push(0);
            write_long_text(&mut file, text);
        }
        write_formats(&mut file, FTRACE_EVENTS);
        file.extend((EVENTS.len() as u32).to_le_bytes());
        for (system, events) in EVENTS {
            file.extend(system.as_bytes());
            file.push(0);
            write_formats(&mut file, events);
        }
        file.extend((self.kallsyms.len() as u32).to_le_bytes());
        file.extend(self.kallsyms.as_bytes());
        file.extend(0_u32.to_le_bytes());
        write_long_text(&mut file, "");
        const PROCESSORS: usize = 2;
        file.extend((PROCESSORS as u32).to_le_bytes());
        file.extend(b"options  \0");
        let clock = (4_u16, "local global [mono] boot\n");
        let maps = self.process_maps.iter().map(|map| (10_u16, map.as_str()));
        for (number, text) in std::iter::once(clock).chain(maps) {
            file.extend(number.to_le_bytes());
            file.extend((text.len() as u32).to_le_bytes());
            file.extend(text.as_bytes());
        }
        file.extend(0_u16.to_le_bytes());
        file.extend(b"flyrecord\0");
        let pages: Vec<Vec<u8>> = (0..PROCESSORS).map(|cpu| self.pages(cpu)).collect();
        let mut data_offset = (file.len() + PROCESSORS * 16).next_multiple_of(PAGE_SIZE);
        for pages in &pages {
            file.extend((data_offset as u64).to_le_bytes());
            file.extend((pages.len() as u64).to_le_bytes());
            data_offset += pages.len();
        }
        file.resize(file.len().next_multiple_of(PAGE_SIZE), 0);
        pages.iter().for_each(|pages| file.extend(pages));
        file
    }

    /// Encodes the records of a processor in pages. A page starts with its time, a record with the time since the
    /// previous one.
    fn pages(&self, cpu: usize) -> Vec<u8> {
        let mut records: Vec<&Record> = self.records.iter().filter(|record| record.cpu == cpu).collect();
        records.sort_by_key(|record| record.time_ns);
        let mut pages = Vec::new();
        let mut data: Vec<u8> = Vec::new();
        let (mut begin_ns, mut last_ns) = (0, 0);
        for record in records {
            let length = record.payload.len().next_multiple_of(4);
            if data.len() + length + 16 > PAGE_SIZE - PAGE_HEADER_SIZE {
                write_page(&mut pages, begin_ns, &data);
                data.clear();
            }
            if data.is_empty() {
                (begin_ns, last_ns) = (record.time_ns, record.time_ns);
            }
            let delta = record.time_ns - last_ns;
            last_ns = record.time_ns;
            let (low, high) = (delta & ((1 << 27) - 1), delta >> 27);
            if high > 0 {
                data.extend((30_u32 | (low as u32) << 5).to_le_bytes());
                data.extend((high as u32).to_le_bytes());
            }
            let low = if high > 0 { 0 } else { low as u32 };
            data.extend((low << 5).to_le_bytes());
            data.extend((length as u32 + 4).to_le_bytes());
            data.extend(&record.payload);
            data.resize(data.len().next_multiple_of(4), 0);
        }
        if !data.is_empty() {
            write_page(&mut pages, begin_ns, &data);
        }
        pages
    }
}

fn write_page(pages: &mut Vec<u8>, begin_ns: u64, data: &[u8]) {
    pages.extend(begin_ns.to_le_bytes());
    pages.extend((data.len() as u64).to_le_bytes());
    pages.extend(data);
    pages.resize(pages.len().next_multiple_of(PAGE_SIZE), 0);
}

fn event_head(id: u16, origin: EventOrigin) -> Vec<u8> {
    const INTERRUPT: u8 = 0x08;
    let mut bytes = id.to_le_bytes().to_vec();
    bytes.extend([if origin.in_interrupt { INTERRUPT } else { 0 }, 0]);
    bytes.extend(origin.tid.to_le_bytes());
    bytes
}

fn task_name(text: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (slot, byte) in bytes.iter_mut().zip(text.bytes().take(15)) {
        *slot = byte;
    }
    bytes
}

fn write_long_text(file: &mut Vec<u8>, text: &str) {
    file.extend((text.len() as u64).to_le_bytes());
    file.extend(text.as_bytes());
}

fn write_formats(file: &mut Vec<u8>, events: &[EventFormat]) {
    use std::fmt::Write as _;
    file.extend((events.len() as u32).to_le_bytes());
    for (name, id, fields) in events {
        let mut text = format!("name: {name}\nID: {id}\nformat:\n{COMMON}");
        for (field, offset, size) in *fields {
            let signed = u8::from(field.starts_with("int") || field.starts_with("pid_t") || field.starts_with("long"));
            let _ = writeln!(text, "\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:{signed};");
        }
        write_long_text(file, &text);
    }
}
