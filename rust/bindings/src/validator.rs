//! Checks of a commit by a Python function, which gets the table as the commit would leave it.

use std::sync::Arc;

use mortice::commit::CommitValidator;
use mortice::{Error, OpenTable, Table as CoreTable};
use pyo3::prelude::*;

use crate::table::Table;

/// A function of a `_mortice.Table` that raises an exception to refuse the commit.
struct PythonValidator(Py<PyAny>);

/// The validator of a Python function, if there is one.
pub(crate) fn validator(function: Option<Py<PyAny>>) -> Option<Arc<dyn CommitValidator>> {
    function.map(|function| Arc::new(PythonValidator(function)) as Arc<dyn CommitValidator>)
}

impl CommitValidator for PythonValidator {
    fn validate(&self, table: OpenTable) -> mortice::Result<()> {
        let table = Table::from_core(CoreTable::from(table));
        Python::attach(|py| match self.0.bind(py).call1((table,)) {
            Ok(_) => Ok(()),
            // `mortice.writing.writes` keeps the exception, and raises it again.
            Err(error) => Err(Error::invalid_argument(format!("a validator refused the commit: {error}"))),
        })
    }
}
