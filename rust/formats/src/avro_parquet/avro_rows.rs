//! Columns through the records' Avro form: encoded as records, and decoded again. So the encoder's rules say what a
//! schema takes, and defaults, casts and refusals are the same as in Avro blocks.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema as ArrowSchema;
use arrow_select::concat::concat_batches;

use mortice_avro::{ArrowMapping, Datum, DecodeProgram, Decoder, Encoder, Schema, arrow_schema};
use mortice_base::error::{Error, Result};

/// Rows that are brought into their Avro form at a time.
const ROWS: usize = 8192;

/// The columns of a schema, from the columns of a batch that it names.
pub(super) fn through_avro(schema: &Schema, batch: &RecordBatch) -> Result<RecordBatch> {
    let named = batch.schema();
    let indices: Vec<usize> =
        (0..).zip(named.fields()).filter(|(_, one)| schema.field(one.name()).is_some()).map(|(at, _)| at).collect();
    let fields: Vec<_> = indices.iter().filter_map(|at| named.fields().get(*at).cloned()).collect();
    let columns = indices.iter().filter_map(|at| batch.columns().get(*at).cloned()).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)
        .map_err(|error| Error::internal(format!("a batch lost its columns: {error}")))?;
    let encoder = Encoder::new(schema, &batch.schema())?;
    let program = Arc::new(DecodeProgram::compile_all(schema, schema, ArrowMapping::File)?);
    let (mut datums, mut ends, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for start in (0..batch.num_rows()).step_by(ROWS) {
        datums.clear();
        ends.clear();
        let part = batch.slice(start, ROWS.min(batch.num_rows() - start));
        encoder.encode(&part, &mut datums, &mut ends)?;
        parts.push(decoded(&program, &datums, &ends)?);
    }
    let types = Arc::new(arrow_schema(schema, ArrowMapping::File)?);
    concat_batches(parts.first().map_or(&types, |part| part.schema_ref()), &parts)
        .map_err(|error| Error::invalid_argument("rows are too large for one batch; give fewer").caused_by(error))
}

fn decoded(program: &Arc<DecodeProgram>, datums: &[u8], ends: &[usize]) -> Result<RecordBatch> {
    let mut start = 0;
    let places = ends.iter().map(|end| {
        let at = std::mem::replace(&mut start, *end);
        Ok(Datum { at: place(at)?, len: place(end.saturating_sub(at))? })
    });
    let places = places.collect::<Result<Vec<_>>>()?;
    let mut decoder = Decoder::new(Arc::clone(program));
    decoder.decode(datums, &places)?;
    decoder.finish()
}

fn place(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| Error::invalid_argument(format!("{ROWS} records of 4 GiB or more")))
}
