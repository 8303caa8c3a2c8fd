//! Files of every codec in which one bit is another: a read returns the rows that were written, or an error that names
//! the file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::{check_pages, open};
use crate::avro_parquet::{Dictionaries, ListStructure, ParquetCodec, ParquetColumns, ParquetWriter};
use mortice_avro::Schema;
use mortice_base::error::{ErrorKind, Result};
use mortice_storage::{FileSource, MemoryFile};

const SCHEMA: &str = r#"{"type":"record","name":"t","fields":[{"name":"key","type":"string"},
    {"name":"few","type":["null","string"]},{"name":"n","type":["null","int"]},{"name":"x","type":"double"},
    {"name":"flag","type":["null","boolean"]},{"name":"list","type":{"type":"array","items":["null","long"]}}]}"#;
const CODECS: [&str; 6] = ["uncompressed", "snappy", "gzip", "zstd", "lz4", "lz4_raw"];
const ROWS: usize = 120;
const NAME: &str = "f-0_0-1-2_20240101000000000.parquet";

fn rows() -> RecordBatch {
    let keys = StringArray::from_iter_values((0..ROWS).map(|row| format!("key {row:04} {}", row * 7919 % 1009)));
    let few = StringArray::from_iter((0..ROWS).map(|row| (row % 3 > 0).then(|| ["a", "longer"][row % 2])));
    let n = Int32Array::from_iter((0..ROWS).map(|row| (row % 5 > 0).then_some(row as i32 * 31)));
    let x = Float64Array::from_iter_values((0..ROWS).map(|row| (row as f64).sqrt()));
    let flags = BooleanArray::from_iter((0..ROWS).map(|row| (row % 7 > 0).then_some(row % 2 == 0)));
    let mut lists = ListBuilder::new(Int64Builder::new());
    for row in 0..ROWS {
        lists.append_value((0..row % 4).map(|at| (at != 2).then_some(at as i64)));
    }
    let columns: [(&str, ArrayRef); 6] = [
        ("key", Arc::new(keys)),
        ("few", Arc::new(few)),
        ("n", Arc::new(n)),
        ("x", Arc::new(x)),
        ("flag", Arc::new(flags)),
        ("list", Arc::new(lists.finish())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A file of two row groups, with several pages and a dictionary in the first.
fn written(codec: &str) -> (Bytes, RecordBatch) {
    let mut columns = ParquetColumns::new(&Schema::parse(SCHEMA).unwrap(), ListStructure::ThreeLevels).unwrap();
    let stored = columns.convert(&rows()).unwrap();
    let properties = WriterProperties::builder().set_data_page_row_count_limit(50).set_write_batch_size(10);
    let codec = (ParquetCodec::parse(codec).unwrap(), Dictionaries::All);
    let mut writer = ParquetWriter::new(Vec::new(), &columns, properties, codec, usize::MAX).unwrap();
    writer.write(&stored.slice(0, 100)).unwrap();
    writer.end_row_group().unwrap();
    writer.write(&stored.slice(100, ROWS - 100)).unwrap();
    writer.finish().unwrap();
    (std::mem::take(writer.output().unwrap()).into(), stored)
}

fn source(bytes: &[u8]) -> Arc<dyn FileSource> {
    Arc::new(MemoryFile::new(NAME, bytes.to_vec()))
}

fn read(bytes: &[u8], wanted: &SchemaRef, kept: Option<&[Range<u64>]>) -> Result<RecordBatch> {
    let mut file = open(source(bytes))?;
    if let Some(kept) = kept {
        file.keep_rows(kept.to_vec())?;
    }
    let batches =
        file.batches(wanted, mortice_base::batch_limit::BatchLimit::with_rows(33))?.collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(wanted, &batches).unwrap())
}

/// A read of a file.
struct Read {
    wanted: SchemaRef,
    /// All rows, or those of these ranges.
    kept: Option<Vec<Range<u64>>>,
    /// What it returns if the file is sound.
    expected: RecordBatch,
}

/// Reads of a file.
struct Reads(Vec<Read>);

impl Reads {
    fn new(stored: &RecordBatch) -> Self {
        let schema = stored.schema();
        let mut reads = Vec::new();
        // Alone, no other column shows that rows are missing.
        for columns in [vec![0], vec![1, 2], vec![3], vec![4], vec![5], (0..schema.fields().len()).collect()] {
            let wanted =
                Arc::new(ArrowSchema::new(columns.iter().map(|at| schema.field(*at).clone()).collect::<Vec<_>>()));
            let projected = stored.project(&columns).unwrap();
            let kept: Vec<Range<u64>> = vec![7..9, 60..63, 110..111];
            let parts: Vec<RecordBatch> = kept
                .iter()
                .map(|rows| projected.slice(rows.start as usize, (rows.end - rows.start) as usize))
                .collect();
            let selected = concat_batches(&projected.schema(), &parts).unwrap();
            reads.push(Read { wanted: Arc::clone(&wanted), kept: None, expected: projected });
            reads.push(Read { wanted, kept: Some(kept), expected: selected });
        }
        Self(reads)
    }

    /// How many reads are errors.
    fn check(&self, bytes: &[u8], what: &str) -> usize {
        let mut errors = 0;
        for Read { wanted, kept, expected } in &self.0 {
            match read(bytes, wanted, kept.as_deref()) {
                Ok(found) => assert_eq!(found.columns(), expected.columns(), "{what}: other rows of {wanted}"),
                Err(error) => {
                    errors += 1;
                    assert_eq!(error.kind(), ErrorKind::InvalidTable, "{what}: {error}");
                    assert_eq!(error.location().path.as_deref(), Some(NAME), "{what}: {error}");
                }
            }
        }
        errors
    }
}

fn flipped(file: &[u8], at: usize, bit: usize) -> Vec<u8> {
    let mut bytes = file.to_vec();
    bytes[at] ^= 1 << bit;
    bytes
}

/// The bytes of the file by what they are; those of page headers and contents in column chunks.
fn parts(file: &[u8]) -> BTreeMap<&'static str, Vec<usize>> {
    let footer_len = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
    let footer = file.len() - 8 - footer_len;
    let mut parts: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
    parts.insert("footer", (footer..file.len()).collect());
    let bytes = super::source_bytes::SourceBytes::new(source(file));
    let metadata = super::footer::read_footer(&bytes).unwrap();
    for chunk in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let chunk = super::source_bytes::chunk_range(chunk);
        for (header, content) in super::page_checksums::pages_of(&file[chunk.start as usize..chunk.end as usize]) {
            let within = |part: Range<usize>| part.map(|at| at + chunk.start as usize);
            parts.entry("header").or_default().extend(within(header));
            parts.entry("content").or_default().extend(within(content));
        }
    }
    parts
}

#[test]
fn no_flipped_bit_of_a_page_is_read_as_other_rows() {
    for codec in CODECS {
        let (file, stored) = written(codec);
        let reads = Reads::new(&stored);
        assert_eq!(reads.check(&file, "sound"), 0);
        check_pages(&source(&file)).unwrap();
        for (nth, at) in parts(&file)["content"].iter().enumerate().filter(|(nth, _)| nth % 53 == 0) {
            let bytes = flipped(&file, *at, nth % 8);
            let what = format!("{codec}, byte {at}");
            assert!(reads.check(&bytes, &what) > 0, "{what}: not noticed");
            let error = check_pages(&source(&bytes)).unwrap_err();
            assert!(error.to_string().contains("checksum") && error.location().offset.is_some(), "{error}");
        }
    }
}

#[test]
fn no_flipped_bit_of_a_page_header_is_read_as_other_rows() {
    for (codec, step) in [("zstd", 29), ("gzip", 83), ("uncompressed", 61)] {
        let (file, stored) = written(codec);
        let reads = Reads::new(&stored);
        let places = parts(&file);
        let bits = places["header"].iter().flat_map(|at| (0..8).map(move |bit| (*at, bit)));
        for (at, bit) in bits.step_by(step) {
            reads.check(&flipped(&file, at, bit), &format!("{codec}, bit {bit} of byte {at}"));
        }
    }
}

#[test]
fn a_flipped_bit_of_the_footer_is_noticed() {
    let (file, stored) = written("zstd");
    let reads = Reads::new(&stored);
    let places = parts(&file);
    let name = file.windows(20).rposition(|bytes| bytes == b"mortice.footer.crc32").unwrap();
    let mut unnoticed = 0;
    for (nth, at) in places["footer"].iter().enumerate() {
        let bytes = flipped(&file, *at, nth % 8);
        if reads.check(&bytes, &format!("byte {at}")) == 0 {
            unnoticed += 1;
            assert!((name - 1..name + 24).contains(at), "byte {at} is not noticed");
        }
    }
    assert!(unnoticed <= 24, "{unnoticed}");
}

#[test]
fn an_error_says_which_page_is_damaged() {
    let (file, stored) = written("snappy");
    let places = parts(&file);
    let at = places["content"][200];
    let error = read(&flipped(&file, at, 3), &stored.schema(), None).unwrap_err();
    assert!(error.to_string().contains("column key of row group 0: the checksum of a page is"), "{error}");
    let offset = error.location().offset.unwrap() as usize;
    assert!(offset < at && places["header"].contains(&offset), "{error}");
}

#[test]
fn files_without_checksums_are_read() {
    let rows = rows();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    let file = writer.into_inner().unwrap();
    assert_eq!(read(&file, &rows.schema(), None).unwrap().columns(), rows.columns());
    check_pages(&source(&file)).unwrap();
}
