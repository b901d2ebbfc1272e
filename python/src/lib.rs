//! The library as the Python module `onoff._onoff`: the program's verbs, and the tables of a recording. Holds no analysis; what Python's
//! own objects are made of is JSON, the documented contract, and Arrow.

// The exported function is made by PyO3's macro, and the capsule by its own safe call.
#![deny(unsafe_code)]

mod documents;
mod recording;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use recording::{Recording, Table};

create_exception!(_onoff, NoAnswer, PyException, "The program's exit code, and what went wrong.");

/// Runs the program in this process: what it prints goes to stdout and stderr. Returns its exit code.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| onoff_cli::run(named(arguments)))
}

/// What the program would print for these arguments, as bytes.
#[pyfunction]
fn answer(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<Vec<u8>> {
    let answer = py.detach(|| onoff_cli::answer(named(arguments)));
    answer.map_err(|no| NoAnswer::new_err((no.code, no.message)))
}

/// The recordings that files and folders are, each as the paths of its files, with what cannot be read as one; and the number of files in the
/// folders that are no recording.
#[pyfunction]
fn recordings(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<(Vec<Vec<PathBuf>>, u64)> {
    let found = py.detach(|| onoff_files::recordings(&paths)).map_err(|error| recording::unreadable(&error))?;
    let other_files = found.other_files;
    Ok((found.all(), other_files))
}

/// Declarations of all tables, as JSON: name, description, order, and for each column name, type, unit, role and description.
#[pyfunction]
fn declarations() -> PyResult<String> {
    recording::declarations()
}

/// The program's name comes first, as in any process.
fn named(arguments: Vec<OsString>) -> impl Iterator<Item = OsString> {
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
    module.add_function(wrap_pyfunction!(declarations, module)?)
}
