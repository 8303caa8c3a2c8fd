//! Distributes rows to targets: chunks of many rows each, in the order of the rows.

use std::collections::BTreeMap;

use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;

use super::chunk::{Chunk, ChunkKind, encoded};
use super::sent_rows::joined;
use super::stage::{Chunks, Output};
use mortice_base::error::{Error, Result};
use mortice_merge::spill::row_bytes;

/// Bytes of rows that are held before they are handed on: chunks of many targets are to be large all the same.
const HELD_BYTES: usize = 32 << 20;
/// Bytes of rows of one target that are handed on at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Collects rows by target.
pub(crate) struct Distributor {
    kind: ChunkKind,
    source: u32,
    number: u32,
    /// The rows of each target, with the bytes of the chunk's report.
    held: BTreeMap<u32, HeldRows>,
    bytes: usize,
}

#[derive(Default)]
struct HeldRows {
    batches: Vec<RecordBatch>,
    bytes: usize,
    slot: i32,
    report: Option<Vec<u8>>,
}

/// Where rows go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address<'a> {
    pub(crate) target: u32,
    /// The number that sends them there.
    pub(crate) slot: i32,
    /// What the chunk says of them. Rows of one target have the same until [`Distributor::flush`].
    pub(crate) report: Option<&'a [u8]>,
}

impl Distributor {
    pub(crate) fn new(kind: ChunkKind, source: u32) -> Self {
        Self { kind, source, number: 0, held: BTreeMap::new(), bytes: 0 }
    }

    /// The source of further rows. Those that are held are handed on before.
    pub(crate) fn set_source(&mut self, source: u32, output: &mut Output) -> Result<()> {
        if self.source != source {
            self.flush(output)?;
            (self.source, self.number) = (source, 0);
        }
        Ok(())
    }

    /// The next chunk of an input, whose source is that of further rows. At the end of the input all rows are handed
    /// on.
    pub(crate) fn next_chunk(&mut self, input: &mut Chunks, output: &mut Output) -> Result<Option<Chunk>> {
        let chunk = input.next()?;
        match &chunk {
            Some(chunk) => self.set_source(chunk.source, output)?,
            None => self.flush(output)?,
        }
        Ok(chunk)
    }

    /// Adds rows that all go to one target.
    pub(crate) fn add(&mut self, address: Address<'_>, rows: RecordBatch, output: &mut Output) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let bytes = row_bytes(&rows);
        let held = self.held.entry(address.target).or_default();
        held.slot = address.slot;
        held.report = address.report.map(<[u8]>::to_vec);
        held.bytes = held.bytes.saturating_add(bytes);
        held.batches.push(rows);
        self.bytes = self.bytes.saturating_add(bytes);
        if held.bytes >= CHUNK_BYTES {
            return self.send(address.target, output);
        }
        if self.bytes >= HELD_BYTES { self.flush(output) } else { Ok(()) }
    }

    /// Distributes rows, of which `targets` has the target of each.
    pub(crate) fn distribute<'a>(
        &mut self,
        rows: &RecordBatch,
        targets: &[u32],
        address: impl Fn(u32) -> Result<Address<'a>>,
        output: &mut Output,
    ) -> Result<()> {
        if targets.len() != rows.num_rows() {
            let (targets, rows) = (targets.len(), rows.num_rows());
            return Err(Error::internal(format_args!("{targets} targets of {rows} rows")));
        }
        let mut by_target: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (row, target) in (0_u32..).zip(targets) {
            by_target.entry(*target).or_default().push(row);
        }
        for (target, numbers) in by_target {
            let part =
                if numbers.len() == rows.num_rows() { rows.clone() } else { taken(rows, &UInt32Array::from(numbers))? };
            self.add(address(target)?, part, output)?;
        }
        Ok(())
    }

    /// Hands on all that is held.
    pub(crate) fn flush(&mut self, output: &mut Output) -> Result<()> {
        let targets: Vec<u32> = self.held.keys().copied().collect();
        targets.into_iter().try_for_each(|target| self.send(target, output))
    }

    fn send(&mut self, target: u32, output: &mut Output) -> Result<()> {
        let Some(HeldRows { batches, bytes, slot, report }) = self.held.remove(&target) else { return Ok(()) };
        self.bytes = self.bytes.saturating_sub(bytes);
        let rows = joined(&batches)?;
        for part in parts(&rows, bytes) {
            let report = report.clone().map(arrow_buffer::Buffer::from_vec);
            let data = Some(encoded(std::slice::from_ref(&part))?);
            let (kind, source, number) = (self.kind, self.source, self.number);
            self.number =
                number.checked_add(1).ok_or_else(|| Error::unsupported("4,294,967,296 parts of one source"))?;
            output.push(Chunk { slot, target, kind, source, number, report, data })?;
        }
        Ok(())
    }
}

/// Rows of so many bytes in parts that are not much larger than a chunk.
fn parts(rows: &RecordBatch, bytes: usize) -> Vec<RecordBatch> {
    let count = bytes.div_ceil(CHUNK_BYTES).clamp(1, rows.num_rows().max(1));
    let step = rows.num_rows().div_ceil(count).max(1);
    let starts = (0..rows.num_rows()).step_by(step);
    starts.map(|start| rows.slice(start, step.min(rows.num_rows() - start))).collect()
}

/// Some rows of a batch.
pub(crate) fn taken(rows: &RecordBatch, numbers: &UInt32Array) -> Result<RecordBatch> {
    debug_assert_eq!(numbers.null_count(), 0);
    take_record_batch(rows, numbers).map_err(|error| Error::internal("rows of a batch").caused_by(error))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::super::chunk;
    use super::*;

    /// Rows of some 2 MiB in ten columns, which all are in the memory of one chunk.
    fn received() -> RecordBatch {
        let column = |at: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..20_000).map(|row| row * at))) };
        let names: Vec<String> = (0..10).map(|at| format!("c{at}")).collect();
        let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..20_000).map(|row| format!("row {row:016}"))));
        let columns = (0..10).zip(&names).map(|(at, name)| (name.as_str(), column(at))).chain([("text", text)]);
        let data = encoded(&[RecordBatch::try_from_iter(columns).unwrap()]).unwrap();
        let sent =
            Chunk { slot: 0, target: 0, kind: ChunkKind::Rows, source: 0, number: 0, report: None, data: Some(data) };
        let batch = chunk::of_batch(&chunk::to_batch(&[sent]).unwrap()).unwrap().remove(0).batch().unwrap();
        assert!(batch.get_array_memory_size() > 10 * row_bytes(&batch), "the columns share memory");
        batch
    }

    #[test]
    fn chunks_are_about_as_large_as_they_should_be() {
        let (mut output, mut chunks) = (Output::default(), Distributor::new(ChunkKind::Rows, 0));
        let (rows, address) = (received(), |target| Address { target, slot: 0, report: None });
        chunks.add(address(0), rows.clone(), &mut output).unwrap();
        chunks.distribute(&rows, &vec![1; rows.num_rows()], |target| Ok(address(target)), &mut output).unwrap();
        let too_few = chunks.distribute(&rows, &[1], |target| Ok(address(target)), &mut output);
        assert!(too_few.is_err(), "each row has a target");
        chunks.flush(&mut output).unwrap();
        let sizes: Vec<usize> = output.into_chunks().unwrap().iter().map(Chunk::bytes).collect();
        assert_eq!(sizes.len(), 2 * row_bytes(&rows).div_ceil(CHUNK_BYTES), "{sizes:?}");
        assert!(sizes.iter().all(|bytes| *bytes > CHUNK_BYTES / 2 && *bytes < 2 * CHUNK_BYTES), "{sizes:?}");
    }
}
