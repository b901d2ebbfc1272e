//! Python module `onoff._onoff`: commands, and the tables of a recording. Contains no analysis: results are exchanged
//! as documented JSON, tables through Arrow.

// Not `forbid`: PyO3's macros generate unsafe code.
#![deny(unsafe_code)]

mod recording;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use recording::{Recording, Table};

create_exception!(_onoff, NoAnswer, PyException, "Arguments: the exit code of the command and the error message.");

/// Runs a command line with output to stdout and stderr, and returns its exit code.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| onoff_cli::run(with_program_name(arguments)))
}

/// Runs a command line and returns its output.
#[pyfunction]
fn answer(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<Vec<u8>> {
    let answer = py.detach(|| onoff_cli::answer(with_program_name(arguments)));
    answer.map_err(|error| NoAnswer::new_err((error.code, error.message)))
}

/// Finds recordings in files and folders, including unreadable ones. Returns the paths of each, and the number of files
/// in the folders that are not recordings.
#[pyfunction]
fn recordings(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<(Vec<Vec<PathBuf>>, u64)> {
    let recordings =
        py.detach(|| onoff_files::find_recordings(&paths)).map_err(|error| recording::unreadable(&error))?;
    let other_files = recordings.other_files;
    Ok((recordings.into_all_paths(), other_files))
}

/// Returns whether a file that was found in a folder counts as a recording, readable or not.
#[pyfunction]
fn is_recording(py: Python<'_>, path: PathBuf) -> bool {
    py.detach(|| onoff_files::is_recording(&path))
}

/// Returns the declarations of all tables as JSON: name, description, order, and name, type, unit, role and description
/// of each column.
#[pyfunction]
fn declarations() -> PyResult<String> {
    recording::declarations()
}

/// Prepends the program name.
fn with_program_name(arguments: Vec<OsString>) -> impl Iterator<Item = OsString> {
    std::iter::once(OsString::from("onoff")).chain(arguments)
}

#[pymodule]
fn _onoff(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("NoAnswer", module.py().get_type::<NoAnswer>())?;
    module.add_class::<Recording>()?;
    module.add_class::<Table>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(answer, module)?)?;
    module.add_function(wrap_pyfunction!(recordings, module)?)?;
    module.add_function(wrap_pyfunction!(is_recording, module)?)?;
    module.add_function(wrap_pyfunction!(declarations, module)?)
}
