//! The engine that runs stages, as an object of Python.

use mortice::client::distributed::{Exchange, TaskRunner};
use mortice::{Error, ErrorKind};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::keep_raised;

/// An object with the methods `run` and `exchange`, and how many tasks it runs at once.
pub(crate) struct PythonRunner {
    runner: Py<PyAny>,
    parallelism: u32,
    /// Whether the call that has called this raises its exceptions.
    is_raised: bool,
}

impl PythonRunner {
    /// Reads how many tasks it runs at once.
    pub(crate) fn new(runner: &Bound<'_, PyAny>) -> PyResult<Self> {
        let parallelism = runner.getattr("parallelism")?.extract()?;
        Ok(Self { runner: runner.clone().unbind(), parallelism, is_raised: true })
    }

    /// The same, for table services after a commit: the call goes on after an error of their tasks, or says that the
    /// write is committed. Only an interrupt (`KeyboardInterrupt`) is raised as it is.
    pub(crate) fn after_commit(runner: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { is_raised: false, ..Self::new(runner)? })
    }

    fn reports(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<Vec<Vec<u8>>>) -> mortice::Result<Vec<Vec<u8>>> {
        Python::attach(|py| call(self.runner.bind(py))).map_err(|error| {
            let message = format!("tasks have failed: {error}");
            let is_interrupt = Python::attach(|py| !error.is_instance_of::<PyException>(py));
            if self.is_raised || is_interrupt {
                keep_raised(error);
            }
            Error::new(if is_interrupt { ErrorKind::Interrupted } else { ErrorKind::Io }, message)
        })
    }
}

impl TaskRunner for PythonRunner {
    fn parallelism(&self) -> u32 {
        self.parallelism
    }

    fn run(&self, stage: &[u8], tasks: u32) -> mortice::Result<Vec<Vec<u8>>> {
        self.reports(|runner| {
            let stage = PyBytes::new(runner.py(), stage);
            runner.call_method1("run", (stage, tasks))?.extract()
        })
    }

    fn exchange(&self, stages: Exchange<'_>) -> mortice::Result<Vec<Vec<u8>>> {
        self.reports(|runner| {
            let bytes = |stage| PyBytes::new(runner.py(), stage);
            let (read, then) = (bytes(stages.read), bytes(stages.then));
            runner.call_method1("exchange", (read, stages.tasks, then, stages.partitions))?.extract()
        })
    }
}
