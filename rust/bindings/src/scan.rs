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

    #[pyo3(signature = (max_split_bytes=None))]
    fn splits(&self, max_split_bytes: Option<u64>) -> Vec<Split> {
        let splits = match max_split_bytes {
            Some(most) => self.0.splits_within(most),
            None => self.0.splits().to_vec(),
        };
        splits.into_iter().map(Split).collect()
    }

    fn explain(&self) -> String {
        self.0.explain()
    }

    fn stream(&self) -> Stream {
        Stream::new(self.0.stream())
    }
}
