//! What each call does to files.

use hashbrown::HashMap;

use super::descriptors::{Descriptors, OpenFile, OpenFileId, is_seekable};
use super::line::{self, Axis, Content, Time, arguments, descriptor, unquoted};
use crate::format::Format;
use crate::losses::{LossKind, Losses};
use crate::number::{lines, unsigned};
use crate::operation::{Counted, Operation, OperationKind, Outcome};

/// The thread of a recording that names none.
const ONLY: u32 = 0;

struct Begun {
    offset: usize,
    start_ns: i64,
    name: String,
    arguments: String,
}

/// One whole call.
#[derive(Debug)]
struct Call<'c> {
    /// Where its line is, bytes from the start.
    place: usize,
    tid: u32,
    start_ns: i64,
    /// From the first half to the second, when strace did not say how long it took.
    between_ns: Option<i64>,
    name: &'c str,
    arguments: &'c [&'c str],
    result: Option<i64>,
    result_path: Option<&'c str>,
    took_ns: Option<i64>,
}

pub(crate) fn read(bytes: &[u8], out: &mut Counted<'_>) {
    let mut reader = Reader { files: Descriptors::default(), numbered: false };
    let mut begun: HashMap<u32, Begun> = HashMap::new();
    let mut axis = Axis::default();
    for (offset, line) in lines(bytes) {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            continue;
        }
        out.record();
        out.pass(offset);
        let Some(parsed) = line::parse(&text) else {
            out.lose(LossKind::Unreadable, offset);
            continue;
        };
        if matches!(parsed.time, Some(Time::Unix(_))) {
            out.times_are_unix();
        }
        reader.numbered |= parsed.tid.is_some();
        let tid = parsed.tid.unwrap_or(ONLY);
        let now_ns = axis.place(parsed.time);
        match parsed.content {
            Content::Other => {}
            Content::Begun { name, arguments } => {
                let half = Begun { offset, start_ns: now_ns, name: name.to_owned(), arguments: arguments.to_owned() };
                if let Some(lost) = begun.insert(tid, half) {
                    out.lose(LossKind::Unfinished, lost.offset);
                }
            }
            Content::Call { name, arguments: inside, result } => {
                reader.call(offset, tid, (now_ns, None), name, inside, result, out);
            }
            Content::Resumed { name, arguments: inside, result } => match begun.remove(&tid) {
                Some(half) if half.name == name => {
                    let comma = if half.arguments.is_empty() || half.arguments.ends_with(',') { "" } else { "," };
                    let whole = format!("{}{comma} {inside}", half.arguments);
                    let between_ns = parsed.time.map(|_| now_ns.saturating_sub(half.start_ns).max(0));
                    reader.call(half.offset, tid, (half.start_ns, between_ns), name, &whole, result, out);
                }
                Some(half) => {
                    out.lose(LossKind::Unfinished, half.offset);
                    out.lose(LossKind::Unfinished, offset);
                }
                None => out.lose(LossKind::Unfinished, offset),
            },
        }
    }
    let mut halves: Vec<usize> = begun.into_values().map(|half| half.offset).collect();
    halves.sort_unstable();
    for offset in halves {
        out.lose(LossKind::Unfinished, offset);
    }
}

#[derive(Debug)]
struct Reader {
    files: Descriptors,
    /// Whether lines name their thread.
    numbered: bool,
}

/// System calls that another recorder than `strace` saw, one by one, with their arguments as `strace` writes them.
#[derive(Debug)]
pub struct SystemCalls {
    reader: Reader,
    losses: Losses,
}

/// A system call that has returned.
#[derive(Clone, Copy, Debug)]
pub struct SystemCall<'c> {
    /// Thread.
    pub tid: u32,
    /// Begin, ns.
    pub start_ns: i64,
    /// How long it took, ns.
    pub duration_ns: i64,
    /// Its name.
    pub name: &'c str,
    /// Its arguments: a descriptor as a number, a path in quotes, flags in words.
    pub arguments: &'c [&'c str],
    /// What it returned; an error is negative.
    pub result: i64,
}

impl Default for SystemCalls {
    fn default() -> Self {
        Self { reader: Reader { files: Descriptors::default(), numbered: true }, losses: Losses::default() }
    }
}

impl SystemCalls {
    /// Takes the next call, in the order in which they return, and hands what it did to a file to `sink`. Times stay as
    /// they are.
    pub fn call(&mut self, call: &SystemCall<'_>, sink: &mut dyn FnMut(&Operation<'_>)) {
        let mut passed = |_| {};
        let mut out = Counted::of_known_times(Format::Strace, std::mem::take(&mut self.losses), sink, &mut passed);
        let whole = Call {
            place: 0,
            tid: call.tid,
            start_ns: call.start_ns,
            between_ns: None,
            name: call.name,
            arguments: call.arguments,
            result: Some(call.result),
            result_path: None,
            took_ns: Some(call.duration_ns),
        };
        if self.reader.apply(&whole, &mut out).is_none() {
            out.lose(LossKind::Unreadable, 0);
        }
        self.losses = out.finish().losses;
    }

    /// What could not be placed.
    #[must_use]
    pub const fn losses(&self) -> &Losses {
        &self.losses
    }
}

/// How a read or write finds its place.
#[derive(Clone, Copy)]
enum Place {
    /// Where the file stands; it moves on.
    Current,
    /// Argument of this number.
    Argument(usize),
    /// Argument of this number; where the file stands if that is -1.
    ArgumentOrCurrent(usize),
}

impl Reader {
    #[expect(clippy::too_many_arguments, reason = "the parts of a line")]
    fn call(
        &mut self,
        place: usize,
        tid: u32,
        (start_ns, between_ns): (i64, Option<i64>),
        name: &str,
        inside: &str,
        result: &str,
        out: &mut Counted<'_>,
    ) {
        let (number, result_path, took_ns) = line::result(result);
        let arguments = arguments(inside);
        let call = Call {
            place,
            tid,
            start_ns,
            between_ns,
            name,
            arguments: &arguments,
            result: number,
            result_path,
            took_ns,
        };
        if self.apply(&call, out).is_none() {
            out.lose(LossKind::Unreadable, place);
        }
    }

    /// `None` when an argument is not what the call takes.
    fn apply(&mut self, call: &Call<'_>, out: &mut Counted<'_>) -> Option<()> {
        use OperationKind::{Flush, Read, Write};
        match call.name {
            "read" | "readv" => self.transfer(call, Read, Place::Current, out),
            "write" | "writev" => self.transfer(call, Write, Place::Current, out),
            "pread64" | "pread" | "preadv" => self.transfer(call, Read, Place::Argument(3), out),
            "pwrite64" | "pwrite" | "pwritev" => self.transfer(call, Write, Place::Argument(3), out),
            "preadv2" => self.transfer(call, Read, Place::ArgumentOrCurrent(3), out),
            "pwritev2" => self.transfer(call, Write, Place::ArgumentOrCurrent(3), out),
            "sendfile" | "sendfile64" => self.copy(call, 1, Some(2), None, out),
            "copy_file_range" => self.copy(call, 0, Some(1), Some((2, 3)), out),
            "open" | "openat" | "openat2" | "creat" => self.open(call, out),
            "close" => self.close(call, out),
            "fsync" | "fdatasync" | "sync_file_range" => self.simple(call, Flush, out),
            "lseek" | "_llseek" => self.seek(call),
            "dup" | "dup2" | "dup3" => self.duplicate(call),
            "fcntl" | "fcntl64" if call.arguments.get(1).is_some_and(|what| what.starts_with("F_DUPFD")) => {
                self.duplicate(call)
            }
            "fcntl" | "fcntl64" if call.arguments.get(1) == Some(&"F_SETFL") => self.set_flags(call),
            "clone" | "clone3" | "fork" | "vfork" => self.spawn(call),
            "execve" | "execveat" => self.execute(call),
            "fstat" | "newfstatat" | "statx" => self.size(call),
            "ftruncate" | "ftruncate64" => self.truncate(call),
            "pipe" | "pipe2" | "socketpair" => Some(()),
            "io_uring_enter" => lost(call, LossKind::IoUring, out),
            "io_submit" => lost(call, LossKind::AsynchronousIo, out),
            "splice" | "tee" => lost(call, LossKind::Spliced, out),
            "mmap" | "mmap2" => self.map(call, out),
            _ => Some(()),
        }
    }

    fn operation<'s>(&'s self, call: &Call<'_>, kind: OperationKind, file: &'s str, id: OpenFileId) -> Operation<'s> {
        let process = self.files.process(call.tid);
        Operation {
            start_ns: call.start_ns,
            duration_ns: call.took_ns.or(call.between_ns),
            pid: self.numbered.then_some(process),
            tid: self.numbered.then_some(call.tid),
            process: self.files.name(process),
            file,
            handle: id as u64 + 1,
            ..Operation::new(kind)
        }
    }

    fn transfer(&mut self, call: &Call<'_>, kind: OperationKind, place: Place, out: &mut Counted<'_>) -> Option<()> {
        let (number, path) = descriptor(call.arguments.first()?)?;
        let Some(id) = self.files.find(call.tid, number, path) else {
            if call.result.is_some_and(|moved| moved > 0) {
                out.lose(LossKind::DescriptorNotKnown, call.place);
            }
            return Some(());
        };
        let file = self.files.get(id)?;
        if !file.seekable {
            return Some(());
        }
        let given = match place {
            Place::Current => None,
            Place::Argument(at) => Some(call.arguments.get(at)?.parse::<i64>().ok()?),
            Place::ArgumentOrCurrent(at) => Some(call.arguments.get(at)?.parse::<i64>().ok()?).filter(|&at| at != -1),
        };
        let appends = kind == OperationKind::Write && file.append && given.is_none();
        let offset = match given {
            Some(given) => u64::try_from(given).ok(),
            None if appends => self.files.size(&file.path),
            None => Some(file.position),
        };
        self.push(call, kind, id, offset, call.result, given.is_none(), out)
    }

    /// Hands on a read or write of `moved` bytes, and moves the file if it stood where the request was.
    #[expect(clippy::too_many_arguments, reason = "a request and where it was")]
    fn push(
        &mut self,
        call: &Call<'_>,
        kind: OperationKind,
        id: OpenFileId,
        offset: Option<u64>,
        moved: Option<i64>,
        moves: bool,
        out: &mut Counted<'_>,
    ) -> Option<()> {
        let Some(moved) = moved else {
            // The process ended in the call.
            out.lose(LossKind::Unfinished, call.place);
            return Some(());
        };
        let Some(offset) = offset else {
            out.lose(LossKind::OffsetNotKnown, call.place);
            return Some(());
        };
        let length = u64::try_from(moved).unwrap_or(0);
        let outcome = match moved {
            ..0 => Outcome::Failed,
            0 if kind == OperationKind::Read => Outcome::EndOfFile,
            _ => Outcome::Done,
        };
        let path = &self.files.get(id)?.path;
        out.push(&Operation { outcome, offset, length, ..self.operation(call, kind, path, id) });
        let end = offset.saturating_add(length);
        if kind == OperationKind::Write {
            let path = path.clone();
            self.files.reach(&path, end);
        }
        if moves {
            self.files.get_mut(id)?.position = end;
        }
        Some(())
    }

    /// A copy inside the kernel: a read of one file, and a write of another where both are files.
    fn copy(
        &mut self,
        call: &Call<'_>,
        from: usize,
        from_place: Option<usize>,
        to: Option<(usize, usize)>,
        out: &mut Counted<'_>,
    ) -> Option<()> {
        let sides = [
            Some((from, from_place, OperationKind::Read)),
            to.map(|(to, place)| (to, Some(place), OperationKind::Write)),
        ];
        for (file, place, kind) in sides.into_iter().flatten() {
            let (number, path) = descriptor(call.arguments.get(file)?)?;
            let Some(id) = self.files.find(call.tid, number, path) else {
                out.lose(LossKind::DescriptorNotKnown, call.place);
                continue;
            };
            let position = self.files.get(id).filter(|file| file.seekable).map(|file| file.position);
            if position.is_none() {
                continue;
            }
            // `NULL`, `[4096]`, or `[0] => [4096]`.
            let given = call.arguments.get(place?)?;
            let place = given
                .strip_prefix('[')
                .and_then(|given| given.split(']').next())
                .and_then(|text| unsigned(text.as_bytes()));
            self.push(call, kind, id, place.or(position), call.result, place.is_none(), out)?;
        }
        Some(())
    }

    fn open(&mut self, call: &Call<'_>, out: &mut Counted<'_>) -> Option<()> {
        let at = usize::from(call.name.starts_with("openat"));
        let mut path = unquoted(call.arguments.get(at)?)?;
        if at == 1
            && !path.starts_with('/')
            && let Some((_, Some(folder))) = descriptor(call.arguments.first()?)
        {
            path = format!("{}/{path}", folder.trim_end_matches('/'));
        }
        let flags = call.arguments.get(at + 1).copied().unwrap_or_default();
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
        };
        let id = self.files.open(call.tid, descriptor, file, flags.contains("O_CLOEXEC"));
        let path = &self.files.get(id)?.path;
        out.push(&self.operation(call, OperationKind::Open, path, id));
        Some(())
    }

    fn close(&mut self, call: &Call<'_>, out: &mut Counted<'_>) -> Option<()> {
        let (number, path) = descriptor(call.arguments.first()?)?;
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

    fn simple(&mut self, call: &Call<'_>, kind: OperationKind, out: &mut Counted<'_>) -> Option<()> {
        let (number, path) = descriptor(call.arguments.first()?)?;
        match self.files.find(call.tid, number, path) {
            Some(id) => {
                let outcome = if call.result == Some(0) { Outcome::Done } else { Outcome::Failed };
                let path = &self.files.get(id)?.path;
                out.push(&Operation { outcome, ..self.operation(call, kind, path, id) });
            }
            None => out.lose(LossKind::DescriptorNotKnown, call.place),
        }
        Some(())
    }

    fn seek(&mut self, call: &Call<'_>) -> Option<()> {
        let (number, path) = descriptor(call.arguments.first()?)?;
        // `_llseek` answers the position through its fourth argument.
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
            let path = file.path.clone();
            if call.arguments.get(1) == Some(&"0") && call.arguments.get(2) == Some(&"SEEK_END") {
                self.files.set_size(&path, position);
            }
        }
        Some(())
    }

    fn duplicate(&mut self, call: &Call<'_>) -> Option<()> {
        let (from, path) = descriptor(call.arguments.first()?)?;
        self.files.find(call.tid, from, path);
        if let Some(to) = call.result.and_then(|to| i32::try_from(to).ok()).filter(|&to| to >= 0 && to != from) {
            self.files.duplicate(call.tid, from, to);
        }
        Some(())
    }

    fn set_flags(&mut self, call: &Call<'_>) -> Option<()> {
        let (number, path) = descriptor(call.arguments.first()?)?;
        if call.result == Some(0)
            && let Some(id) = self.files.find(call.tid, number, path)
        {
            self.files.get_mut(id)?.append = call.arguments.get(2)?.contains("O_APPEND");
        }
        Some(())
    }

    fn spawn(&mut self, call: &Call<'_>) -> Option<()> {
        let child = call.result.and_then(|child| u32::try_from(child).ok()).filter(|&child| child > 0);
        if let Some(child) = child {
            let has = |flag: &str| call.arguments.iter().any(|argument| argument.contains(flag));
            self.files.spawn(call.tid, child, has("CLONE_FILES"), has("CLONE_THREAD"));
        }
        Some(())
    }

    fn execute(&mut self, call: &Call<'_>) -> Option<()> {
        let at = usize::from(call.name == "execveat");
        let path = unquoted(call.arguments.get(at)?)?;
        if call.result == Some(0) {
            self.files.execute(call.tid, &path);
        }
        Some(())
    }

    /// The size of a file, which a later append needs.
    fn size(&mut self, call: &Call<'_>) -> Option<()> {
        let Some((number, path)) = call.arguments.first().and_then(|first| descriptor(first)) else { return Some(()) };
        // `newfstatat(3, "", …)` is about the descriptor, with a name about another file.
        if call.name != "fstat" && call.arguments.get(1) != Some(&"\"\"") {
            return Some(());
        }
        let sized = call.arguments.iter().find_map(|argument| {
            let rest = argument.split_once("st_size=").or_else(|| argument.split_once("stx_size="))?.1;
            unsigned(rest.split([',', '}']).next()?.as_bytes())
        });
        if let (Some(size), Some(id)) = (sized, self.files.find(call.tid, number, path)) {
            let path = self.files.get(id)?.path.clone();
            self.files.set_size(&path, size);
        }
        Some(())
    }

    fn truncate(&mut self, call: &Call<'_>) -> Option<()> {
        let (number, path) = descriptor(call.arguments.first()?)?;
        let size = unsigned(call.arguments.get(1)?.as_bytes())?;
        if call.result == Some(0)
            && let Some(id) = self.files.find(call.tid, number, path)
        {
            let path = self.files.get(id)?.path.clone();
            self.files.set_size(&path, size);
        }
        Some(())
    }

    fn map(&mut self, call: &Call<'_>, out: &mut Counted<'_>) -> Option<()> {
        let anonymous = call.arguments.get(3).is_none_or(|flags| flags.contains("MAP_ANON"));
        let named = call.arguments.get(4).and_then(|text| descriptor(text)).is_some_and(|(number, _)| number >= 0);
        if !anonymous && named {
            out.lose(LossKind::Mapped, call.place);
        }
        Some(())
    }
}

#[expect(clippy::unnecessary_wraps, reason = "one arm among those that may refuse")]
fn lost(call: &Call<'_>, kind: LossKind, out: &mut Counted<'_>) -> Option<()> {
    out.lose(kind, call.place);
    Some(())
}
