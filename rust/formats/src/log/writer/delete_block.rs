//! A delete block of version 3 (`HoodieDeleteBlock`): log block version, byte length, and one Avro datum, the list of
//! (record key, partition path, ordering value). [`crate::log::content::delete`] has the indices of the union.
//!
//! | ordering columns | value of a row | value of a null |
//! |---|---|---|
//! | none | Int 0, which Hudi reads as a delete by commit time | |
//! | one | its wrapper | Int 0 |
//! | several | an array of their wrappers (Hudi 1.1 and later) | Int 0 in the array, as in Hudi's data records; Int 0 if all are null |
//!
//! Null is never written: Hudi writes it for such a delete, and its reader fails on it if the key has another log
//! record.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, SchemaRef};

use super::block_bytes::{BlockBuilder, BlockBytes};
use super::block_header::{BlockHeader, write_len};
use super::ordering_columns::OrderingColumn;
use crate::log::layout::BlockType;
use mortice_avro::{write_bytes, write_long};
use mortice_base::error::{Error, Result};

const LOG_BLOCK_VERSION: i32 = 3;
const INT_ZERO: [u8; 2] = [2 << 1, 0];
/// Index of the array wrapper, and of the array in its own union with null.
const ARRAY: [u8; 2] = [12 << 1, 1 << 1];

/// The columns of deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteColumns {
    /// The column of record keys.
    pub record_key: String,
    /// The partition path of each key.
    pub partition_path: PartitionPath,
    /// The ordering columns, in the table's order; empty for deletes by commit time.
    pub ordering: Vec<String>,
}

/// The source of partition paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionPath {
    /// A column.
    Column(String),
    /// The same path for all keys; empty for a table without partitions.
    Constant(String),
}

/// Returns a block that deletes the key of each row, in the order of the batches.
///
/// # Errors
/// `InvalidArgument`, with the column (and the row): a missing column, a key or path that is null or not a string, an
/// ordering value without a wrapper in Hudi.
pub fn delete_block(
    schema: &SchemaRef,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    columns: &DeleteColumns,
    header: &BlockHeader,
) -> Result<BlockBytes> {
    let mut block = BlockBuilder::new(BlockType::Delete, header)?;
    let mut count = 0_usize;
    let mut entries = Vec::new();
    // A batch without rows has columns, too: they are validated although nothing is deleted.
    for batch in std::iter::once(Ok(RecordBatch::new_empty(Arc::clone(schema)))).chain(batches) {
        let keys = Keys::from_batch(&batch?, columns, count)?;
        for row in 0..keys.record_keys.len() {
            keys.write(row, &mut entries);
        }
        count += keys.record_keys.len();
    }
    header.check_positions(count)?;
    let content = block.content();
    content.extend(LOG_BLOCK_VERSION.to_be_bytes());
    let list = array_head(count);
    write_len(
        content,
        list.len().saturating_add(entries.len()).saturating_add(usize::from(count > 0)),
        "bytes of deleted keys",
    )?;
    content.extend(list);
    content.append(&mut entries);
    if count > 0 {
        content.push(0);
    }
    block.finish(Some(count as u64))
}

/// Returns the count of an Avro array's only block; for an empty array it is its end.
fn array_head(count: usize) -> Vec<u8> {
    let mut head = Vec::new();
    write_long(count as i64, &mut head);
    head
}

/// The columns of one batch.
struct Keys {
    record_keys: StringArray,
    partitions: Partitions,
    ordering: Vec<OrderingColumn>,
}

enum Partitions {
    Column(StringArray),
    Constant(String),
}

impl Keys {
    /// `before` is the number of rows in earlier batches: rows in messages count from the first batch.
    fn from_batch(batch: &RecordBatch, columns: &DeleteColumns, before: usize) -> Result<Self> {
        let partitions = match &columns.partition_path {
            PartitionPath::Column(name) => Partitions::Column(strings(batch, name, before)?),
            PartitionPath::Constant(path) => Partitions::Constant(path.clone()),
        };
        let ordering = columns.ordering.iter().map(|name| OrderingColumn::from_column(name, column(batch, name)?));
        Ok(Self {
            record_keys: strings(batch, &columns.record_key, before)?,
            partitions,
            ordering: ordering.collect::<Result<_>>()?,
        })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        write_text(out, self.record_keys.value(row));
        match &self.partitions {
            Partitions::Column(paths) => write_text(out, paths.value(row)),
            Partitions::Constant(path) => write_text(out, path),
        }
        match self.ordering.as_slice() {
            columns if columns.iter().all(|column| column.is_null(row)) => out.extend(INT_ZERO),
            [only] => only.write(row, out),
            several => {
                out.extend(ARRAY);
                write_long(several.len() as i64, out);
                for one in several {
                    if one.is_null(row) { out.extend(INT_ZERO) } else { one.write(row, out) }
                }
                out.push(0);
            }
        }
    }
}

/// Appends a string in a union with null.
fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(1 << 1);
    write_bytes(text.as_bytes(), out);
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| {
        let schema = batch.schema();
        let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        Error::invalid_argument(format!("the deletes have no column {name:?}; they have: {}", known.join(", ")))
    })
}

/// Returns a string column without nulls.
fn strings(batch: &RecordBatch, name: &str, before: usize) -> Result<StringArray> {
    let column = column(batch, name)?;
    let is_text = |ty: &DataType| matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let fits = match column.data_type() {
        DataType::Dictionary(_, values) => is_text(values),
        other => is_text(other),
    };
    if !fits {
        let message = format!(
            "column {name:?} must be a string column, got {}: keys and partition paths of deletes are strings",
            column.data_type()
        );
        return Err(Error::invalid_argument(message));
    }
    let strings = cast(column, &DataType::Utf8)
        .map_err(|error| Error::invalid_argument(format!("column {name:?} cannot be read")).caused_by(error))?;
    if let Some(row) = (0..strings.len()).find(|row| strings.is_null(*row)) {
        return Err(Error::invalid_argument(format!(
            "column {name:?}, row {}: keys and partition paths of deletes must not be null",
            before + row
        )));
    }
    Ok(strings.as_string::<i32>().clone())
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{
        BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array, Decimal256Array, DictionaryArray,
        Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, StringViewArray,
        Time32SecondArray, Time64NanosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
        TimestampSecondArray, UInt64Array,
    };
    use arrow_buffer::i256;

    use super::*;
    use crate::log::content::delete::deletes;
    use crate::log::content::deleted::{DeletedKey, StoredOrdering};
    use mortice_base::ErrorKind;

    fn deleted(content: &[u8]) -> Result<Vec<DeletedKey>> {
        Ok(deletes(&bytes::Bytes::copy_from_slice(content))?.deleted)
    }

    fn compose(columns: Vec<(&str, ArrayRef)>, ordering: &[&str]) -> Result<BlockBytes> {
        let rows = columns.first().map_or(0, |(_, array)| array.len());
        let keys = StringArray::from_iter_values((0..rows).map(|row| format!("{}", (b'a' + row as u8) as char)));
        let columns = [("record_key", Arc::new(keys) as ArrayRef)].into_iter().chain(columns);
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let names = DeleteColumns {
            record_key: "record_key".into(),
            partition_path: PartitionPath::Constant("p".into()),
            ordering: ordering.iter().map(|name| (*name).to_owned()).collect(),
        };
        let header = BlockHeader::new(&"20240101000000001".into());
        delete_block(&batch.schema(), &mut std::iter::once(Ok(batch.clone())), &names, &header)
    }

    fn content(block: &BlockBytes) -> &[u8] {
        // Magic, sizes, header of one instant; footer and trailing length.
        &block.bytes()[6 + 8 + 8 + 4 + 8 + 17 + 8..block.bytes().len() - 12]
    }

    fn ordering(column: ArrayRef) -> Result<Vec<StoredOrdering>> {
        let block = compose(vec![("o", column)], &["o"])?;
        let found = deleted(content(&block)).unwrap();
        assert_eq!(block.records(), Some(found.len() as u64));
        Ok(found.into_iter().map(|one| one.ordering).collect())
    }

    /// What Hudi 1.2.0 writes for the same keys, one ordering class each; but for null, which is an Int 0 here.
    #[test]
    fn deletes_are_byte_for_byte_hudis() {
        let one = |column: ArrayRef| content(&compose(vec![("o", column)], &["o"]).unwrap()).to_vec();
        assert_eq!(one(Arc::new(Int32Array::from(vec![0])))[8..], [2, 2, 2, 0x61, 2, 2, 0x70, 4, 0, 0]);
        assert_eq!(one(Arc::new(Int64Array::from(vec![7])))[8..], [2, 2, 2, 0x61, 2, 2, 0x70, 6, 0x0e, 0]);
        assert_eq!(one(Arc::new(StringArray::from(vec!["s"])))[8..], [2, 2, 2, 0x61, 2, 2, 0x70, 0x0e, 2, 0x73, 0]);
        // Hudi writes null, which it cannot merge.
        let nulls = one(Arc::new(Int64Array::from(vec![None, Some(7)])));
        let expected = [0, 0, 0, 3, 0, 0, 0, 18, 4, 2, 2, 0x61, 2, 2, 0x70, 4, 0, 2, 2, 0x62, 2, 2, 0x70, 6, 0x0e, 0];
        assert_eq!(nulls, expected);
        let columns = vec![
            ("x", Arc::new(Int32Array::from(vec![1])) as ArrayRef),
            ("y", Arc::new(StringArray::from(vec!["x"])) as ArrayRef),
        ];
        let several = compose(columns, &["x", "y"]).unwrap();
        let expected = [2, 2, 2, 0x61, 2, 2, 0x70, 0x18, 2, 4, 4, 2, 0x0e, 2, 0x78, 0, 0];
        assert_eq!(content(&several)[8..], expected);
        let columns = ["x", "y"].map(|name| (name, Arc::new(Int32Array::from(vec![None::<i32>])) as ArrayRef));
        let nulls = compose(columns.to_vec(), &["x", "y"]).unwrap();
        assert_eq!(content(&nulls)[8..], [2, 2, 2, 0x61, 2, 2, 0x70, 4, 0, 0]);
    }

    /// The initial file of a metadata table, as Hudi 1.2.0 writes it.
    #[test]
    fn an_empty_block_has_80_bytes() {
        let none = Arc::new(StringArray::from(Vec::<&str>::new())) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("record_key", none)]).unwrap();
        let names = DeleteColumns {
            record_key: "record_key".into(),
            partition_path: PartitionPath::Constant(String::new()),
            ordering: Vec::new(),
        };
        let header = BlockHeader::new(&"00000000000000000".into());
        let block = delete_block(&batch.schema(), &mut std::iter::empty(), &names, &header).unwrap();
        let mut expected = b"#HUDI#\0\0\0\0\0\0\0\x42\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x11".to_vec();
        expected.extend(b"00000000000000000\0\0\0\0\0\0\0\x09\0\0\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\x48");
        assert_eq!(block.bytes().len(), 80);
        assert_eq!(block.bytes(), expected);
    }

    #[test]
    fn without_ordering_columns_deletes_go_by_commit_time() {
        let block = compose(vec![("o", Arc::new(Int64Array::from(vec![1, 2])))], &[]).unwrap();
        let found: Vec<_> = deleted(content(&block)).unwrap().into_iter().map(|one| one.ordering).collect();
        assert_eq!(found, [StoredOrdering::Int(0), StoredOrdering::Int(0)]);
    }

    #[test]
    fn every_type_has_the_wrapper_that_hudi_would_take() {
        let dictionary: DictionaryArray<Int32Type> = vec!["s"].into_iter().collect();
        let cases: [(ArrayRef, StoredOrdering); 21] = [
            (Arc::new(BooleanArray::from(vec![true])), StoredOrdering::Boolean(true)),
            (Arc::new(Int8Array::from(vec![-7])), StoredOrdering::Int(-7)),
            (Arc::new(Time32SecondArray::from(vec![7])), StoredOrdering::Int(7000)),
            (Arc::new(Int64Array::from(vec![i64::MIN])), StoredOrdering::Long(i64::MIN)),
            (Arc::new(UInt64Array::from(vec![7])), StoredOrdering::Long(7)),
            (Arc::new(Time64NanosecondArray::from(vec![7000])), StoredOrdering::Long(7)),
            (Arc::new(Float32Array::from(vec![-0.5])), StoredOrdering::Float(-0.5)),
            (Arc::new(Float64Array::from(vec![f64::INFINITY])), StoredOrdering::Double(f64::INFINITY)),
            (Arc::new(BinaryArray::from(vec![&b"\xff"[..]])), StoredOrdering::Bytes(17..18)),
            (Arc::new(LargeStringArray::from(vec!["s"])), StoredOrdering::Text(17..18)),
            (Arc::new(StringViewArray::from(vec!["s"])), StoredOrdering::Text(17..18)),
            (Arc::new(dictionary), StoredOrdering::Text(17..18)),
            (Arc::new(Date32Array::from(vec![-1])), StoredOrdering::Int(-1)),
            (Arc::new(Date64Array::from(vec![-86_400_000])), StoredOrdering::Int(-1)),
            (decimal(1234, 10, 2), StoredOrdering::Decimal { unscaled: 12_340_000_000_000_000, scale: 15 }),
            (decimal(-5, 38, 15), StoredOrdering::Decimal { unscaled: -5, scale: 15 }),
            (decimal(-2000, 38, 18), StoredOrdering::Decimal { unscaled: -2, scale: 15 }),
            (
                wide("-10000000000000000000000000000000000000000", 40),
                StoredOrdering::Decimal { unscaled: -1_000_000_000_000_000, scale: 15 },
            ),
            (Arc::new(TimestampMicrosecondArray::from(vec![-7])), StoredOrdering::Long(-7)),
            (Arc::new(TimestampSecondArray::from(vec![7]).with_timezone("UTC")), StoredOrdering::Long(7_000_000)),
            (Arc::new(TimestampNanosecondArray::from(vec![7000])), StoredOrdering::Long(7)),
        ];
        for (column, expected) in cases {
            let name = column.data_type().to_string();
            assert_eq!(ordering(column).unwrap(), [expected], "{name}");
        }
    }

    fn decimal(unscaled: i128, precision: u8, scale: i8) -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![unscaled]).with_precision_and_scale(precision, scale).unwrap())
    }

    fn wide(unscaled: &str, scale: i8) -> ArrayRef {
        let unscaled = i256::from_string(unscaled).unwrap();
        Arc::new(Decimal256Array::from(vec![unscaled]).with_precision_and_scale(76, scale).unwrap())
    }

    #[test]
    fn decimals_are_of_the_fewest_bytes() {
        for (unscaled, bytes) in
            [(0_i128, &[0_u8][..]), (127, &[127]), (128, &[0, 128]), (-1, &[255]), (-128, &[128]), (-129, &[255, 127])]
        {
            let block = compose(vec![("o", decimal(unscaled, 30, 15))], &["o"]).unwrap();
            let expected = [&[18, u8::try_from(2 * bytes.len()).unwrap()][..], bytes, &[0]].concat();
            assert_eq!(content(&block)[15..], expected);
        }
    }

    #[test]
    fn what_would_change_or_has_no_wrapper_is_refused_by_name() {
        let thirty_one_digits = decimal(10_i128.pow(30), 38, 15);
        let list = arrow_array::ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
        for (column, word) in [
            (thirty_one_digits, "row 0: 1000000000000000.000000000000000 does not fit decimal(30,15)"),
            (decimal(1, 38, 16), "0.0000000000000001 does not fit"),
            (Arc::new(TimestampNanosecondArray::from(vec![1])) as ArrayRef, "not a whole number of microseconds"),
            (Arc::new(TimestampSecondArray::from(vec![i64::MAX])), "fits in 64 bits"),
            (Arc::new(Date64Array::from(vec![1])), "not a whole number of days"),
            (Arc::new(UInt64Array::from(vec![u64::MAX])), "18446744073709551615"),
            (Arc::new(list), "no ordering values of type List"),
        ] {
            let error = ordering(column).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains("ordering column \"o\""), "{error}");
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn keys_are_texts_and_there() {
        let names = |record_key: &str, partition: &str| DeleteColumns {
            record_key: record_key.into(),
            partition_path: PartitionPath::Column(partition.into()),
            ordering: Vec::new(),
        };
        let batch = RecordBatch::try_from_iter([
            ("k", Arc::new(StringArray::from(vec![Some("a"), None])) as ArrayRef),
            ("p", Arc::new(StringArray::from(vec!["p", "q"]))),
            ("n", Arc::new(Int32Array::from(vec![1, 2]))),
        ])
        .unwrap();
        let header = BlockHeader::new(&"1".into());
        for (columns, word) in [
            (names("k", "p"), "column \"k\", row 1: keys"),
            (names("n", "p"), "column \"n\" must be a string column, got Int32"),
            (names("p", "x"), "no column \"x\"; they have: k, p, n"),
        ] {
            let batches = &mut std::iter::once(Ok(batch.clone()));
            let error = delete_block(&batch.schema(), batches, &columns, &header).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(word), "{error}");
        }
        let whole = delete_block(&batch.schema(), &mut std::iter::once(Ok(batch.clone())), &names("p", "p"), &header);
        assert_eq!(whole.unwrap().records(), Some(2));
    }
}
