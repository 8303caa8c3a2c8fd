//! Prepares a process for a fork by Python.

use pyo3::prelude::*;

/// Registers a function that ends clients, which a forked child could not use, before each fork.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let os = py.import("os")?;
    // Windows has no forks.
    if !os.hasattr("register_at_fork")? {
        return Ok(());
    }
    let keywords = pyo3::types::PyDict::new(py);
    keywords.set_item("before", wrap_pyfunction!(before_fork, module)?)?;
    os.call_method("register_at_fork", (), Some(&keywords))?;
    Ok(())
}

/// Ends clients of HDFS. Operations of other threads may need the GIL to end.
#[pyfunction]
fn before_fork(py: Python<'_>) {
    py.detach(mortice::storage::before_fork);
}
