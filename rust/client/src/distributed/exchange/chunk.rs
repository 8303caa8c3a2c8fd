//! Chunks: rows of a write on their way between processes. A chunk is one row of a data frame, so that the engine which
//! distributes the rows (Spark) moves some bytes and never looks at a row.
//!
//! | column | content |
//! |---|---|
//! | `slot` | a number whose hash sends the chunk to its partition of the engine |
//! | `target` | what the chunk is for: a slot of keys, or a task |
//! | `kind` | [`ChunkKind`]; chunks of a target are sorted by kind, source and number |
//! | `source` | where the chunk comes from: a task, or a base file |
//! | `number` | the number of the chunk in its source: with `source` the order of rows, which does not depend on the order of their arrival |
//! | `report` | JSON |
//! | `data` | record batches as an Arrow IPC stream |

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, GenericBinaryArray, Int32Array, LargeBinaryArray, OffsetSizeTrait, RecordBatch,
};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use mortice_base::error::{Error, Result};

/// The columns of chunks, in order.
const COLUMNS: [&str; 7] = ["slot", "target", "kind", "source", "number", "report", "data"];

/// What a chunk contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ChunkKind {
    /// Rows that are written.
    Rows,
    /// Keys of a base file, which come after the rows that they are matched with.
    StoredKeys,
    /// The file groups of rows whose stored rows are awaited.
    SlotTags,
    /// Keys whose stored rows are to be read.
    Wanted,
    /// Stored rows of keys.
    StoredRows,
    /// What a task reports to the driver.
    ReadReport,
    /// Record keys with their places.
    KeyPlaces,
    /// What a task says of the keys that it has sent.
    SentKeys,
    /// Rows of base files whose keys logs have deleted.
    DeletedRows,
}

impl ChunkKind {
    const ALL: [Self; 9] = [
        Self::Rows,
        Self::StoredKeys,
        Self::SlotTags,
        Self::Wanted,
        Self::StoredRows,
        Self::ReadReport,
        Self::KeyPlaces,
        Self::SentKeys,
        Self::DeletedRows,
    ];

    /// The number of the kind: its place in [`Self::ALL`].
    pub(crate) fn number(self) -> i32 {
        self as i32
    }

    fn numbered(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub(crate) slot: i32,
    pub(crate) target: u32,
    pub(crate) kind: ChunkKind,
    pub(crate) source: u32,
    pub(crate) number: u32,
    pub(crate) report: Option<Buffer>,
    pub(crate) data: Option<Buffer>,
}

impl Chunk {
    /// What a task reports to the driver.
    pub(crate) fn of_report(source: u32, report: Vec<u8>) -> Self {
        let report = Some(Buffer::from_vec(report));
        Self { slot: 0, target: 0, kind: ChunkKind::ReadReport, source, number: 0, report, data: None }
    }

    pub(crate) fn bytes(&self) -> usize {
        let len = |bytes: &Option<Buffer>| bytes.as_ref().map_or(0, Buffer::len);
        len(&self.report) + len(&self.data)
    }

    /// The record batches in it.
    pub(crate) fn batches(&self) -> Result<Vec<RecordBatch>> {
        let Some(data) = &self.data else { return Ok(Vec::new()) };
        let (mut data, mut decoder, mut batches) = (data.clone(), StreamDecoder::new(), Vec::new());
        while let Some(batch) = decoder.decode(&mut data).map_err(unreadable)? {
            batches.push(batch);
        }
        Ok(batches)
    }

    /// The only record batch in it.
    pub(crate) fn batch(&self) -> Result<RecordBatch> {
        let mut batches = self.batches()?;
        match (batches.pop(), batches.pop()) {
            (Some(batch), None) => Ok(batch),
            _ => Err(Error::internal("a chunk of rows that is not one batch")),
        }
    }
}

/// Record batches as bytes.
pub(crate) fn encoded(batches: &[RecordBatch]) -> Result<Buffer> {
    let Some(first) = batches.first() else { return Ok(Buffer::from_vec(Vec::<u8>::new())) };
    let mut writer = StreamWriter::try_new(Vec::new(), first.schema_ref()).map_err(unreadable)?;
    batches.iter().try_for_each(|batch| writer.write(batch)).map_err(unreadable)?;
    writer.into_inner().map(Buffer::from_vec).map_err(unreadable)
}

fn unreadable(error: arrow_schema::ArrowError) -> Error {
    Error::internal("rows that are sent between processes").caused_by(error)
}

/// The schema of batches of chunks.
pub(crate) fn schema() -> SchemaRef {
    let kind = |at: usize| if at < 5 { DataType::Int32 } else { DataType::Binary };
    let fields = COLUMNS.iter().enumerate().map(|(at, name)| Field::new(*name, kind(at), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Chunks as a batch of rows.
pub(crate) fn to_batch(chunks: &[Chunk]) -> Result<RecordBatch> {
    let numbers = |of: fn(&Chunk) -> i32| Arc::new(chunks.iter().map(of).collect::<Int32Array>()) as ArrayRef;
    let bytes = |of: fn(&Chunk) -> Option<&Buffer>| {
        let values = chunks.iter().map(|chunk| of(chunk).map(Buffer::as_slice));
        Arc::new(values.collect::<BinaryArray>()) as ArrayRef
    };
    let columns = vec![
        numbers(|chunk| chunk.slot),
        numbers(|chunk| chunk.target.cast_signed()),
        numbers(|chunk| chunk.kind.number()),
        numbers(|chunk| chunk.source.cast_signed()),
        numbers(|chunk| chunk.number.cast_signed()),
        bytes(|chunk| chunk.report.as_ref()),
        bytes(|chunk| chunk.data.as_ref()),
    ];
    RecordBatch::try_new(schema(), columns).map_err(unreadable)
}

/// The chunks of a batch, which share its memory.
pub(crate) fn of_batch(batch: &RecordBatch) -> Result<Vec<Chunk>> {
    let other = || Error::internal("a batch that does not consist of chunks");
    let column = |at: usize| batch.columns().get(at).ok_or_else(other);
    let numbers = |at: usize| column(at)?.as_primitive_opt::<Int32Type>().cloned().ok_or_else(other);
    let bytes = |at: usize| BytesColumn::of_array(column(at)?).ok_or_else(other);
    let [slots, targets, kinds, sources, numbers] = [numbers(0)?, numbers(1)?, numbers(2)?, numbers(3)?, numbers(4)?];
    let [reports, data] = [bytes(5)?, bytes(6)?];
    let chunk = |row: usize| {
        Ok(Chunk {
            slot: slots.value(row),
            target: targets.value(row).cast_unsigned(),
            kind: ChunkKind::numbered(kinds.value(row)).ok_or_else(other)?,
            source: sources.value(row).cast_unsigned(),
            number: numbers.value(row).cast_unsigned(),
            report: reports.value(row),
            data: data.value(row),
        })
    };
    (0..batch.num_rows()).map(chunk).collect()
}

/// A column of bytes. Spark sends large ones if `spark.sql.execution.arrow.useLargeVarTypes` is set.
enum BytesColumn<'a> {
    Small(&'a BinaryArray),
    Large(&'a LargeBinaryArray),
}

impl<'a> BytesColumn<'a> {
    fn of_array(array: &'a ArrayRef) -> Option<Self> {
        let small = array.as_binary_opt::<i32>().map(Self::Small);
        small.or_else(|| array.as_binary_opt::<i64>().map(Self::Large))
    }

    /// The bytes of a row, which share the memory of the column.
    fn value(&self, row: usize) -> Option<Buffer> {
        match self {
            Self::Small(array) => value_of(array, row),
            Self::Large(array) => value_of(array, row),
        }
    }
}

fn value_of<O: OffsetSizeTrait>(array: &GenericBinaryArray<O>, row: usize) -> Option<Buffer> {
    if array.is_null(row) {
        return None;
    }
    let offsets = array.value_offsets();
    // Both are there: a value that is not null has its offsets.
    let [start, end] = [offsets.get(row), offsets.get(row.saturating_add(1))]
        .map(|offset| offset.map(|offset| offset.as_usize()).unwrap_or_default());
    Some(array.values().slice_with_length(start, end.saturating_sub(start)))
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;

    #[test]
    fn chunks_are_rows_of_a_data_frame() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("ccc")]));
        let rows = RecordBatch::try_from_iter([("text", texts)]).unwrap();
        let chunk = Chunk {
            slot: -7,
            target: 1,
            kind: ChunkKind::StoredKeys,
            source: u32::MAX,
            number: 3,
            report: None,
            data: Some(encoded(std::slice::from_ref(&rows)).unwrap()),
        };
        let batch = to_batch(&[Chunk::of_report(4, b"{}".to_vec()), chunk]).unwrap();
        assert_eq!(batch.schema(), schema());
        let [report, back] = of_batch(&batch).unwrap().try_into().unwrap();
        assert_eq!(
            (report.kind, report.source, report.report.as_deref()),
            (ChunkKind::ReadReport, 4, Some(&b"{}"[..]))
        );
        assert!(report.data.is_none() && report.batches().unwrap().is_empty());
        assert_eq!((back.slot, back.target, back.kind), (-7, 1, ChunkKind::StoredKeys));
        assert_eq!((back.source, back.number, back.report.is_none()), (u32::MAX, 3, true));
        assert_eq!(back.batch().unwrap(), rows);
        assert!(of_batch(&rows).is_err());
    }

    #[test]
    fn bytes_of_chunks_may_be_large() {
        let batch = to_batch(&[Chunk::of_report(4, b"{}".to_vec()), Chunk::of_report(5, b"[1]".to_vec())]).unwrap();
        let columns = batch.columns().iter().map(|column| match column.as_binary_opt::<i32>() {
            Some(small) => Arc::new(small.iter().collect::<LargeBinaryArray>()),
            None => Arc::clone(column),
        });
        let large = RecordBatch::try_from_iter(COLUMNS.into_iter().zip(columns)).unwrap();
        let reports = |batch: &RecordBatch| -> Vec<_> {
            of_batch(batch).unwrap().into_iter().map(|chunk| (chunk.report, chunk.data)).collect()
        };
        assert_eq!(reports(&large), reports(&batch));
        assert_eq!(reports(&large)[1].0.as_deref(), Some(&b"[1]"[..]));
    }
}
