//! Prepares a process for a fork by Python: clients of object stores have threads.

use pyo3::prelude::*;

/// Registers functions that run before and after each fork, so that a child finds no lock held and no client that it
/// could not use.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let os = py.import("os")?;
    // Windows has no forks.
    if !os.hasattr("register_at_fork")? {
        return Ok(());
    }
    let keywords = pyo3::types::PyDict::new(py);
    keywords.set_item("before", wrap_pyfunction!(before_fork, module)?)?;
    keywords.set_item("after_in_parent", wrap_pyfunction!(after_fork_in_parent, module)?)?;
    keywords.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, module)?)?;
    os.call_method("register_at_fork", (), Some(&keywords))?;
    Ok(())
}

/// Waits for short operations of other threads, which may need the GIL to end.
#[pyfunction]
fn before_fork(py: Python<'_>) {
    py.detach(mortice::storage::before_fork);
}

/// Lets other threads of the parent go on.
#[pyfunction]
fn after_fork_in_parent() {
    mortice::storage::after_fork_in_parent();
}

/// Lets the child go on.
#[pyfunction]
fn after_fork_in_child() {
    mortice::storage::after_fork_in_child();
}
