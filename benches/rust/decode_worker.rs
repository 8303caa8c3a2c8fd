//! `arrow-avro` as a contender of `benches/versus`, whose `worker.py` documents the protocol: requests and replies as
//! JSON, one per line. It gets the records in memory and their positions; mortice's framing is not compared.
//!
//! Started with `--worker`. Otherwise it decodes a few generated records as it decodes files, and ends: a check that it
//! still can.

#![allow(clippy::expect_used, clippy::indexing_slicing, dead_code)]

mod records;
mod theirs;

use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use arrow_array::RecordBatch;
use mortice::avro::Datum;
use mortice::log::content::avro_data;
use mortice::log::{HeaderKey, LogFile};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// An Avro data block: the schema of its records, their bytes and places.
struct AvroBlock {
    schema: String,
    content: Vec<u8>,
    datums: Vec<Datum>,
}

impl AvroBlock {
    fn decode(&self, each: impl FnMut(RecordBatch)) {
        theirs::decode(&self.schema, None, &self.content, &self.datums, each);
    }
}

/// All Avro data blocks of a log file.
fn blocks(path: &str) -> Outcome<Vec<AvroBlock>> {
    let bytes = fs::read(path)?;
    let mut found = Vec::new();
    for block in LogFile::open(path, &Default::default(), true)?.blocks(false) {
        let block = block?;
        if block.type_name() != "AVRO_DATA_BLOCK" {
            continue;
        }
        let content = bytes[block.content.start as usize..block.content.end as usize].to_vec();
        let schema = block.header.get(HeaderKey::Schema).ok_or("a data block without a schema")?.into_owned();
        let datums = avro_data::records(&content)?.datums;
        found.push(AvroBlock { schema, content, datums });
    }
    Ok(found)
}

fn write(blocks: &[AvroBlock], path: &str) -> Outcome<()> {
    let (mut writer, mut failed) = (None, None);
    for block in blocks {
        block.decode(|batch| {
            let written = match &mut writer {
                Some(writer) => ArrowWriter::write(writer, &batch),
                None => File::create(path)
                    .map_err(Into::into)
                    .and_then(|file| ArrowWriter::try_new(file, batch.schema(), None))
                    .and_then(|new| writer.insert(new).write(&batch)),
            };
            failed = failed.take().or(written.err());
        });
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    writer.ok_or("no records")?.close()?;
    Ok(())
}

fn run(blocks: &[AvroBlock], times: u64) -> Value {
    let (began, mut rows) = (Instant::now(), 0);
    for _ in 0..times {
        rows = 0;
        blocks.iter().for_each(|block| block.decode(|batch| rows += black_box(batch).num_rows()));
    }
    json!({"wall": began.elapsed().as_secs_f64() / times as f64, "rows": rows})
}

fn obey(asked: &Value, loaded: &mut Vec<AvroBlock>) -> Outcome<Value> {
    match asked["do"].as_str() {
        Some("start") => return Ok(json!({"version": "60.1"})),
        Some("prepare") => {
            loaded.clear();
            for path in asked["query"]["logs"].as_array().into_iter().flatten() {
                loaded.extend(blocks(path.as_str().ok_or("a path is text")?)?);
            }
        }
        Some("answer") => write(loaded, asked["path"].as_str().ok_or("a path is text")?)?,
        Some("run") => return Ok(run(loaded, asked["times"].as_u64().unwrap_or(1))),
        _ => return Err("what is that?".into()),
    }
    Ok(json!({}))
}

fn serve() -> Outcome<()> {
    let mut loaded = Vec::new();
    for line in io::stdin().lock().lines() {
        let reply = obey(&serde_json::from_str(&line?)?, &mut loaded);
        let reply = reply.unwrap_or_else(|error| json!({"error": error.to_string()}));
        println!("{reply}");
        io::stdout().flush()?;
    }
    Ok(())
}

fn main() -> Outcome<()> {
    if std::env::args().any(|argument| argument == "--worker") {
        return serve();
    }
    let case = records::cases(100).into_iter().next().ok_or("no case")?;
    let block = AvroBlock { schema: case.json, content: case.content, datums: case.datums };
    assert_eq!(run(&[block], 1)["rows"], 100);
    Ok(())
}
