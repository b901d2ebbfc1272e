//! The fakes of Windows programs as a single program. Its file name selects the fake to run. `tools/record-under-wine`
//! compiles it for Windows and installs it; under the name `restart` it simulates a restart.

#[path = "../fake_machine/windows_commands.rs"]
mod windows_commands;

use std::path::Path;

fn main() {
    let path = std::env::current_exe().expect("this program has a path");
    let name = path.file_stem().and_then(|stem| stem.to_str()).expect("its name is text").to_lowercase();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let computer = windows_commands::Computer { root: Path::new("") };
    if name == "restart" {
        computer.restart();
        return;
    }
    let output = computer.run(&name, &arguments);
    if output.code == 0 {
        print!("{}", output.output);
    } else {
        eprintln!("{}", output.output);
    }
    std::process::exit(output.code);
}
