//! The stand-ins of Windows' programs as one program: what it is called says which it is. Compiled for Windows and put in their places by
//! `tools/record-under-wine`; the word `restart` alone makes the computer restart.

#[path = "../invented/windows_commands.rs"]
mod windows_commands;

use std::path::Path;

fn main() {
    let own = std::env::current_exe().expect("this program has a path");
    let name = own.file_stem().and_then(|stem| stem.to_str()).expect("its name is text").to_lowercase();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let computer = windows_commands::Computer { root: Path::new("") };
    if name == "restart" {
        computer.restart();
        return;
    }
    let answer = computer.run(&name, &words);
    if answer.code == 0 {
        print!("{}", answer.printed);
    } else {
        eprintln!("{}", answer.printed);
    }
    std::process::exit(answer.code);
}
