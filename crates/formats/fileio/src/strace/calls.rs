//! Applies system calls to the table of open files and emits file operations.

use hashbrown::HashMap;

use super::descriptors::{Descriptors, OpenFile, OpenFileId, is_seekable};
use super::line::{self, Arguments, Axis, Content, Time, parse_descriptor, unquote};
use crate::format::Format;
use crate::losses::{LossKind, Losses};
use crate::number::{decode, lines, parse_unsigned};
use crate::operation::{Operation, OperationKind, OperationWriter, Outcome};

/// Thread id used if the recording has none.
const DEFAULT_TID: u32 = 0;

struct UnfinishedCall {
    offset: usize,
    start_ns: i64,
    name: String,
    arguments: String,
}

/// A complete call.
#[derive(Debug)]
struct Call<'c> {
    /// Offset of the line, bytes.
    line_offset: usize,
    tid: u32,
    start_ns: i64,
    /// Time from the first half to the second, used if strace did not print a duration.
    elapsed_ns: Option<i64>,
    name: &'c str,
    arguments: &'c [&'c str],
    result: Option<i64>,
    result_path: Option<&'c str>,
    duration_ns: Option<i64>,
}

pub(crate) fn read(bytes: &[u8], out: &mut OperationWriter<'_>) {
    let mut reader = CallReader { files: Descriptors::default(), has_thread_ids: false };
    let mut unfinished: HashMap<u32, UnfinishedCall> = HashMap::new();
    let mut axis = Axis::default();
    let mut has_durations = false;
    for (offset, line) in lines(bytes) {
        let text = decode(line);
        if text.trim().is_empty() {
            continue;
        }
        out.count_record();
        out.report_progress(offset);
        let Some(parsed) = line::parse(&text) else {
            out.count_loss(LossKind::Unreadable, offset);
            continue;
        };
        if matches!(parsed.time, Some(Time::Unix(_))) {
            out.set_unix_times();
        }
        reader.has_thread_ids |= parsed.tid.is_some();
        let tid = parsed.tid.unwrap_or(DEFAULT_TID);
        let now_ns = axis.time_ns(parsed.time);
        match parsed.content {
            Content::Other => {}
            Content::Begin { name, arguments } => {
                let first_half =
                    UnfinishedCall { offset, start_ns: now_ns, name: name.to_owned(), arguments: arguments.to_owned() };
                if let Some(replaced) = unfinished.insert(tid, first_half) {
                    out.count_loss(LossKind::Unfinished, replaced.offset);
                }
            }
            // The last line of a recording that ends within a line: its result can be the start of a number.
            Content::Call { result, .. }
                if has_durations && offset + line.len() == bytes.len() && line::parse_result(result).2.is_none() =>
            {
                out.count_loss(LossKind::Unreadable, offset);
            }
            Content::Call { name, arguments: argument_text, result } => {
                has_durations = has_durations || line::parse_result(result).2.is_some();
                reader.parse_and_apply(offset, tid, (now_ns, None), name, argument_text, result, out);
            }
            Content::Resumed { name, arguments: argument_text, result } => match unfinished.remove(&tid) {
                Some(first_half) if first_half.name == name => {
                    let comma =
                        if first_half.arguments.is_empty() || first_half.arguments.ends_with(',') { "" } else { "," };
                    let all_arguments = format!("{}{comma} {argument_text}", first_half.arguments);
                    let elapsed_ns = parsed.time.map(|_| now_ns.saturating_sub(first_half.start_ns).max(0));
                    reader.parse_and_apply(
                        first_half.offset,
                        tid,
                        (first_half.start_ns, elapsed_ns),
                        name,
                        &all_arguments,
                        result,
                        out,
                    );
                }
                Some(first_half) => {
                    out.count_loss(LossKind::Unfinished, first_half.offset);
                    out.count_loss(LossKind::Unfinished, offset);
                }
                None => out.count_loss(LossKind::Unfinished, offset),
            },
        }
    }
    let mut unfinished_offsets: Vec<usize> = unfinished.into_values().map(|first_half| first_half.offset).collect();
    unfinished_offsets.sort_unstable();
    for offset in unfinished_offsets {
        out.count_loss(LossKind::Unfinished, offset);
    }
}

#[derive(Debug)]
struct CallReader {
    files: Descriptors,
    /// True if lines have a thread id.
    has_thread_ids: bool,
}

/// Converts system calls recorded by a tool other than `strace` to file operations. Arguments must have the format of
/// `strace`.
#[derive(Debug)]
pub struct SystemCallReader {
    reader: CallReader,
    losses: Losses,
}

/// A system call that has returned.
#[derive(Clone, Copy, Debug)]
pub struct SystemCall<'c> {
    pub tid: u32,
    /// Start, ns.
    pub start_ns: i64,
    /// Duration, ns.
    pub duration_ns: i64,
    pub name: &'c str,
    /// Arguments: a descriptor as a number, a path in quotes, flags as names.
    pub arguments: &'c [&'c str],
    /// Result; negative for an error.
    pub result: i64,
}

impl Default for SystemCallReader {
    fn default() -> Self {
        Self { reader: CallReader { files: Descriptors::default(), has_thread_ids: true }, losses: Losses::default() }
    }
}

impl SystemCallReader {
    /// Processes the next call, in the order of return, and passes file operations to `sink`. Times are not shifted.
    pub fn call(&mut self, call: &SystemCall<'_>, sink: &mut dyn FnMut(&Operation<'_>)) {
        let mut release = |_| {};
        let mut out =
            OperationWriter::with_absolute_times(Format::Strace, std::mem::take(&mut self.losses), sink, &mut release);
        let completed_call = Call {
            line_offset: 0,
            tid: call.tid,
            start_ns: call.start_ns,
            elapsed_ns: None,
            name: call.name,
            arguments: call.arguments,
            result: Some(call.result),
            result_path: None,
            duration_ns: Some(call.duration_ns),
        };
        if self.reader.apply(&completed_call, &mut out).is_none() {
            out.count_loss(LossKind::Unreadable, 0);
        }
        self.losses = out.finish().losses;
    }

    /// Returns the losses so far: calls and requests that could not be converted.
    #[must_use]
    pub const fn losses(&self) -> &Losses {
        &self.losses
    }
}

/// Source of the offset of a read or write.
#[derive(Clone, Copy)]
enum OffsetSource {
    /// The current position, which advances.
    Current,
    /// The argument at this index.
    Argument(usize),
    /// The argument at this index, or the current position if it is -1.
    ArgumentOrCurrent(usize),
}

impl CallReader {
    #[expect(clippy::too_many_arguments, reason = "the parts of a line")]
    fn parse_and_apply(
        &mut self,
        line_offset: usize,
        tid: u32,
        (start_ns, elapsed_ns): (i64, Option<i64>),
        name: &str,
        argument_text: &str,
        result: &str,
        out: &mut OperationWriter<'_>,
    ) {
        let (number, result_path, duration_ns) = line::parse_result(result);
        let arguments = Arguments::split(argument_text);
        let call = Call {
            line_offset,
            tid,
            start_ns,
            elapsed_ns,
            name,
            arguments: arguments.as_slice(),
            result: number,
            result_path,
            duration_ns,
        };
        if self.apply(&call, out).is_none() {
            out.count_loss(LossKind::Unreadable, line_offset);
        }
    }

    /// Applies a call. Returns `None` if an argument is invalid.
    fn apply(&mut self, call: &Call<'_>, out: &mut OperationWriter<'_>) -> Option<()> {
        use OperationKind::{Flush, Read, Write};
        match call.name {
            "read" | "readv" => self.transfer(call, Read, OffsetSource::Current, out),
            "write" | "writev" => self.transfer(call, Write, OffsetSource::Current, out),
            "pread64" | "pread" | "preadv" => self.transfer(call, Read, OffsetSource::Argument(3), out),
            "pwrite64" | "pwrite" | "pwritev" => self.transfer(call, Write, OffsetSource::Argument(3), out),
            "preadv2" => self.transfer(call, Read, OffsetSource::ArgumentOrCurrent(3), out),
            "pwritev2" => self.transfer(call, Write, OffsetSource::ArgumentOrCurrent(3), out),
            "sendfile" | "sendfile64" => self.copy(call, (1, Some(2)), (0, None), out),
            "copy_file_range" => self.copy(call, (0, Some(1)), (2, Some(3)), out),
            "open" | "openat" | "openat2" | "creat" => self.open(call, out),
            "close" => self.close(call, out),
            "fsync" | "fdatasync" | "sync_file_range" => self.emit_descriptor_operation(call, Flush, out),
            "lseek" | "_llseek" => self.seek(call),
            "dup" | "dup2" | "dup3" => self.duplicate(call),
            "fcntl" | "fcntl64" if call.arguments.get(1).is_some_and(|command| command.starts_with("F_DUPFD")) => {
                self.duplicate(call)
            }
            "fcntl" | "fcntl64" if call.arguments.get(1) == Some(&"F_SETFL") => self.set_flags(call),
            "clone" | "clone3" | "fork" | "vfork" => self.spawn(call),
            "execve" | "execveat" => self.execute(call),
            "fstat" | "newfstatat" | "statx" => self.record_size(call),
            "ftruncate" | "ftruncate64" => self.truncate(call),
            "pipe" | "pipe2" | "socketpair" => Some(()),
            "io_uring_enter" => record_loss(call, LossKind::IoUring, out),
            "io_submit" => record_loss(call, LossKind::AsynchronousIo, out),
            "splice" | "tee" => record_loss(call, LossKind::Spliced, out),
            "mmap" | "mmap2" => self.count_mapping(call, out),
            name if is_torn(name) => None,
            _ => Some(()),
        }
    }

    fn operation<'s>(&'s self, call: &Call<'_>, kind: OperationKind, file: &'s str, id: OpenFileId) -> Operation<'s> {
        let process = self.files.process(call.tid);
        Operation {
            start_ns: call.start_ns,
            duration_ns: call.duration_ns.or(call.elapsed_ns),
            pid: self.has_thread_ids.then_some(process),
            tid: self.has_thread_ids.then_some(call.tid),
            process: self.files.name(process),
            file,
            handle: id as u64 + 1,
            ..Operation::new(kind)
        }
    }

    fn transfer(
        &mut self,
        call: &Call<'_>,
        kind: OperationKind,
        source: OffsetSource,
        out: &mut OperationWriter<'_>,
    ) -> Option<()> {
        let (number, path) = parse_descriptor(call.arguments.first()?)?;
        let Some(id) = self.files.find(call.tid, number, path) else {
            if call.result.is_some_and(|transferred| transferred > 0) {
                out.count_loss(LossKind::DescriptorUnknown, call.line_offset);
            }
            return Some(());
        };
        let file = self.files.get(id)?;
        if !file.seekable {
            return Some(());
        }
        let explicit_offset = match source {
            OffsetSource::Current => None,
            OffsetSource::Argument(index) => Some(call.arguments.get(index)?.parse::<i64>().ok()?),
            OffsetSource::ArgumentOrCurrent(index) => {
                Some(call.arguments.get(index)?.parse::<i64>().ok()?).filter(|&offset| offset != -1)
            }
        };
        let appends = kind == OperationKind::Write && file.append && explicit_offset.is_none();
        let offset = match explicit_offset {
            Some(explicit_offset) => u64::try_from(explicit_offset).ok(),
            None if appends => self.files.size(&file.path),
            None => Some(file.position),
        };
        self.push(call, kind, id, offset, call.result, explicit_offset.is_none(), out)
    }

    /// Emits a read or write of `transferred` bytes and advances the file position if the request used it.
    #[expect(clippy::too_many_arguments, reason = "a request and its position")]
    fn push(
        &mut self,
        call: &Call<'_>,
        kind: OperationKind,
        id: OpenFileId,
        offset: Option<u64>,
        transferred: Option<i64>,
        advances: bool,
        out: &mut OperationWriter<'_>,
    ) -> Option<()> {
        let Some(transferred) = transferred else {
            // The process ended during the call.
            out.count_loss(LossKind::Unfinished, call.line_offset);
            return Some(());
        };
        let Some(offset) = offset else {
            out.count_loss(LossKind::OffsetUnknown, call.line_offset);
            return Some(());
        };
        let length = u64::try_from(transferred).unwrap_or(0);
        let outcome = match transferred {
            ..0 => Outcome::Failed,
            0 if kind == OperationKind::Read => Outcome::EndOfFile,
            _ => Outcome::Done,
        };
        let file = self.files.get(id)?;
        let operation = self.operation(call, kind, &file.path, id);
        out.push(&Operation { outcome, offset, length, unbuffered: file.direct, ..operation });
        let end = offset.saturating_add(length);
        if kind == OperationKind::Write {
            self.files.grow_to(id, end);
        }
        if advances {
            self.files.get_mut(id)?.position = end;
        }
        Some(())
    }

    /// Emits a copy within the kernel as a read of one file and, if the other end is a file, a write of it. `input` and
    /// `output` are the indexes of the descriptor and of its offset; without an offset, the position is used.
    fn copy(
        &mut self,
        call: &Call<'_>,
        input: (usize, Option<usize>),
        output: (usize, Option<usize>),
        out: &mut OperationWriter<'_>,
    ) -> Option<()> {
        let transfers = [(input, OperationKind::Read), (output, OperationKind::Write)];
        for ((descriptor_index, offset_index), kind) in transfers {
            let (number, path) = parse_descriptor(call.arguments.get(descriptor_index)?)?;
            let Some(id) = self.files.find(call.tid, number, path) else {
                out.count_loss(LossKind::DescriptorUnknown, call.line_offset);
                continue;
            };
            let position = self.files.get(id).filter(|file| file.seekable).map(|file| file.position);
            if position.is_none() {
                continue;
            }
            // `NULL`, `[4096]`, or `[0] => [4096]`.
            let explicit_offset = match offset_index {
                Some(index) => call
                    .arguments
                    .get(index)?
                    .strip_prefix('[')
                    .and_then(|list| list.split(']').next())
                    .and_then(|text| parse_unsigned(text.as_bytes())),
                None => None,
            };
            self.push(call, kind, id, explicit_offset.or(position), call.result, explicit_offset.is_none(), out)?;
        }
        Some(())
    }

    fn open(&mut self, call: &Call<'_>, out: &mut OperationWriter<'_>) -> Option<()> {
        let path_index = usize::from(call.name.starts_with("openat"));
        let mut path = unquote(call.arguments.get(path_index)?)?;
        if path_index == 1
            && !path.starts_with('/')
            && let Some((_, Some(directory))) = parse_descriptor(call.arguments.first()?)
        {
            path = format!("{}/{path}", directory.trim_end_matches('/'));
        }
        let flags = call.arguments.get(path_index + 1).copied().unwrap_or_default();
        let descriptor = call.result.and_then(|result| i32::try_from(result).ok()).filter(|&result| result >= 0);
        let Some(descriptor) = descriptor else {
            let operation = self.operation(call, OperationKind::Open, &path, 0);
            out.push(&Operation { outcome: Outcome::Failed, handle: 0, ..operation });
            return Some(());
        };
        if let Some(resolved) = call.result_path {
            path = resolved.to_owned();
        }
        if flags.contains("O_TRUNC") || call.name == "creat" {
            self.files.set_size(&path, 0);
        }
        let file = OpenFile {
            seekable: is_seekable(&path) || !path.starts_with('/') && !path.contains(":["),
            path,
            position: 0,
            append: flags.contains("O_APPEND"),
            direct: flags.contains("O_DIRECT"),
        };
        let id = self.files.open(call.tid, descriptor, file, flags.contains("O_CLOEXEC"));
        let path = &self.files.get(id)?.path;
        out.push(&self.operation(call, OperationKind::Open, path, id));
        Some(())
    }

    fn close(&mut self, call: &Call<'_>, out: &mut OperationWriter<'_>) -> Option<()> {
        let (number, path) = parse_descriptor(call.arguments.first()?)?;
        if call.result != Some(0) {
            return Some(());
        }
        self.files.find(call.tid, number, path);
        if let Some(id) = self.files.close(call.tid, number)
            && let Some(file) = self.files.get(id).filter(|file| file.seekable)
        {
            out.push(&self.operation(call, OperationKind::Close, &file.path, id));
        }
        Some(())
    }

    fn emit_descriptor_operation(
        &mut self,
        call: &Call<'_>,
        kind: OperationKind,
        out: &mut OperationWriter<'_>,
    ) -> Option<()> {
        let (number, path) = parse_descriptor(call.arguments.first()?)?;
        match self.files.find(call.tid, number, path) {
            Some(id) => {
                let outcome = if call.result == Some(0) { Outcome::Done } else { Outcome::Failed };
                let path = &self.files.get(id)?.path;
                out.push(&Operation { outcome, ..self.operation(call, kind, path, id) });
            }
            None => out.count_loss(LossKind::DescriptorUnknown, call.line_offset),
        }
        Some(())
    }

    fn seek(&mut self, call: &Call<'_>) -> Option<()> {
        let (number, path) = parse_descriptor(call.arguments.first()?)?;
        // `_llseek` returns the position through its fourth argument.
        let position = if call.name == "_llseek" {
            call.arguments.get(3)?.trim_matches(['[', ']']).parse().ok()
        } else {
            call.result
        };
        if let (Some(position), Some(id)) =
            (position.and_then(|position| u64::try_from(position).ok()), self.files.find(call.tid, number, path))
        {
            let file = self.files.get_mut(id)?;
            file.position = position;
            if call.arguments.get(1) == Some(&"0") && call.arguments.get(2) == Some(&"SEEK_END") {
                let path = file.path.clone();
                self.files.set_size(&path, position);
            }
        }
        Some(())
    }

    fn duplicate(&mut self, call: &Call<'_>) -> Option<()> {
        let (original, path) = parse_descriptor(call.arguments.first()?)?;
        self.files.find(call.tid, original, path);
        if let Some(copy) =
            call.result.and_then(|copy| i32::try_from(copy).ok()).filter(|&copy| copy >= 0 && copy != original)
        {
            self.files.duplicate(call.tid, original, copy);
        }
        Some(())
    }

    fn set_flags(&mut self, call: &Call<'_>) -> Option<()> {
        let (number, path) = parse_descriptor(call.arguments.first()?)?;
        if call.result == Some(0)
            && let Some(id) = self.files.find(call.tid, number, path)
        {
            let flags = call.arguments.get(2)?;
            let file = self.files.get_mut(id)?;
            (file.append, file.direct) = (flags.contains("O_APPEND"), flags.contains("O_DIRECT"));
        }
        Some(())
    }

    fn spawn(&mut self, call: &Call<'_>) -> Option<()> {
        let child = call.result.and_then(|child| u32::try_from(child).ok()).filter(|&child| child > 0);
        if let Some(child) = child {
            let has_flag = |flag: &str| call.arguments.iter().any(|argument| argument.contains(flag));
            self.files.spawn(call.tid, child, has_flag("CLONE_FILES"), has_flag("CLONE_THREAD"));
        }
        Some(())
    }

    fn execute(&mut self, call: &Call<'_>) -> Option<()> {
        let path_index = usize::from(call.name == "execveat");
        let path = unquote(call.arguments.get(path_index)?)?;
        if call.result == Some(0) {
            self.files.execute(call.tid, &path);
        }
        Some(())
    }

    /// Records the size of a file, which later appends need.
    fn record_size(&mut self, call: &Call<'_>) -> Option<()> {
        let Some((number, path)) = call.arguments.first().and_then(|first| parse_descriptor(first)) else {
            return Some(());
        };
        // `newfstatat(3, "", …)` refers to the descriptor; with a name it refers to another file.
        if call.name != "fstat" && call.arguments.get(1) != Some(&"\"\"") {
            return Some(());
        }
        let size = call.arguments.iter().find_map(|argument| {
            let tail = argument.split_once("st_size=").or_else(|| argument.split_once("stx_size="))?.1;
            parse_unsigned(tail.split([',', '}']).next()?.as_bytes())
        });
        if let (Some(size), Some(id)) = (size, self.files.find(call.tid, number, path)) {
            let path = self.files.get(id)?.path.clone();
            self.files.set_size(&path, size);
        }
        Some(())
    }

    fn truncate(&mut self, call: &Call<'_>) -> Option<()> {
        let (number, path) = parse_descriptor(call.arguments.first()?)?;
        let size = parse_unsigned(call.arguments.get(1)?.as_bytes())?;
        if call.result == Some(0)
            && let Some(id) = self.files.find(call.tid, number, path)
        {
            let path = self.files.get(id)?.path.clone();
            self.files.set_size(&path, size);
        }
        Some(())
    }

    fn count_mapping(&mut self, call: &Call<'_>, out: &mut OperationWriter<'_>) -> Option<()> {
        let is_anonymous = call.arguments.get(3).is_none_or(|flags| flags.contains("MAP_ANON"));
        let has_file =
            call.arguments.get(4).and_then(|text| parse_descriptor(text)).is_some_and(|(number, _)| number >= 0);
        if !is_anonymous && has_file {
            out.count_loss(LossKind::Mapped, call.line_offset);
        }
        Some(())
    }
}

/// True for the rest of a call's name: the start of its line is missing, because several programs wrote to the file or it
/// was cut. Such a line looks like an unknown call.
fn is_torn(name: &str) -> bool {
    const CALLS: [&str; 13] = [
        "read",
        "readv",
        "write",
        "writev",
        "pread64",
        "preadv",
        "pwrite64",
        "pwritev",
        "openat",
        "close",
        "lseek",
        "fsync",
        "fdatasync",
    ];
    // `sync` is a call, too.
    name != "sync" && !CALLS.contains(&name) && CALLS.iter().any(|call| call.ends_with(name))
}

#[expect(clippy::unnecessary_wraps, reason = "same signature as the other handlers")]
fn record_loss(call: &Call<'_>, kind: LossKind, out: &mut OperationWriter<'_>) -> Option<()> {
    out.count_loss(kind, call.line_offset);
    Some(())
}
