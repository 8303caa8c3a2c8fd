//! `Scan`: a planned query.

use mortice::Scan as CoreScan;
use pyo3::prelude::*;

use crate::arrow::ArrowSchema;
use crate::split::Split;
use crate::stream::Stream;

/// A planned query.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Scan(pub(crate) CoreScan);

#[pymethods]
impl Scan {
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.0.schema())
    }

    fn without_columns(&self) -> Self {
        Self(self.0.without_columns())
    }

    fn splits(&self) -> Vec<Split> {
        self.0.splits().iter().cloned().map(Split).collect()
    }

    fn explain(&self) -> String {
        self.0.explain()
    }

    fn stream(&self) -> Stream {
        Stream::new(self.0.stream())
    }
}
