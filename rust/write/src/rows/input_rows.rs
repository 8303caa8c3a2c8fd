//! A user's rows as they are read: in files once they take too much memory.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use mortice_base::error::{Error, Result};
use mortice_merge::spill::{RowBatches, RowBatchesBuilder, RowMemory, row_bytes};
use mortice_storage::check_cancelled;

/// Larger batches are read in parts of this size.
const PART_BYTES: usize = 64 << 20;

/// Reads all batches.
///
/// # Errors
/// Those of the batches; `Io` where rows cannot be written to a file; `Unsupported` for more rows than have numbers.
pub fn read_input(
    schema: &Schema,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    is_in_memory: bool,
    memory: RowMemory,
) -> Result<RowBatches> {
    // What is null where the input says that nothing is, is found when rows are brought to the columns of the table.
    let fields = schema.fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut rows = RowBatchesBuilder::new(schema, memory);
    let mut count = 0_usize;
    for batch in batches {
        check_cancelled()?;
        let batch = batch?;
        count = count.saturating_add(batch.num_rows());
        if u32::try_from(count).is_err() {
            return Err(Error::unsupported("a write of more than 4,294,967,295 rows; write them in parts"));
        }
        for part in parts(&batch) {
            match is_in_memory {
                true => rows.push_held(part)?,
                false => rows.push(part)?,
            }
        }
    }
    Ok(rows.finish())
}

/// A batch in parts that can be copied one by one.
fn parts(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> {
    let rows = batch.num_rows();
    let parts = row_bytes(batch).div_ceil(PART_BYTES).clamp(1, rows.max(1));
    let len = rows.div_ceil(parts).max(1);
    (0..rows).step_by(len).map(move |start| batch.slice(start, len.min(rows - start)))
}
