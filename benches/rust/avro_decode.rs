//! Decoding Avro records to Arrow, compared with `arrow-avro` and a copy of the same bytes, in alternating rounds of
//! the same run, with the records of `records.rs`. All get the same datums at known positions; `arrow-avro` takes them
//! unframed, one per call.
//!
//! `cargo bench -p mortice-benches --bench parts -- avro_decode [CASE] [--rows N] [--rounds N] [--main-thread]`. Before
//! anything is timed, both are held to give the same columns.

use std::hint::black_box;
use std::sync::Arc;

use crate::records::{Case, cases};
use crate::rounds::{BenchArguments, Contender, race};
use crate::theirs::{self, BATCH};
use arrow_array::{Array, RecordBatch};
use mortice::avro::{ArrowMapping, DecodeProgram, Decoder, RequestedColumn, Schema};

fn ours(case: &Case, mut each: impl FnMut(RecordBatch)) {
    let schema = Schema::parse(&case.json).expect("a schema");
    let program = match &case.columns {
        None => DecodeProgram::compile_all(&schema, &schema, ArrowMapping::Table),
        Some(names) => {
            let wants: Vec<RequestedColumn> =
                names.iter().map(|name| RequestedColumn::Value((*name).to_owned())).collect();
            DecodeProgram::compile(&schema, &schema, &wants, ArrowMapping::Table)
        }
    };
    let mut decoder = Decoder::new(Arc::new(program.expect("a program")));
    for datums in case.datums.chunks(BATCH) {
        decoder.decode(&case.content, datums).expect("sound records");
        each(decoder.finish().expect("a batch"));
    }
}

fn rivals(case: &Case, each: impl FnMut(RecordBatch)) {
    theirs::decode(&case.json, case.columns.as_deref(), &case.content, &case.datums, each);
}

/// Both give the same values, or no comparison of speeds means anything.
fn agree(case: &Case) {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    ours(case, |batch| one.push(batch));
    rivals(case, |batch| other.push(batch));
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(&other) {
        for (a, b) in one.columns().iter().zip(other.columns()) {
            let same = arrow_cast::cast(b, a.data_type()).expect("a cast between names of nested fields");
            assert!(a.to_data() == same.to_data(), "{}: {:?}", case.name, a.data_type());
        }
    }
}

fn compare(case: &Case, asked: &BenchArguments) {
    agree(case);
    println!("\n{}: {} bytes a record", case.name, case.content.len() / asked.rows);
    let mut copy = vec![0_u8; case.content.len()];
    race(
        asked,
        case.name,
        &mut [
            Contender::new("memcpy", || black_box(&mut copy).copy_from_slice(black_box(&case.content))),
            Contender::new("mortice", || ours(case, |batch| drop(black_box(batch)))),
            Contender::new("arrow-avro", || rivals(case, |batch| drop(black_box(batch)))),
        ],
    );
}

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(300_000, 15);
    asked.run(|| {
        cases(asked.rows).iter().filter(|case| asked.is_asked(case.name)).for_each(|case| compare(case, &asked))
    });
}
