//! A table of one file slice on disk: a base file of wide records (`records.rs`), and log files that update some of
//! them.
//!
//! ```text
//! .hoodie/hoodie.properties, <t>.deltacommit     version 6: event-time ordering by `ts`
//! <file id>_0-1-0_<t0>.parquet                   Snappy, as the parquet crate writes it
//! .<file id>_<t0>.log.<n>_1-0-1                  one Avro block each
//! ```

use std::fs::{File, create_dir_all, write};
use std::path::Path;

use arrow_array::RecordBatch;
use mortice::avro::{ArrowMapping, DecodeProgram, Decoder, Schema};
use mortice::log::writer::{BlockHeader, LogWriter, LogWriterOptions, avro_blocks};
use mortice::storage::open_writable;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::records::{Case, cases, every_key, updates};

const FILE_ID: &str = "afb76c00-f50a-4723-86c1-fb2f3fa843f1-0";
const BASE_INSTANT: &str = "20240101000000000";
const BATCH: usize = 8192;
const ROW_GROUP: usize = 250_000;
const BLOCK_BYTES: usize = 256 << 20;

fn batches(case: &Case) -> Vec<RecordBatch> {
    let schema = Schema::parse(&case.json).unwrap();
    let mut decoder = Decoder::new(DecodeProgram::compile_all(&schema, &schema, ArrowMapping::Table).unwrap().into());
    let batch = |datums| {
        decoder.decode(&case.content, datums).unwrap();
        decoder.finish().unwrap()
    };
    case.datums.chunks(BATCH).map(batch).collect()
}

fn write_base(path: &Path, batches: &[RecordBatch]) {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

fn write_commit(folder: &Path, instant: &str, schema: &str, path: &str) {
    let stat = serde_json::json!({"fileId": FILE_ID, "path": path, "prevCommit": BASE_INSTANT});
    let metadata = serde_json::json!({
        "partitionToWriteStats": {"": [stat]},
        "compacted": false,
        "extraMetadata": {"schema": schema},
        "operationType": "UPSERT",
    });
    let timeline = folder.join(".hoodie");
    write(timeline.join(format!("{instant}.deltacommit")), metadata.to_string()).unwrap();
    for state in ["requested", "inflight"] {
        write(timeline.join(format!("{instant}.deltacommit.{state}")), "").unwrap();
    }
}

const PROPERTIES: &str = "hoodie.table.name=wide
hoodie.table.type=MERGE_ON_READ
hoodie.table.version=6
hoodie.timeline.layout.version=1
hoodie.table.base.file.format=PARQUET
hoodie.table.recordkey.fields=id
hoodie.table.partition.fields=
hoodie.table.precombine.field=ts
hoodie.table.keygenerator.class=org.apache.hudi.keygen.NonpartitionedKeyGenerator
hoodie.compaction.payload.class=org.apache.hudi.common.model.DefaultHoodieRecordPayload
hoodie.populate.meta.fields=true
";

/// Writes the table: `rows` base rows, and log files each of which updates some of them at a later time. Returns the
/// name of the base file.
pub(crate) fn write_table(folder: &Path, rows: usize, logs: usize, updated: usize, later: usize) -> String {
    begin_table(folder);
    let [wide, ..] = cases(rows);
    let base = format!("{FILE_ID}_0-1-0_{BASE_INSTANT}.parquet");
    write_base(&folder.join(&base), &batches(&wide));
    write_commit(folder, BASE_INSTANT, &wide.json, &base);
    let every = updates(logs * updated, rows, later);
    write_logs(folder, &wide.json, batches_of(&every, updated));
    base
}

/// Writes a table without base files: `logs` log files with `records` records in total. The first ones have all `keys`
/// keys; once these are used up, the next log file begins with them again.
pub(crate) fn write_logs_only(folder: &Path, records: usize, logs: usize, keys: usize) {
    begin_table(folder);
    let rounds = (0..records / keys).map(|round| every_key(keys, round * 1_000));
    let rounds: Vec<Case> = rounds.collect();
    let batches = rounds.iter().flat_map(|case| batches_of(case, records / logs)).collect();
    write_logs(folder, &rounds[0].json, batches);
}

fn begin_table(folder: &Path) {
    create_dir_all(folder.join(".hoodie")).unwrap();
    write(folder.join(".hoodie/hoodie.properties"), PROPERTIES).unwrap();
    let partition = format!("commitTime={BASE_INSTANT}\npartitionDepth=0\n");
    write(folder.join(".hoodie_partition_metadata"), partition).unwrap();
}

/// Writes a log file for each batch.
fn write_logs(folder: &Path, json: &str, batches: Vec<RecordBatch>) {
    let schema = Schema::parse(json).unwrap();
    let place = open_writable(folder.to_str().unwrap(), &Default::default()).unwrap();
    for (number, batch) in (1..).zip(batches) {
        let instant = format!("20240101000{number:03}000");
        let header = BlockHeader::new(&instant.parse().unwrap());
        let columns = batch.schema();
        let blocks = avro_blocks(&columns, &mut std::iter::once(Ok(batch)), &schema, &header, BLOCK_BYTES).unwrap();
        let mut writer =
            LogWriter::new(place.clone(), LogWriterOptions::new(FILE_ID, &BASE_INSTANT.parse().unwrap())).unwrap();
        let written = writer.append(&blocks).unwrap();
        writer.finish().unwrap();
        let name = Path::new(&written[0].path).file_name().unwrap().to_str().unwrap().to_owned();
        write_commit(folder, &instant, json, &name);
    }
}

/// Returns the records in batches.
pub(crate) fn batches_of(case: &Case, rows: usize) -> Vec<RecordBatch> {
    let all = batches(case);
    let whole = arrow_select::concat::concat_batches(&all[0].schema(), &all).unwrap();
    (0..whole.num_rows() / rows).map(|at| whole.slice(at * rows, rows)).collect()
}
