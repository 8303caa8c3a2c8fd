//! `LogFile`, `Block` and the iterator over blocks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use mortice::BatchLimit;
use mortice::base_file::BaseBatches;
use mortice::filter::KeyFilter;
use mortice::log::{Block as CoreBlock, Header, LogFile as CoreLogFile};
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::arrow::{ArrowBatch, ArrowSchema};
use crate::errors::released;

/// One log file, independent of a table.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct LogFile(CoreLogFile);

/// One block of a log file.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Block {
    core: CoreBlock,
    file: Py<LogFile>,
}

/// The blocks of a file, one at a time, so that valid ones are returned before an error.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Blocks {
    file: Py<LogFile>,
    blocks: Mutex<Box<dyn Iterator<Item = mortice::Result<CoreBlock>> + Send>>,
}

/// Records of a block as they are read, so that valid ones are returned before an error.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct RecordBatches {
    schema: SchemaRef,
    batches: Mutex<BaseBatches>,
}

#[pymethods]
impl LogFile {
    #[new]
    #[pyo3(signature = (path, storage_options, *, mmap))]
    fn new(py: Python<'_>, path: String, storage_options: StorageArgument, mmap: bool) -> PyResult<Self> {
        released(py, || CoreLogFile::open(&path, &storage_options, mmap)).map(Self)
    }

    #[getter]
    fn path(&self) -> String {
        self.0.source().path().to_owned()
    }

    #[getter]
    fn size(&self) -> u64 {
        self.0.len()
    }

    #[pyo3(signature = (reverse=false))]
    fn blocks(slf: Bound<'_, Self>, reverse: bool) -> Blocks {
        let blocks = slf.get().0.blocks(reverse);
        Blocks { file: slf.unbind(), blocks: Mutex::new(blocks) }
    }

    fn records(
        &self,
        py: Python<'_>,
        block: &Block,
        keys: Option<Vec<String>>,
        prefixes: Option<Vec<String>>,
    ) -> PyResult<ArrowBatch> {
        let wanted = match (keys, prefixes) {
            (Some(keys), _) => KeyFilter::keys(keys),
            (None, Some(prefixes)) => KeyFilter::prefixes(prefixes),
            (None, None) => KeyFilter::All,
        };
        released(py, || self.0.records(&block.core, &wanted)).map(ArrowBatch)
    }

    fn record_batches(&self, py: Python<'_>, block: &Block, rows: usize) -> PyResult<RecordBatches> {
        let (schema, batches) = released(py, || self.0.record_batches(&block.core, BatchLimit::with_rows(rows)))?;
        Ok(RecordBatches { schema, batches: Mutex::new(batches) })
    }

    fn positions(&self, py: Python<'_>, block: &Block) -> PyResult<Option<ArrowBatch>> {
        released(py, || self.0.positions(&block.core)?.map(position_column).transpose())
            .map(|batch| batch.map(ArrowBatch))
    }

    fn deletes(&self, py: Python<'_>, block: &Block) -> PyResult<ArrowBatch> {
        released(py, || self.0.deletes(&block.core)).map(ArrowBatch)
    }
}

#[pymethods]
impl Blocks {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Block>> {
        Ok(next_of(py, &self.blocks)?.map(|core| Block { core, file: self.file.clone_ref(py) }))
    }
}

#[pymethods]
impl RecordBatches {
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(Arc::clone(&self.schema))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<ArrowBatch>> {
        Ok(next_of(py, &self.batches)?.map(ArrowBatch))
    }
}

/// Returns the next item of an iterator that several Python threads may use, without the GIL.
fn next_of<T: Send>(
    py: Python<'_>,
    drawn: &Mutex<Box<dyn Iterator<Item = mortice::Result<T>> + Send>>,
) -> PyResult<Option<T>> {
    released(py, || drawn.lock().unwrap_or_else(PoisonError::into_inner).next().transpose())
}

#[pymethods]
impl Block {
    #[getter]
    fn r#type(&self) -> String {
        self.core.type_name().into_owned()
    }

    #[getter]
    fn index(&self) -> u64 {
        self.core.index
    }

    #[getter]
    fn offset(&self) -> u64 {
        self.core.offset
    }

    #[getter]
    fn end(&self) -> u64 {
        self.core.end
    }

    #[getter]
    fn block_size(&self) -> Option<i64> {
        self.core.block_size
    }

    #[getter]
    fn trailing_length(&self) -> Option<i64> {
        self.core.trailing_length
    }

    #[getter]
    fn log_format_version(&self) -> Option<i32> {
        self.core.log_format_version
    }

    #[getter]
    fn content_version(&self, py: Python<'_>) -> PyResult<Option<i32>> {
        let head = released(py, || self.file.get().0.content_head(&self.core))?;
        Ok(head.map(|(version, _)| version))
    }

    #[getter]
    fn content_offset(&self) -> u64 {
        self.core.content.start
    }

    #[getter]
    fn content_length(&self) -> u64 {
        self.core.content.end - self.core.content.start
    }

    #[getter]
    fn instant_time(&self) -> Option<String> {
        self.core.header.instant_time().map(Into::into)
    }

    #[getter]
    fn header(&self) -> BTreeMap<String, String> {
        named(&self.core.header)
    }

    #[getter]
    fn footer(&self) -> BTreeMap<String, String> {
        named(&self.core.footer)
    }

    #[getter]
    fn record_count(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        released(py, || self.file.get().0.record_count(&self.core))
    }

    #[getter]
    fn damage(&self) -> Option<String> {
        self.core.damage().map(|damage| damage.reason.clone())
    }

    #[getter]
    fn damage_offset(&self) -> Option<u64> {
        self.core.damage().map(|damage| damage.offset)
    }

    #[getter]
    fn refusal(&self) -> Option<String> {
        self.core.refusal().map(|error| error.text())
    }

    fn __repr__(&self) -> String {
        let core = &self.core;
        format!(
            "<Block {} {}..{} instant {}>",
            core.type_name(),
            core.offset,
            core.end,
            core.header.instant_time().unwrap_or_default()
        )
    }
}

fn position_column(positions: Vec<u64>) -> mortice::Result<RecordBatch> {
    let column: ArrayRef = Arc::new(UInt64Array::from(positions));
    RecordBatch::try_from_iter([("position", column)])
        .map_err(|error| mortice::Error::corrupt("record positions").caused_by(error))
}

fn named(header: &Header) -> BTreeMap<String, String> {
    header.named().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}
