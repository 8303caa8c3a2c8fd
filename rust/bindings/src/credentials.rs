//! Credentials that a Python function supplies: `mortice.values.credentials` calls it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use mortice::storage::CredentialValues;
use mortice::{Error, ErrorKind};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::keep_raised;

/// Calls the named function for credentials; `rejected` is the version of those that the store has rejected.
pub(crate) fn supply(name: &str, rejected: Option<u64>) -> mortice::Result<CredentialValues> {
    let ended = || Error::new(ErrorKind::Interrupted, "the Python interpreter has ended");
    let called = |py: Python<'_>| called(py, name, rejected).map_err(|error| failed(py, error));
    let (options, refresh_at, version) = Python::try_attach(called).ok_or_else(ended)??;
    let refresh_at: Option<f64> = refresh_at;
    // A time that the system cannot represent is never reached.
    let moment = |seconds: f64| SystemTime::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds).ok()?);
    Ok(CredentialValues { options, refresh_at: refresh_at.and_then(moment), version })
}

fn called(py: Python<'_>, name: &str, rejected: Option<u64>) -> PyResult<(BTreeMap<String, String>, Option<f64>, u64)> {
    py.import("mortice.values.credentials")?.call_method1("supply", (name, rejected))?.extract()
}

/// Describes the exception of the function, with its type: the error may be raised in another thread.
fn failed(py: Python<'_>, error: PyErr) -> Error {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        keep_raised(error);
        return Error::new(ErrorKind::Interrupted, "interrupted by a signal");
    }
    let text = error.value(py).to_string();
    let class = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    if class == "InvalidArgumentError" {
        return Error::invalid_argument(text);
    }
    let message = format!("the function in the storage option \"credentials\" failed: {class}: {text}");
    Error::new(ErrorKind::Forbidden, message)
}
