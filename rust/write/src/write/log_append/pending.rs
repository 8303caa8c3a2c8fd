//! Records that wait for their block to be full.

use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use crate::write::column_range::ColumnRange;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::row_number::number_of;
use mortice_formats::log::writer::BlockHeader;

/// Records of the next block, in one of two forms, and what is counted of them.
#[derive(Default)]
pub(super) struct Pending {
    /// Records as Avro datums, one behind the other, and where each ends.
    pub(super) datums: Vec<u8>,
    pub(super) ends: Vec<usize>,
    /// Or records as batches.
    pub(super) batches: Vec<RecordBatch>,
    pub(super) bytes: usize,
    pub(super) rows: usize,
    pub(super) inserts: u64,
    pub(super) columns: Vec<ColumnRange>,
    /// Of each record; none once one has no position.
    pub(super) positions: Option<Vec<u64>>,
}

/// The positions, if all are known.
pub(super) fn known_positions(positions: Option<&UInt64Array>) -> Option<Vec<u64>> {
    let positions = positions.filter(|positions| positions.null_count() == 0)?;
    Some(positions.values().to_vec())
}

/// A place between two records.
pub(super) struct Mark {
    pub(super) datums: usize,
    ends: usize,
}

impl Pending {
    pub(super) fn new() -> Self {
        Self { positions: Some(Vec::new()), ..Self::default() }
    }

    /// Where the datums of the next records begin.
    pub(super) fn mark(&self) -> Mark {
        Mark { datums: self.datums.len(), ends: self.ends.len() }
    }

    /// Drops the datums from a place on.
    pub(super) fn truncate(&mut self, mark: &Mark) {
        self.datums.truncate(mark.datums);
        self.ends.truncate(mark.ends);
    }

    /// The datums from a place on, as the first ones of another block.
    pub(super) fn split_off(&mut self, mark: &Mark) -> Self {
        let datums = self.datums.split_off(mark.datums.min(self.datums.len()));
        let ends = self.ends.split_off(mark.ends.min(self.ends.len()));
        let ends = ends.into_iter().map(|end| end.saturating_sub(mark.datums)).collect();
        Self { datums, ends, ..Self::new() }
    }

    /// Adds column ranges of records.
    pub(super) fn add_columns(&mut self, columns: Vec<ColumnRange>) {
        add_columns(&mut self.columns, columns);
    }

    /// Adds positions of records; none if they are not known.
    pub(super) fn add_positions(&mut self, positions: Option<Vec<u64>>) {
        match (&mut self.positions, positions) {
            (Some(all), Some(more)) => all.extend(more),
            (all, _) => *all = None,
        }
    }

    /// The order of the records in their block: that of their positions, if all have one.
    pub(super) fn order(&self) -> Result<Vec<u32>> {
        order_by(self.positions.as_deref(), self.rows)
    }

    /// The batches as one, in the order of the records.
    pub(super) fn batch(&self) -> Result<Option<RecordBatch>> {
        let Some(first) = self.batches.first() else { return Ok(None) };
        let unfit =
            |error| Error::invalid_argument("the records do not fit one block; set a lower limit").caused_by(error);
        let all = concat_batches(first.schema_ref(), &self.batches).map_err(unfit)?;
        let order = self.order()?;
        if order.is_sorted() {
            return Ok(Some(all));
        }
        take_record_batch(&all, &arrow_array::UInt32Array::from(order)).map(Some).map_err(unfit)
    }
}

pub(super) fn add_columns(all: &mut Vec<ColumnRange>, more: Vec<ColumnRange>) {
    if all.is_empty() {
        *all = more;
    } else {
        for (at, more) in more.into_iter().enumerate() {
            let is_same = |range: &ColumnRange| range.column == more.column;
            // Partial records have fewer columns than the others of their file.
            let found = if all.get(at).is_some_and(is_same) { Some(at) } else { all.iter().position(is_same) };
            match found.and_then(|at| all.get_mut(at)) {
                Some(range) => range.add(more),
                None => all.push(more),
            }
        }
    }
}

/// The order of records by their positions.
pub(super) fn order_by(positions: Option<&[u64]>, rows: usize) -> Result<Vec<u32>> {
    let Some(positions) = positions else { return Ok((0..number_of(rows)?).collect()) };
    if positions.len() != rows {
        return Err(Error::internal(format_args!("{} positions of {rows} records", positions.len())));
    }
    let mut numbered: Vec<(u64, u32)> = positions.iter().copied().zip(0..).collect();
    numbered.sort_by_key(|(position, _)| *position);
    Ok(numbered.into_iter().map(|(_, row)| row).collect())
}

/// Adds the positions of a block to its header, as Hudi does: none if a record has none, the base file's instant alone
/// if two records have the same (`HoodieLogBlock.addRecordPositionsIfRequired`).
pub(super) fn with_positions(
    header: BlockHeader,
    base_instant: Option<&RequestedTime>,
    positions: Option<&[u64]>,
) -> Result<BlockHeader> {
    let (Some(instant), Some(positions)) = (base_instant, positions) else { return Ok(header) };
    let mut sorted = positions.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| matches!(pair, [one, next] if one == next)) {
        return Ok(header.with_base_instant(instant));
    }
    header.with_positions(instant, &sorted)
}
