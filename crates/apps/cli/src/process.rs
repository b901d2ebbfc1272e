//! The ends of the program that the Rust runtime reports badly: out of memory, and a closed standard output.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::time::Duration;

/// Allocates memory like the system, but ends the program with a sentence if there is none.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: every call is passed on to the allocator of the system, and pointers are returned unchanged. If there is no
// memory, the calls do not return.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the same.
        available(unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the same.
        available(unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the same.
        available(unsafe { System.realloc(pointer, layout, new_size) })
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn available(pointer: *mut u8) -> *mut u8 {
    if pointer.is_null() {
        out_of_memory();
    }
    pointer
}

/// Reports that there is no memory, removes unfinished files and ends the program.
#[cold]
#[inline(never)]
fn out_of_memory() -> ! {
    const MESSAGE: &[u8] =
        b"onoff: out of memory; a shorter --range, fewer files or a computer with more memory helps\n";
    thread_local! {
        static IS_ENDING: Cell<bool> = const { Cell::new(false) };
    }
    static ENDING: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    // Removing files may need memory too.
    if !IS_ENDING.replace(true) {
        if ENDING.swap(true, std::sync::atomic::Ordering::Relaxed) {
            // Another thread ends the program.
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        // If stderr is closed, the exit code alone reports the error.
        let _ = std::io::stderr().write_all(MESSAGE);
        onoff_cli::remove_unfinished();
    }
    std::process::exit(1)
}

#[cfg(unix)]
mod stdout {
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_CLOSED: AtomicBool = AtomicBool::new(false);

    /// Tells the output whether standard output was closed when the program started.
    pub fn report_closed_stdout() {
        if IS_CLOSED.load(Ordering::Relaxed) {
            onoff_sink::set_stdout_closed();
        }
    }

    /// Runs before `main`, because the Rust runtime opens `/dev/null` for a closed standard output.
    extern "C" fn check_stdout() {
        // SAFETY: this call only reads the flags of a descriptor, which may be closed.
        let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
        IS_CLOSED.store(is_closed, Ordering::Relaxed);
    }

    // SAFETY: the section holds pointers to functions without arguments, which the loader calls before `main`.
    #[used]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
    static CHECK_STDOUT: extern "C" fn() = check_stdout;
}

#[cfg(unix)]
pub use stdout::report_closed_stdout;
