//! What the processes of a write have to know: the serialised write state, one for each stage.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::specs::StageSpec;
use super::table_work::TableWork;
use crate::write::row_source;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::WriteOptions;
use mortice_table::plan::{OpenTable, PinnedTable};
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{BucketLayout, Index, Provenance, choose_index_of};
use mortice_write::rows::{Preparation, WriteSchema};
use mortice_write::settings::WriteSettings;

/// The version of the serialised form. Processes of other releases refuse it.
const VERSION: u32 = 3;

/// A write, as the driver has begun it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteState {
    /// The table as it was when the write began; before, as it was when the write was planned.
    pub(crate) table: PinnedTable,
    /// What the write does.
    pub(crate) operation: WriteOperation,
    /// Options of the write, by their newest names.
    pub(crate) options: WriteOptions,
    /// The requested time; none before the write has begun.
    pub(crate) instant: Option<RequestedTime>,
    /// The columns that are written, as Avro JSON without meta columns.
    pub(crate) schema: String,
    /// The columns that a merge has changed in rows that are marked as updates.
    pub(crate) updated: Vec<String>,
    /// Where the rows come from.
    pub(crate) provenance: Provenance,
}

/// What one stage does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Work {
    /// A stage of a write.
    Write(WriteState, StageSpec),
    /// A stage that works on a table as it is.
    Table(TableWork),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    version: u32,
    work: Work,
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// The serialised form of what a stage does.
pub(crate) fn work_to_bytes(work: Work) -> Result<Vec<u8>> {
    serde_json::to_vec(&Envelope { version: VERSION, work })
        .map_err(|error| Error::internal("a write state cannot be serialised").caused_by(error))
}

/// Reads the serialised form of what a stage does.
pub(crate) fn work_of(bytes: &[u8]) -> Result<Work> {
    let unreadable =
        |error: serde_json::Error| Error::invalid_argument("the write state cannot be read").caused_by(error);
    let VersionOnly { version } = serde_json::from_slice(bytes).map_err(unreadable)?;
    if version != VERSION {
        return Err(Error::invalid_argument(format!(
            "a write state of version {version}, expected {VERSION}: install the same release of mortice on the driver and on all executors"
        )));
    }
    let Envelope { work, .. } = serde_json::from_slice(bytes).map_err(unreadable)?;
    match &work {
        Work::Write(_, stage) => stage.check()?,
        Work::Table(work) => work.check()?,
    }
    Ok(work)
}

impl TableWork {
    /// The serialised form.
    pub(crate) fn serialized(self) -> Result<Vec<u8>> {
        work_to_bytes(Work::Table(self))
    }
}

impl WriteState {
    /// The serialised form, for one stage.
    pub(crate) fn to_bytes(&self, stage: StageSpec) -> Result<Vec<u8>> {
        work_to_bytes(Work::Write(self.clone(), stage))
    }

    /// Reads the serialised form.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<(Self, StageSpec)> {
        match work_of(bytes)? {
            Work::Write(state, stage) => Ok((state, stage)),
            Work::Table(_) => Err(Error::invalid_argument("the state of a stage that is not of a write")),
        }
    }

    /// Opens the write in this process.
    pub(crate) fn open(self) -> Result<OpenWrite> {
        let table = Arc::new(self.table.open()?);
        let settings = WriteSettings::resolve(&self.options, &table.config)?;
        let index = choose_index_of(&table.config, &settings.index, self.provenance)?;
        let buckets = index.bucket_layout(&table)?;
        let schema = WriteSchema::of_json(&table, &self.schema)?;
        let Self { operation, options, instant, updated, provenance, .. } = self;
        Ok(OpenWrite { table, operation, options, settings, instant, schema, index, buckets, updated, provenance })
    }
}

/// A write that is opened in a process.
pub(crate) struct OpenWrite {
    pub(crate) table: Arc<OpenTable>,
    pub(crate) operation: WriteOperation,
    /// All options; those of services are resolved by what executes a service.
    pub(crate) options: WriteOptions,
    pub(crate) settings: WriteSettings,
    pub(crate) instant: Option<RequestedTime>,
    pub(crate) schema: WriteSchema,
    pub(crate) index: Arc<dyn Index>,
    /// Of a bucket index.
    pub(crate) buckets: Option<Arc<BucketLayout>>,
    pub(crate) updated: Vec<String>,
    pub(crate) provenance: Provenance,
}

impl OpenWrite {
    /// The requested time.
    pub(crate) fn instant(&self) -> Result<&RequestedTime> {
        self.instant.as_ref().ok_or_else(|| Error::internal("a stage of a write that has not begun"))
    }

    pub(crate) fn preparation(&self) -> Preparation<'_> {
        let source = row_source(&self.table, &self.schema, self.index.as_ref(), &self.settings);
        Preparation { source, operation: self.operation }
    }

    /// Whether a key is unique in the table.
    pub(crate) fn is_global(&self) -> bool {
        self.index.is_global()
    }

    /// The columns of rows that are sent: none for deletes, which are keys alone.
    pub(crate) fn row_types(&self) -> arrow_schema::SchemaRef {
        match self.operation {
            WriteOperation::Delete => Arc::new(arrow_schema::Schema::empty()),
            _ => Arc::clone(&self.schema.types),
        }
    }
}
