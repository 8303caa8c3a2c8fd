//! What the driver builds indexes of the metadata table from, read from files: numbers of keys, ranges of columns,
//! Bloom filters.

use crate::distributed::exchange::{
    AssignedSlices, IndexPart, IndexPartReport, IndexPartsSpec, Input, Output, ReadReport, StageStep, TaskAttempt,
};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_commit::metadata_upkeep::{IndexBuilder, LocalIndexBuilder};
use mortice_table::plan::OpenTable;

/// Reads files as one process does, item by item.
pub(crate) struct IndexPartsStage {
    table: OpenTable,
    spec: IndexPartsSpec,
    items: AssignedSlices,
    partition: u32,
}

impl IndexPartsStage {
    pub(crate) fn new(table: OpenTable, spec: IndexPartsSpec, task: TaskAttempt, input: Input) -> Self {
        Self { table, spec, items: AssignedSlices::new(input), partition: task.partition }
    }

    fn read(&self, number: u32) -> Result<IndexPartReport> {
        let (local, table, item) = (LocalIndexBuilder::default(), &self.table, at(number));
        let missing = || Error::internal("a file that is not there");
        Ok(match &self.spec.part {
            IndexPart::KeyCounts(slices) => {
                let slice = slices.get(item).ok_or_else(missing)?;
                IndexPartReport::KeyCount(local.count_keys(table, std::slice::from_ref(slice))?)
            }
            IndexPart::ColumnRanges(files, columns) => {
                let file = std::slice::from_ref(files.get(item).ok_or_else(missing)?);
                let ranges = local.column_ranges(table, file, columns)?.pop();
                IndexPartReport::ColumnRanges(number, ranges.unwrap_or_default())
            }
            IndexPart::BloomFilters(files) => {
                let file = std::slice::from_ref(files.get(item).ok_or_else(missing)?);
                let filter = local.bloom_filters(table, file)?.pop();
                IndexPartReport::BloomFilter(number, filter.ok_or_else(missing)?)
            }
        })
    }
}

impl StageStep for IndexPartsStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(number) = self.items.next(&self.spec.tasks)? else { return Ok(false) };
        let report = self.read(number)?;
        output.report(number, &ReadReport::IndexPart(report))?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}
