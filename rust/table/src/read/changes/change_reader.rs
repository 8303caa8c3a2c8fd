//! Reads the changes that a commit made to a file group (`CDCFileGroupIterator`).

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::change_batch::{ChangeBatch, ChangeOperation};
use super::change_logs::{ChangeLogs, KnownImages};
use super::image_text::ImageFormat;
use super::log_changes::LogChanges;
use crate::file_group::FileSlice;
use crate::read::columns::projection::Projection;
use crate::read::report::SharedReport;
use crate::read::slice::file_slice::SliceReader;
use crate::split::{ChangeSource, FileGroupChange, Query, Split, change_schema};
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::{Error, Result};
use mortice_formats::filter::Filter;
use mortice_merge::config::{CdcMode, MergeSemantics};

/// Reads the changes of a split in batches. Ends after an error.
pub(in crate::read) struct ChangeReader {
    /// The split of the rows, with all columns of the table.
    rows: Split,
    change: FileGroupChange,
    projection: Projection,
    memory_limit: u64,
    report: SharedReport,
    state: State,
    /// Changes that were found and are not returned yet.
    found: Option<RecordBatch>,
}

enum State {
    Planned,
    Whole(Box<SliceReader>, ChangeOperation),
    Logs(Box<LogChanges>),
    ChangeLogs(Box<ChangeLogs>),
    Done,
}

impl ChangeReader {
    /// Plans the read of a split with a change; no file is opened yet.
    pub(in crate::read) fn new(mut split: Split, report: SharedReport) -> Result<Self> {
        let Some(change) = split.change.take() else {
            return Err(Error::internal("a split without changes"));
        };
        let query = split.query;
        let projection = Projection::new(&change_schema(), &query.columns, &query.filter, &[], &[])?;
        let types = avro::arrow_schema(&avro::Schema::parse(&query.schema)?, ArrowMapping::Table)?;
        let columns = types.fields().iter().map(|field| field.name().clone()).collect();
        let rows = Query { columns, filter: Filter::default(), ..Query::clone(&query) };
        let memory_limit = query.options.memory_limit;
        let rows = Split { query: Arc::new(rows), ..split };
        Ok(Self { rows, change: *change, projection, memory_limit, report, state: State::Planned, found: None })
    }

    pub(in crate::read) fn within(self, memory_limit: u64) -> Self {
        Self { memory_limit, ..self }
    }

    pub(in crate::read) fn schema(&self) -> SchemaRef {
        self.projection.output.clone()
    }

    fn open(&self) -> Result<State> {
        let slice = || -> Result<_> {
            let reader = SliceReader::new(self.rows.clone(), self.report.clone())?;
            Ok(Box::new(reader.within(self.memory_limit)))
        };
        let instant = &self.change.instant;
        Ok(match &self.change.source {
            ChangeSource::Inserted => State::Whole(slice()?, ChangeOperation::Insert),
            ChangeSource::Deleted => State::Whole(slice()?, ChangeOperation::Delete),
            ChangeSource::Logs(logs) => {
                let form = self.form_of_merged();
                match LogChanges::open(&self.rows, logs, instant, form, self.memory_limit, &self.report)? {
                    Some(changes) => State::Logs(Box::new(changes)),
                    None => State::Done,
                }
            }
            ChangeSource::ChangeLogs { files, mode, before } => {
                let split = |slice: Box<FileSlice>| Split { slice: slice.into(), ..self.rows.clone() };
                let images = KnownImages {
                    before: before.clone().map(split).filter(|_| *mode == CdcMode::OpKeyOnly),
                    after: (*mode != CdcMode::DataBeforeAfter).then(|| self.rows.clone()),
                    form_before: self.form_of_merged(),
                };
                let logs = ChangeLogs::open(&self.rows.query, files, *mode, images, self.memory_limit, &self.report)?;
                State::ChangeLogs(Box::new(logs))
            }
        })
    }

    /// Hudi 0.x merges records, 1.x rows.
    fn form_of_merged(&self) -> ImageFormat {
        match self.rows.query.options.semantics {
            MergeSemantics::V0x => ImageFormat::Record,
            MergeSemantics::V1x => ImageFormat::of_rows(&self.rows.query),
        }
    }

    fn changes(&mut self) -> Result<Option<ChangeBatch>> {
        if let State::Planned = self.state {
            self.state = self.open()?;
        }
        match &mut self.state {
            State::Planned | State::Done => Ok(None),
            State::Whole(reader, operation) => {
                let Some(rows) = reader.next() else { return Ok(None) };
                let table = avro::Schema::parse(&self.rows.query.schema)?;
                let form = ImageFormat::of_rows(&self.rows.query);
                Ok(Some(ChangeBatch::all(*operation, form.images_of_batch(&table, &rows?)?)))
            }
            State::Logs(changes) => changes.next(),
            State::ChangeLogs(logs) => logs.next(),
        }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let most = self.rows.query.options.batch_rows.max(1);
        loop {
            if let Some(found) = self.found.take() {
                let rows = found.num_rows().min(most);
                self.found = (rows < found.num_rows()).then(|| found.slice(rows, found.num_rows() - rows));
                return Ok(Some(found.slice(0, rows)));
            }
            let Some(changes) = self.changes()? else { return Ok(None) };
            let batch = project(&changes.into_batch(&self.change.instant)?, &self.projection)?;
            self.found = Some(self.projection.deliver(&batch)?).filter(|batch| batch.num_rows() > 0);
        }
    }
}

/// Returns the projected columns, in order.
fn project(batch: &RecordBatch, projection: &Projection) -> Result<RecordBatch> {
    let columns = projection.projected.fields().iter().map(|field| batch.schema().index_of(field.name()));
    let projected = columns.collect::<Result<Vec<_>, _>>().and_then(|columns| batch.project(&columns));
    projected.map_err(|error| Error::invalid_argument("columns of changes").caused_by(error))
}

impl Iterator for ChangeReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if !matches!(step, Some(Ok(_))) {
            self.state = State::Done;
        }
        step.map(|step| step.map_err(|error| error.at_instant(&self.change.instant)))
    }
}
