//! Avro records to Arrow, beside `arrow-avro` and a copy of the same bytes, in turns in the same run: the records of
//! `records.rs`. Each gets the same datums, places known; `arrow-avro` takes them unframed, one a call.
//!
//! `cargo bench -p mortice-benches --bench avro_decode -- [CASE] [--rows N] [--rounds N] [--main-thread]`. Before anything is timed, both
//! are held to give the same columns.

#![allow(clippy::expect_used, clippy::indexing_slicing, dead_code)]

mod records;
mod rounds;

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_avro::reader::{DecoderMode, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use mortice::avro::{Decoder, Program, Schema, Types, Want};
use records::{Case, cases};
use rounds::{Asked, Contender, race};

const BATCH: usize = 8_192;

fn ours(case: &Case, mut each: impl FnMut(RecordBatch)) {
    let schema = Schema::parse(&case.json).expect("a schema");
    let program = match &case.columns {
        None => Program::compile_all(&schema, &schema, Types::Table),
        Some(names) => {
            let wants: Vec<Want> = names.iter().map(|name| Want::Value((*name).to_owned())).collect();
            Program::compile(&schema, &schema, &wants, Types::Table)
        }
    };
    let mut decoder = Decoder::new(Arc::new(program.expect("a program")));
    for datums in case.datums.chunks(BATCH) {
        decoder.decode(&case.content, datums).expect("sound records");
        each(decoder.finish().expect("a batch"));
    }
}

fn theirs(case: &Case, mut each: impl FnMut(RecordBatch)) {
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
    let id = Fingerprint::load_fingerprint_id(1);
    store.set(id, AvroSchema::new(case.json.clone())).expect("a schema");
    let mut builder = ReaderBuilder::new()
        .with_writer_schema_store(store)
        .with_active_fingerprint(id)
        .with_decoder_mode(DecoderMode::UnframedDatum)
        .with_batch_size(BATCH);
    if let Some(columns) = &case.columns {
        let schema = Schema::parse(&case.json).expect("a schema");
        let place = |name: &&str| schema.fields().iter().position(|field| field.name == **name);
        builder = builder.with_projection(columns.iter().filter_map(place).collect());
    }
    let mut decoder = builder.build_decoder().expect("a decoder");
    for datum in &case.datums {
        if decoder.batch_is_full() {
            each(decoder.flush().expect("a batch").expect("rows"));
        }
        let bytes = &case.content[datum.at as usize..][..datum.len as usize];
        decoder.decode(bytes).expect("a sound record");
    }
    each(decoder.flush().expect("a batch").expect("rows"));
}

/// Both give the same values, or no comparison of speeds means anything.
fn agree(case: &Case) {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    ours(case, |batch| one.push(batch));
    theirs(case, |batch| other.push(batch));
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(&other) {
        for (a, b) in one.columns().iter().zip(other.columns()) {
            let same = arrow_cast::cast(b, a.data_type()).expect("a cast between names of nested fields");
            assert!(a.to_data() == same.to_data(), "{}: {:?}", case.name, a.data_type());
        }
    }
}

fn compare(case: &Case, asked: &Asked) {
    agree(case);
    println!("\n{}: {} bytes a record", case.name, case.content.len() / asked.rows);
    let mut copy = vec![0_u8; case.content.len()];
    race(
        asked,
        &mut [
            Contender::new("memcpy", || black_box(&mut copy).copy_from_slice(black_box(&case.content))),
            Contender::new("mortice", || ours(case, |batch| drop(black_box(batch)))),
            Contender::new("arrow-avro", || theirs(case, |batch| drop(black_box(batch)))),
        ],
    );
}

fn main() {
    let asked = Asked::of_arguments();
    asked.run(|| {
        cases(asked.rows).iter().filter(|case| asked.is_asked(case.name)).for_each(|case| compare(case, &asked))
    });
}
