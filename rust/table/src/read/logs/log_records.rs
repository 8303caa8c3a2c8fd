//! Fetches winning rows from log blocks: each is decoded once, with the projected columns only.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::deleted_rows::deleted_rows;
use super::log_source::{LogSource, ParquetBlock, RowSource};
use crate::read::memory::SliceMemory;
use crate::read::report::SharedReport;
use mortice_avro::{DecodeProgram, Decoder};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_formats::log::content::avro_data;
use mortice_merge::merge::fold::MissingColumns;
use mortice_merge::merge::{FetchedRows, RecordFetcher, RowRef};

/// The blocks of a slice, from which records can be fetched. Sources are in the order of the merge.
pub(in crate::read) struct LogRecords {
    sources: Vec<LogSource>,
    decoders: Decoders,
    parquet: Vec<ParquetBlock>,
    projected: SchemaRef,
    missing: MissingColumns,
    /// Bytes of the largest row about.
    most_row_bytes: usize,
    report: SharedReport,
}

/// The compiled programs of blocks, and their decoders.
#[derive(Default)]
struct Decoders {
    programs: Vec<Arc<DecodeProgram>>,
    /// Idle decoders, with the ordinals of their programs, for reuse of their memory.
    idle: Vec<(usize, Box<Decoder>)>,
}

impl LogRecords {
    pub(in crate::read) fn new(projected: SchemaRef, report: SharedReport) -> Self {
        Self {
            sources: Vec::new(),
            decoders: Decoders::default(),
            parquet: Vec::new(),
            projected,
            missing: MissingColumns::default(),
            most_row_bytes: 0,
            report,
        }
    }

    /// The ordinal of the program.
    pub(in crate::read) fn add_program(&mut self, program: DecodeProgram) -> usize {
        self.decoders.programs.push(Arc::new(program));
        self.decoders.programs.len() - 1
    }

    /// The ordinal of the block.
    pub(in crate::read) fn add_parquet(&mut self, block: ParquetBlock) -> usize {
        self.parquet.push(block);
        self.parquet.len() - 1
    }

    pub(in crate::read) fn add_source(&mut self, source: LogSource) {
        self.sources.push(source);
    }

    /// Notes the bytes of the largest of some rows.
    pub(in crate::read) fn note_row_bytes(&mut self, bytes: usize) {
        self.most_row_bytes = self.most_row_bytes.max(bytes);
    }

    /// Returns how many rows may be fetched at once, whichever they are.
    pub(in crate::read) fn rows_at_once(&self, limit: BatchLimit) -> usize {
        limit.rows_of(self.most_row_bytes)
    }

    /// Adds the projected columns that the block of the next source does not have.
    pub(in crate::read) fn add_missing(&mut self, missing: Arc<[bool]>) {
        self.missing.insert(self.sources.len(), missing);
    }

    /// Returns the projected columns that blocks of partial records do not have.
    pub(in crate::read) fn take_missing(&mut self) -> MissingColumns {
        std::mem::take(&mut self.missing)
    }
}

/// Batches under construction: Avro datums of many blocks are decoded by one decoder, batches of Parquet blocks exist
/// already.
enum BatchBuilder {
    Decoding { program: usize, decoder: Box<Decoder> },
    Decoded { place: BatchPlace, batch: RecordBatch },
}

/// A batch that exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchPlace {
    /// Of a Parquet block, both by ordinal.
    Parquet { block: usize, batch: usize },
    /// Deleted keys that were fetched.
    Deletes,
}

/// Records whose rows are fetched, with the memory of their slice.
pub(in crate::read) struct RowFetcher<'a> {
    pub(in crate::read) records: &'a mut LogRecords,
    pub(in crate::read) memory: &'a mut SliceMemory,
}

impl RecordFetcher for RowFetcher<'_> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.records.projected)
    }

    fn fetch(&mut self, rows: &[RowRef]) -> Result<FetchedRows> {
        // Rows of one block are decoded together, in any requested order.
        let mut order: Vec<(RowRef, usize)> = rows.iter().copied().zip(0..).collect();
        // As one number, which compares without a branch.
        order.sort_unstable_by_key(|(row, _)| u64::from(row.source) << 32 | u64::from(row.at));
        let mut picks = vec![(0, 0); rows.len()];
        let mut growing: Vec<BatchBuilder> = Vec::new();
        let mut rest = order.as_slice();
        while let [(first, _), ..] = rest {
            let end = rest.iter().position(|(row, _)| !self.records.in_one_block(*first, *row)).unwrap_or(rest.len());
            let (some, others) = rest.split_at(end);
            rest = others;
            let wanted: Vec<u32> = some.iter().map(|(row, _)| row.at).collect();
            let found = self.records.grow(first.source as usize, &wanted, &mut growing, self.memory)?;
            if found.len() != wanted.len() {
                let message = format_args!("{} rows of a log block where {} were asked for", found.len(), wanted.len());
                return Err(Error::internal(message));
            }
            for ((_, index), place) in some.iter().zip(found) {
                let pick = picks.get_mut(*index);
                *pick.ok_or_else(|| Error::internal("a row was fetched that was not asked for"))? = place;
            }
        }
        self.records.report.edit().records_won += rows.len() as u64;
        let mut batches = Vec::with_capacity(growing.len());
        for one in growing {
            batches.push(match one {
                BatchBuilder::Decoding { program, mut decoder } => {
                    let batch = decoder.finish().map_err(|error| self.records.located(error, program, &order))?;
                    self.records.decoders.idle.push((program, decoder));
                    batch
                }
                BatchBuilder::Decoded { batch, .. } => batch,
            });
        }
        Ok(FetchedRows { batches, picks })
    }
}

impl LogRecords {
    /// Fetches rows of one source. Returns the ordinal of the batch of each, and its row number there.
    fn grow(
        &mut self,
        source: usize,
        wanted: &[u32],
        growing: &mut Vec<BatchBuilder>,
        memory: &mut SliceMemory,
    ) -> Result<Vec<(usize, usize)>> {
        let Some(found) = self.sources.get(source) else {
            return Err(Error::internal("a row of a log block that was not read"));
        };
        match &found.rows {
            RowSource::Avro { content, program } => {
                let decoded = self.decoders.decode(content, *program, wanted, growing);
                decoded.map_err(|error| found.location.mark(error))
            }
            RowSource::Parquet { block, first } => {
                let (block, first) = (*block, *first);
                let Some(rows) = self.parquet.get_mut(block) else {
                    return Err(Error::internal("a row of a parquet block that was not read"));
                };
                let fetch =
                    |row: &u32| decoded_row(rows, block, first.saturating_add(u64::from(*row)), growing, memory);
                let found_rows: Result<Vec<_>> = wanted.iter().map(fetch).collect();
                found_rows.map_err(|error| found.location.mark(error))
            }
            RowSource::Deletes(Some(known)) => {
                let batch = deleted_rows(known, wanted, &self.projected)?;
                growing.push(BatchBuilder::Decoded { place: BatchPlace::Deletes, batch });
                let at = growing.len() - 1;
                Ok((0..wanted.len()).map(|row| (at, row)).collect())
            }
            RowSource::Deletes(None) => Err(Error::internal("a row of a block that has none")),
        }
    }

    /// Adds the location of the block to an error of a batch, which may have rows of several blocks: they are decoded
    /// again, block by block.
    #[cold]
    fn located(&self, error: Error, program: usize, rows: &[(RowRef, usize)]) -> Error {
        let of_source = rows.chunk_by(|(one, _), (two, _)| one.source == two.source);
        let first = of_source.into_iter().find_map(|rows| {
            let (first, _) = rows.first()?;
            let source = self.sources.get(first.source as usize)?;
            let RowSource::Avro { content, program: of_block } = &source.rows else { return None };
            let wanted: Vec<u32> = rows.iter().map(|(row, _)| row.at).collect();
            let decoded = self.decoders.decoded_alone(content, *of_block, &wanted);
            decoded.err().filter(|_| *of_block == program).map(|error| source.location.mark(error))
        });
        first.unwrap_or(error)
    }

    /// Returns true if rows are in one Avro block, so that they can be decoded together, or in one source.
    fn in_one_block(&self, one: RowRef, two: RowRef) -> bool {
        let rows = |row: RowRef| self.sources.get(row.source as usize).map(|source| &source.rows);
        match (rows(one), rows(two)) {
            _ if one.source == two.source => true,
            (
                Some(RowSource::Avro { content: one, program: by }),
                Some(RowSource::Avro { content: two, program: also_by }),
            ) => by == also_by && one.as_ptr() == two.as_ptr() && one.len() == two.len(),
            _ => false,
        }
    }
}

/// Fetches a row of a parquet block. Returns the ordinal of its batch, and its row number there.
fn decoded_row(
    block: &mut ParquetBlock,
    ordinal: usize,
    row: u64,
    growing: &mut Vec<BatchBuilder>,
    memory: &mut SliceMemory,
) -> Result<(usize, usize)> {
    let (batch, row) = block.place(row, memory)?;
    let wanted = BatchPlace::Parquet { block: ordinal, batch };
    let is_wanted = |one: &BatchBuilder| matches!(one, BatchBuilder::Decoded { place, .. } if *place == wanted);
    // Rows of one batch mostly follow each other.
    if let Some(known) = growing.iter().rposition(is_wanted) {
        return Ok((known, row));
    }
    growing.push(BatchBuilder::Decoded { place: wanted, batch: block.batch(batch)? });
    Ok((growing.len() - 1, row))
}

impl Decoders {
    /// Decodes datums of a block in the batch of its program. Returns the ordinal of the batch, and the row number of
    /// each there.
    fn decode(
        &mut self,
        content: &Bytes,
        ordinal: usize,
        wanted: &[u32],
        growing: &mut Vec<BatchBuilder>,
    ) -> Result<Vec<(usize, usize)>> {
        let datums = avro_data::datums_at(content, wanted).collect::<Result<Vec<_>>>()?;
        let known =
            growing.iter().position(|one| matches!(one, BatchBuilder::Decoding { program, .. } if *program == ordinal));
        let batch = known.unwrap_or(growing.len());
        if known.is_none() {
            growing.push(BatchBuilder::Decoding { program: ordinal, decoder: self.idle_decoder(ordinal)? });
        }
        let Some(BatchBuilder::Decoding { decoder, .. }) = growing.get_mut(batch) else {
            return Err(Error::internal("no decoder for the rows of a log block"));
        };
        let first = decoder.len();
        decoder.decode(content, &datums)?;
        Ok((first..first + datums.len()).map(|row| (batch, row)).collect())
    }

    /// Decodes datums of a block in a batch of their own.
    fn decoded_alone(&self, content: &Bytes, ordinal: usize, wanted: &[u32]) -> Result<RecordBatch> {
        let program =
            self.programs.get(ordinal).ok_or_else(|| Error::internal("a row of a block that was not read"))?;
        let mut decoder = Decoder::new(Arc::clone(program));
        decoder.decode(content, &avro_data::datums_at(content, wanted).collect::<Result<Vec<_>>>()?)?;
        decoder.finish()
    }

    /// Returns a decoder of a program: an idle or a new one.
    fn idle_decoder(&mut self, ordinal: usize) -> Result<Box<Decoder>> {
        if let Some(at) = self.idle.iter().position(|(program, _)| *program == ordinal) {
            return Ok(self.idle.swap_remove(at).1);
        }
        let program = self.programs.get(ordinal);
        let program = program.ok_or_else(|| Error::internal("a row of a block that was not read"))?;
        Ok(Box::new(Decoder::new(Arc::clone(program))))
    }
}
