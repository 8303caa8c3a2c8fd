//! `LogWriter` and the blocks that it appends.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mortice::Error;
use mortice::avro::{Schema, hudi_schema};
use mortice::avro_parquet::ParquetCodec;
use mortice::log::writer::{
    BlockBytes, BlockHeader, DeleteColumns, LogWriter as CoreLogWriter, LogWriterOptions, PartitionPath, RecordFormat,
    delete_block, record_blocks, rollback_block,
};
use mortice::storage::open_writable;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::StorageArgument;
use crate::arrow_in::ArrowInput;
use crate::errors::{raised, released};

/// A complete block in memory.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct LogBlock(BlockBytes);

/// A writer of log files.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct LogWriter(Mutex<CoreLogWriter>);

type Extras = BTreeMap<String, String>;

#[pymethods]
impl LogBlock {
    #[staticmethod]
    #[pyo3(signature = (data, *, instant, schema, table_name, record_format, compression, max_block_bytes, header))]
    #[allow(clippy::too_many_arguments)]
    fn records(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        instant: &str,
        schema: Option<&str>,
        table_name: Option<&str>,
        record_format: &str,
        compression: &str,
        max_block_bytes: usize,
        header: Extras,
    ) -> PyResult<Vec<Self>> {
        let compose = |batches: &mut ArrowInput| {
            let format = RecordFormat::parse(record_format, max_block_bytes, ParquetCodec::parse(compression)?)?;
            let columns = batches.schema();
            let schema = match (schema, table_name) {
                (Some(schema), None) => parsed(schema)?,
                (None, Some(table_name)) => hudi_schema(&columns, table_name)?,
                _ => {
                    return Err(Error::invalid_argument(
                        "give either schema, the table's Avro schema, or table_name, to have one made of the columns",
                    ));
                }
            };
            let header = BlockHeader::new(&instant.parse()?).with_extras(&header)?;
            record_blocks(format, &columns, batches, &schema, &header)
        };
        let mut batches = ArrowInput::from_python(data)?;
        let blocks = released(py, || compose(&mut batches))?;
        Ok(blocks.into_iter().map(Self).collect())
    }

    #[staticmethod]
    #[pyo3(signature = (data, *, instant, record_key, partition_column, partition_path, ordering, schema, header))]
    #[allow(clippy::too_many_arguments)]
    fn deletes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        instant: &str,
        record_key: String,
        partition_column: String,
        partition_path: Option<String>,
        ordering: Vec<String>,
        schema: Option<&str>,
        header: Extras,
    ) -> PyResult<Self> {
        let compose = |batches: &mut ArrowInput| {
            let mut header = BlockHeader::new(&instant.parse()?).with_extras(&header)?;
            if let Some(schema) = schema {
                header = header.with_schema(parsed(schema)?.json());
            }
            let partition_path =
                partition_path.map_or(PartitionPath::Column(partition_column), PartitionPath::Constant);
            let columns = DeleteColumns { record_key, partition_path, ordering };
            delete_block(&batches.schema(), batches, &columns, &header)
        };
        let mut batches = ArrowInput::from_python(data)?;
        released(py, || compose(&mut batches)).map(Self)
    }

    #[staticmethod]
    fn rollback(py: Python<'_>, target_instant: &str, instant: &str) -> PyResult<Self> {
        let block = || rollback_block(&instant.parse()?, &target_instant.parse()?);
        block().map(Self).map_err(|error| raised(py, &error))
    }

    #[getter]
    fn r#type(&self) -> &'static str {
        self.0.kind().name()
    }

    #[getter]
    fn record_count(&self) -> Option<u64> {
        self.0.records()
    }

    fn __len__(&self) -> usize {
        self.0.bytes().len()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.bytes())
    }

    fn __repr__(&self) -> String {
        format!("<LogBlock {}, {} bytes>", self.0.kind().name(), self.0.bytes().len())
    }
}

/// Parses a schema of the caller: its errors are those of an argument.
pub(crate) fn parsed(schema: &str) -> mortice::Result<Schema> {
    let refused = |error: Error| match error.kind() {
        mortice::ErrorKind::InvalidTable => Error::invalid_argument("schema is no Avro schema").caused_by(error),
        _ => error,
    };
    Schema::parse(schema).map_err(refused)
}

#[pymethods]
impl LogWriter {
    #[new]
    #[pyo3(signature = (folder, storage_options, *, file_id, instant, version, write_token, max_file_bytes, append))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        folder: String,
        storage_options: StorageArgument,
        file_id: String,
        instant: &str,
        version: Option<i64>,
        write_token: Option<String>,
        max_file_bytes: u64,
        append: bool,
    ) -> PyResult<Self> {
        let instant = instant.parse().map_err(|error| raised(py, &error))?;
        let options = LogWriterOptions { file_id, instant, version, write_token, max_file_bytes, append };
        released(py, || CoreLogWriter::new(open_writable(&folder, &storage_options)?, options))
            .map(|writer| Self(Mutex::new(writer)))
    }

    fn append(&self, py: Python<'_>, blocks: Vec<Bound<'_, LogBlock>>) -> PyResult<Vec<(String, u64, u64)>> {
        let blocks: Vec<&BlockBytes> = blocks.iter().map(|block| &block.get().0).collect();
        let written = released(py, || self.writer().append(&blocks))?;
        Ok(written.into_iter().map(|block| (block.path, block.offset, block.len)).collect())
    }

    #[getter]
    fn paths(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.writer().paths().to_vec())
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        released(py, || self.writer().finish())
    }
}

impl LogWriter {
    /// The GIL is released while waiting.
    fn writer(&self) -> std::sync::MutexGuard<'_, CoreLogWriter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
