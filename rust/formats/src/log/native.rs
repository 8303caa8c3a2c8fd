//! Native logs of table version 10: files in the format of base files, each of which is one block
//! (`HoodieNativeLogFileReader`).
//!
//! The header of the block is in the metadata of the file, which is key-value metadata of Parquet and ORC, and the file
//! info of an HFile. It has two forms:
//!
//! | form | key | value |
//! |---|---|---|
//! | of 1.3 (`NativeLogFooterMetadata`) | `hudi.log.format.metadata` | a JSON object: names of header keys to strings |
//! | an entry for each header key | `hudi.log.format.<NAME>` | the value |
//!
//! Names that this release does not know are ignored, as Hudi does. `VERSION` is the version of the format, which is 2
//! and is not kept as a header key.

use std::sync::Arc;

use serde_json::Value;

use super::block::{Block, BlockKind};
use super::content::parquet_data::as_log_error;
use super::header::Header;
use super::layout::{BlockType, HeaderKey};
use crate::base_file::{self, BaseFile};
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, NativeLog};
use mortice_storage::FileSource;

/// The newest version of native logs (`HoodieLogFormat.CURRENT_VERSION`).
pub const NATIVE_LOG_VERSION: i32 = 2;

/// The key of the metadata that has the header of a native log (`NativeLogFooterMetadata.FOOTER_METADATA_KEY`).
pub const NATIVE_LOG_METADATA: &str = "hudi.log.format.metadata";
const ENTRY_PREFIX: &str = "hudi.log.format.";
/// The entry that has the version of the format.
pub(super) const VERSION: &str = "VERSION";

/// Parses the name of a file, if it is that of a native log.
pub(super) fn native_name(path: &str) -> Option<LogFileName> {
    LogFileName::parse(path.rsplit('/').next()?).filter(LogFileName::is_native)
}

/// Returns the only block of a native log; its content is the whole file.
///
/// # Errors
/// `Unsupported`, by name, for another format or a later version; `CorruptLog` for a file that cannot be read as its
/// format, without the header or with one that is not valid.
pub(super) fn native_block(source: &Arc<dyn FileSource>, name: &LogFileName) -> Result<Block> {
    let file = open(source, name)?;
    let header = read_header(file.as_ref(), name)?;
    let kind = match (name.native, name.native_format()) {
        (Some(NativeLog::Deletes), _) => BlockType::Delete,
        (Some(NativeLog::Changes), _) => BlockType::CdcData,
        (_, Some("hfile")) => BlockType::HfileData,
        // Hudi counts data files of all formats as Parquet blocks (`HoodieNativeLogDataBlock.getBlockType`).
        _ => BlockType::ParquetData,
    };
    Ok(Block {
        index: 0,
        offset: 0,
        end: source.len(),
        kind: BlockKind::Sound(kind),
        block_size: None,
        trailing_length: None,
        log_format_version: Some(NATIVE_LOG_VERSION),
        header,
        footer: Header::default(),
        content: 0..source.len(),
        is_native: true,
    })
}

/// Opens a native log as a file of its format.
///
/// # Errors
/// `Unsupported`, by name, for another format; `CorruptLog` for a file that cannot be read as its format.
pub(super) fn open(source: &Arc<dyn FileSource>, name: &LogFileName) -> Result<Box<dyn BaseFile>> {
    name.check_native_format()?;
    base_file::open(Arc::clone(source)).map_err(as_log_error)
}

fn read_header(file: &dyn BaseFile, name: &LogFileName) -> Result<Header> {
    let entries = match file.footer_value(NATIVE_LOG_METADATA) {
        Some(json) => json_entries(&json)?,
        None => single_entries(file),
    };
    if let Some((_, version)) = entries.iter().find(|(name, _)| name == VERSION) {
        check_version(version)?;
    }
    let known = |name: &str| entries.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if known("SCHEMA").is_none() {
        return Err(Error::corrupt(format!(
            "invalid native log: SCHEMA is missing in its metadata {NATIVE_LOG_METADATA}"
        )));
    }
    let mut header = Header::default();
    for key in HeaderKey::ALL {
        let value = match (key, known(key.name())) {
            // As Hudi's reader does (`HoodieNativeLogFileReader.getLogBlockHeader`).
            (HeaderKey::InstantTime, None) => Some(name.instant.as_str()),
            (_, value) => value,
        };
        if let Some(value) = value {
            header.push(key, value.to_owned().into());
        }
    }
    Ok(header)
}

/// Returns the entries of the JSON object. Jackson reads numbers and booleans as strings, too.
fn json_entries(json: &str) -> Result<Vec<(String, String)>> {
    let invalid = || {
        Error::corrupt(format!(
            "invalid native log: its metadata {NATIVE_LOG_METADATA} is not a JSON object of strings"
        ))
    };
    let Value::Object(entries) = serde_json::from_str(json).map_err(|error| invalid().caused_by(error))? else {
        return Err(invalid());
    };
    let mut found = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        match value {
            Value::String(text) => found.push((name, text)),
            Value::Null => {}
            Value::Number(_) | Value::Bool(_) => found.push((name, value.to_string())),
            Value::Array(_) | Value::Object(_) => return Err(invalid()),
        }
    }
    Ok(found)
}

fn single_entries(file: &dyn BaseFile) -> Vec<(String, String)> {
    let names = HeaderKey::ALL.into_iter().map(HeaderKey::name).chain([VERSION]);
    names.filter_map(|name| Some((name.to_owned(), file.footer_value(&format!("{ENTRY_PREFIX}{name}"))?))).collect()
}

fn check_version(text: &str) -> Result<()> {
    match text.trim().parse::<i32>() {
        Ok(version) if version <= NATIVE_LOG_VERSION => Ok(()),
        Ok(version) => Err(Error::unsupported(format!(
            "unsupported version {version} of native logs (supported: up to {NATIVE_LOG_VERSION}); use a newer release of mortice"
        ))),
        Err(_) => Err(Error::corrupt(format!("invalid native log: VERSION must be a number, got {text:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::filter::KeyFilter;
    use crate::log::content::parquet_data::may_have_keys;
    use crate::log::{ForwardScan, LogFile, backward};
    use mortice_base::batch_limit::BatchLimit;
    use mortice_base::error::ErrorKind;
    use mortice_storage::MemoryFile;

    const NAME: &str = "136281f3-0_1-0-1_20250409161256974_2";
    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[
        {"name":"_hoodie_record_key","type":["null","string"],"default":null},
        {"name":"ts","type":["null","long"],"default":null}]}"#;

    fn file(suffix: &str, metadata: &[(&str, &str)]) -> Arc<dyn FileSource> {
        let keys = StringArray::from(vec!["a", "b", "c"]);
        let times = Int64Array::from(vec![Some(7), None, Some(0)]);
        let columns: [(&str, ArrayRef); 2] = [("_hoodie_record_key", Arc::new(keys)), ("ts", Arc::new(times))];
        let rows = RecordBatch::try_from_iter(columns).unwrap();
        let entries = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), Some((*value).to_owned())));
        let properties = WriterProperties::builder().set_key_value_metadata(Some(entries.collect())).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
        writer.write(&rows).unwrap();
        Arc::new(MemoryFile::new(format!("/t/p/{NAME}.{suffix}"), writer.into_inner().unwrap()))
    }

    fn json(entries: &[(&str, &str)]) -> String {
        let entries = entries.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
        Value::Object(entries.collect()).to_string()
    }

    fn block(file: &Arc<dyn FileSource>) -> Result<Block> {
        let mut blocks = ForwardScan::new(Arc::clone(file));
        let block = blocks.next().unwrap();
        assert!(blocks.next().is_none(), "one file is one block");
        block
    }

    #[test]
    fn both_forms_of_the_metadata_are_read() {
        let json = json(&[
            ("VERSION", "2"),
            ("INSTANT_TIME", "20250409161256974"),
            ("SCHEMA", SCHEMA),
            ("IS_PARTIAL", "true"),
            ("A_NEW_NAME", "ignored"),
        ]);
        let entries = [
            ("hudi.log.format.VERSION", "2"),
            ("hudi.log.format.INSTANT_TIME", "20250409161256974"),
            ("hudi.log.format.SCHEMA", SCHEMA),
            ("hudi.log.format.IS_PARTIAL", "true"),
            ("hudi.log.format.A_NEW_NAME", "ignored"),
        ];
        for metadata in [&[(NATIVE_LOG_METADATA, json.as_str())][..], &entries] {
            let file = file("log.parquet", metadata);
            let block = block(&file).unwrap();
            assert!(block.is_native && block.is_partial() && block.refusal().is_none());
            assert_eq!(
                (block.kind.clone(), block.log_format_version),
                (BlockKind::Sound(BlockType::ParquetData), Some(2))
            );
            assert_eq!((block.content.clone(), block.header.keys().count()), (0..file.len(), 3));
            let log = LogFile::new(Arc::clone(&file));
            assert_eq!((log.record_count(&block).unwrap(), log.content_head(&block).unwrap()), (Some(3), None));
            let (_, batches) = log.record_batches(&block, BatchLimit::with_rows(2)).unwrap();
            let keys: Vec<String> = batches
                .flat_map(|batch| {
                    batch.unwrap().column(0).as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>()
                })
                .collect();
            assert_eq!(keys, ["a", "b", "c"]);
            assert_eq!(backward(file).map(|block| block.unwrap()).collect::<Vec<_>>(), [block]);
        }
    }

    #[test]
    fn statistics_exclude_keys() {
        let file = file("log.parquet", &[(NATIVE_LOG_METADATA, &json(&[("SCHEMA", SCHEMA)]))]);
        let content = block(&file).unwrap().content;
        let may_have = |wanted: &KeyFilter| may_have_keys(&file, &content, "_hoodie_record_key", wanted).unwrap();
        assert!(
            may_have(&KeyFilter::All) && may_have(&KeyFilter::keys(["a"])) && may_have(&KeyFilter::keys(["bb", "z"]))
        );
        assert!(!may_have(&KeyFilter::keys(["A", "d"])) && !may_have(&KeyFilter::Keys(Vec::new())));
    }

    #[test]
    fn deleted_keys_have_the_types_of_the_table() {
        // The instant is that of the name, as in Hudi.
        let metadata = json(&[("SCHEMA", SCHEMA), ("RECORD_POSITIONS", "AAAAAwUDrAI=")]);
        let file = file("deletes.parquet", &[(NATIVE_LOG_METADATA, &metadata)]);
        let block = block(&file).unwrap();
        assert_eq!(block.kind, BlockKind::Sound(BlockType::Delete));
        assert_eq!(block.header.instant_time().unwrap(), "20250409161256974");
        let log = LogFile::new(file);
        let deletes = log.deletes(&block).unwrap();
        let column = |at: usize| {
            deletes.column(at).as_string::<i32>().iter().map(|one| one.map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(column(0), ["a", "b", "c"].map(|key| Some(key.to_owned())));
        assert_eq!(deletes.column(1).null_count(), 3, "it has no partition path");
        assert_eq!(column(2), [Some("7".to_owned()), None, Some("0".to_owned())]);
        assert_eq!(column(3), [Some("long".to_owned()), None, Some("long".to_owned())]);
        assert_eq!(log.positions(&block).unwrap().unwrap(), [5, 3, 300]);
    }

    #[test]
    fn foreign_metadata_is_an_error() {
        let schema = ("SCHEMA", SCHEMA);
        for (suffix, metadata, kind, word) in [
            ("log.parquet", json(&[schema, ("VERSION", "3")]), ErrorKind::Unsupported, "version 3"),
            ("log.parquet", json(&[schema, ("VERSION", "two")]), ErrorKind::CorruptLog, "got \"two\""),
            ("log.parquet", json(&[("VERSION", "2")]), ErrorKind::CorruptLog, "SCHEMA is missing"),
            ("deletes.parquet", json(&[]), ErrorKind::CorruptLog, "SCHEMA is missing"),
            ("cdc.parquet", "[]".to_owned(), ErrorKind::CorruptLog, "JSON object"),
            ("log.parquet", "{\"SCHEMA\":".to_owned(), ErrorKind::CorruptLog, "JSON object"),
            ("log.parquet", "{\"SCHEMA\":{}}".to_owned(), ErrorKind::CorruptLog, "JSON object"),
            ("log.lance", json(&[schema]), ErrorKind::Unsupported, "format lance"),
            ("log.hfile", json(&[schema]), ErrorKind::CorruptLog, ""),
        ] {
            let error = block(&file(suffix, &[(NATIVE_LOG_METADATA, &metadata)])).unwrap_err();
            assert!(error.kind() == kind && error.to_string().contains(word), "{suffix} {metadata}: {error}");
            assert!(error.location().path.as_deref().is_some_and(|path| path.ends_with(suffix)));
        }
        assert!(block(&file("log.parquet", &[])).unwrap_err().to_string().contains("SCHEMA is missing"));
        let command = json(&[schema, ("COMMAND_BLOCK_TYPE", "0")]);
        assert!(block(&file("log.parquet", &[(NATIVE_LOG_METADATA, &command)])).unwrap().refusal().is_some());
        // A wrong number of positions.
        let metadata = json(&[schema, ("RECORD_POSITIONS", "AAAAAgUD")]);
        let file = file("log.parquet", &[(NATIVE_LOG_METADATA, &metadata)]);
        let error = LogFile::new(Arc::clone(&file)).positions(&block(&file).unwrap()).unwrap_err();
        assert!(error.to_string().contains("expected 3, found 2"), "{error}");
    }

    #[test]
    fn a_cut_file_is_an_error() {
        let metadata = json(&[("SCHEMA", SCHEMA)]);
        let whole = file("log.parquet", &[(NATIVE_LOG_METADATA, &metadata)]);
        let bytes = whole.read_all().unwrap();
        for len in [0, 4, bytes.len() / 2, bytes.len() - 1] {
            let cut: Arc<dyn FileSource> = Arc::new(MemoryFile::new(whole.path().to_owned(), bytes.slice(..len)));
            assert_eq!(block(&cut).unwrap_err().kind(), ErrorKind::CorruptLog, "{len}");
        }
    }
}
