//! `arrow-avro`, given datums at known positions: unframed, one per call.

use arrow_array::RecordBatch;
use arrow_avro::reader::{DecoderMode, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use mortice::avro::{Datum, Schema};

/// Rows in a batch.
pub(crate) const BATCH: usize = 8_192;

/// Decodes all datums, or some columns of them.
pub(crate) fn decode(
    json: &str,
    columns: Option<&[&str]>,
    content: &[u8],
    datums: &[Datum],
    mut each: impl FnMut(RecordBatch),
) {
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
    let id = Fingerprint::load_fingerprint_id(1);
    store.set(id, AvroSchema::new(json.to_owned())).expect("a schema");
    let mut builder = ReaderBuilder::new()
        .with_writer_schema_store(store)
        .with_active_fingerprint(id)
        .with_decoder_mode(DecoderMode::UnframedDatum)
        .with_batch_size(BATCH);
    if let Some(columns) = columns {
        let schema = Schema::parse(json).expect("a schema");
        let place = |name: &&str| schema.fields().iter().position(|field| field.name == **name);
        builder = builder.with_projection(columns.iter().filter_map(place).collect());
    }
    let mut decoder = builder.build_decoder().expect("a decoder");
    for datum in datums {
        if decoder.batch_is_full() {
            each(decoder.flush().expect("a batch").expect("rows"));
        }
        let bytes = &content[datum.at as usize..][..datum.len as usize];
        decoder.decode(bytes).expect("a sound record");
    }
    if let Some(rest) = decoder.flush().expect("a batch") {
        each(rest);
    }
}
