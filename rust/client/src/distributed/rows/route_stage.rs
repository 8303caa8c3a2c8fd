//! Placed rows, distributed to the tasks that write them.

use std::sync::Arc;

use arrow_array::{Array, BooleanArray, Int32Array, RecordBatch, UInt32Array};
use arrow_schema::{Field, Schema};

use super::assigned::other_rows;
use super::placer::{ORDINAL, PLACE};
use crate::distributed::exchange::{
    Address, ChunkKind, Chunks, Distributor, Input, OpenWrite, Output, RouteSpec, SentRows, SourceRoutes, StageStep,
    TaskAttempt, numbers_for_partitions,
};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;

/// Whether the key of a row is new.
pub(crate) const IS_NEW: &str = "_mortice_is_new";

/// Distributes rows to tasks.
pub(crate) struct RouteStage {
    write: OpenWrite,
    spec: RouteSpec,
    numbers: Vec<i32>,
    input: Chunks,
    partition: u32,
    chunks: Distributor,
}

impl RouteStage {
    pub(crate) fn new(write: OpenWrite, spec: RouteSpec, task: TaskAttempt, input: Input) -> Self {
        let numbers = numbers_for_partitions(spec.partitions);
        let chunks = Distributor::new(ChunkKind::Rows, task.partition);
        Self { write, spec, numbers, input: Chunks::new(input), partition: task.partition, chunks }
    }
}

impl StageStep for RouteStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(chunk) = self.chunks.next_chunk(&mut self.input, output)? else { return Ok(false) };
        let batch = chunk.batch()?;
        let sent = SentRows::of_batch(&batch, &self.write.row_types())?;
        let (places, ordinals): (Int32Array, UInt32Array) = (sent.column(PLACE)?, sent.column(ORDINAL)?);
        let routes = self.spec.sources.get(&chunk.source);
        let routes = routes.ok_or_else(|| Error::internal("rows of a source that the driver does not know"))?;
        let task_of = |row: usize| {
            let ordinal = ordinals.is_valid(row).then(|| ordinals.value(row));
            task_of(routes, places.value(row), ordinal)
        };
        let tasks = (0..batch.num_rows()).map(task_of).collect::<Result<Vec<u32>>>()?;
        let rows = with_new_marks(&batch, &places)?;
        let Self { spec, numbers, chunks, .. } = self;
        chunks.distribute(&rows, &tasks, |task| address_of(spec, numbers, task), output)?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}

fn address_of(spec: &RouteSpec, numbers: &[i32], task: u32) -> Result<Address<'static>> {
    let partition = spec.partition_of_task.get(at(task));
    let slot = partition.and_then(|partition| numbers.get(at(*partition)).copied());
    let slot = slot.ok_or_else(|| Error::internal(format_args!("task {task} is in no partition of the data frame")))?;
    Ok(Address { target: task, slot, report: None })
}

fn task_of(routes: &SourceRoutes, place: i32, ordinal: Option<u32>) -> Result<u32> {
    let lost = || other_rows("a row has no task".to_owned());
    if let Ok(group) = usize::try_from(place) {
        return routes.groups.get(group).copied().ok_or_else(lost);
    }
    let class = usize::try_from(-1 - place).map_err(|_| lost())?;
    let (ranges, ordinal) = (routes.inserts.get(class).ok_or_else(lost)?, u64::from(ordinal.ok_or_else(lost)?));
    let at = ranges.partition_point(|(end, _)| *end <= ordinal);
    ranges.get(at).map(|(_, task)| *task).ok_or_else(lost)
}

/// The rows with marks of those that are new, in place of the columns that led them here.
fn with_new_marks(batch: &RecordBatch, places: &Int32Array) -> Result<RecordBatch> {
    let is_new: BooleanArray = places.iter().map(|place| Some(place.is_some_and(|place| place < 0))).collect();
    let schema = batch.schema();
    let kept = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .filter(|(field, _)| ![PLACE, ORDINAL].contains(&field.name().as_str()));
    let (mut fields, mut columns): (Vec<_>, Vec<_>) =
        kept.map(|(field, column)| (Arc::clone(field), Arc::clone(column))).unzip();
    fields.push(Arc::new(Field::new(IS_NEW, is_new.data_type().clone(), true)));
    columns.push(Arc::new(is_new));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| Error::internal("rows with their tasks").caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    #[test]
    fn a_task_without_a_partition_is_an_internal_error() {
        let spec = RouteSpec { sources: [].into(), partition_of_task: vec![1, 0, 2], partitions: 2 };
        let slot = |task| address_of(&spec, &[7, 8], task).map(|address| (address.target, address.slot));
        assert_eq!([slot(0).unwrap(), slot(1).unwrap()], [(0, 8), (1, 7)]);
        for unknown in [2, 3] {
            assert_eq!(slot(unknown).unwrap_err().kind(), ErrorKind::Internal);
        }
    }

    #[test]
    fn rows_that_were_not_assigned_are_an_error_of_the_data_frame() {
        let routes = SourceRoutes { groups: vec![3], inserts: vec![vec![(2, 5)]] };
        assert_eq!(task_of(&routes, 0, None).unwrap(), 3);
        assert_eq!(task_of(&routes, -1, Some(1)).unwrap(), 5);
        for (place, ordinal) in [(1, None), (-1, Some(2)), (-1, None), (-2, Some(0))] {
            let error = task_of(&routes, place, ordinal).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains("checkpoint it"), "{error}");
        }
    }
}
