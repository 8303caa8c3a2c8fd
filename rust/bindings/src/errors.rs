//! Converts core errors to the exceptions of `mortice.errors`: plain Python classes with the location in their
//! attributes.

use std::cell::RefCell;

use mortice::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

const fn class_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "TableNotFoundError",
        ErrorKind::CorruptLog => "CorruptLogError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::InvalidTable => "InvalidTableError",
        ErrorKind::FileCleaned => "FileCleanedError",
        ErrorKind::InvalidArgument => "InvalidArgumentError",
        ErrorKind::MemoryLimit => "MemoryLimitError",
        ErrorKind::Io => "StorageError",
        ErrorKind::AlreadyExists => "TableExistsError",
        ErrorKind::Forbidden => "StorageForbiddenError",
        ErrorKind::Throttled => "StorageThrottledError",
        ErrorKind::Unreachable => "StorageUnreachableError",
        ErrorKind::FileChanged => "FileChangedError",
        ErrorKind::WriteConflict => "WriteConflictError",
        ErrorKind::TableService => "TableServiceError",
        ErrorKind::Internal => "InternalError",
        _ => "MorticeError",
    }
}

thread_local! {
    /// The exception that a signal handler raised while Rust waited.
    static RAISED_BY_SIGNAL: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Returns true if a signal handler has raised an exception in this thread, which cancels Rust's waits. Python runs
/// signal handlers in the main thread only.
pub(crate) fn is_interrupted() -> bool {
    let raised = Python::try_attach(|py| py.check_signals().err()).flatten();
    let is_raised = raised.is_some();
    if is_raised {
        RAISED_BY_SIGNAL.set(raised);
    }
    is_raised
}

/// Stores the exception that a signal handler raised in this thread while it ran Python code for Rust.
pub(crate) fn keep_raised(error: PyErr) {
    RAISED_BY_SIGNAL.set(Some(error));
}

/// Converts a core error to a Python exception.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(raised) = RAISED_BY_SIGNAL.take() {
        return raised;
    }
    match exception(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(other) => other,
    }
}

fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let location = error.location();
    let attributes = PyDict::new(py);
    attributes.set_item("path", location.path.as_deref())?;
    attributes.set_item("offset", location.offset)?;
    attributes.set_item("block", location.block)?;
    attributes.set_item("instant", location.instant.as_deref())?;
    attributes.set_item("code", error.kind().code())?;
    py.import("mortice.errors")?.getattr(class_of(error.kind()))?.call((error.text(),), Some(&attributes))
}

/// Runs Rust work without the GIL and raises its error; of a panic, `InternalError`.
pub(crate) fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> mortice::Result<T> + Send) -> PyResult<T> {
    let done =
        py.detach(|| mortice::caught("a call of the native module", work)).map_err(|error| raised(py, &error))?;
    RAISED_BY_SIGNAL.take().map_or(Ok(done), Err)
}
