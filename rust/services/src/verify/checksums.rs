//! Whether the checksums in data files and in files of the metadata table are those of their bytes, and statistics
//! those of their values: a changed byte need not be noticed when the file is decoded.

use std::sync::Arc;

use super::findings::{Finding, FindingKind};
use super::stored_files::{StoredFiles, joined};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::LogFileName;
use mortice_formats::base_file::{check_bounds, check_pages};
use mortice_formats::hfile::check_blocks;
use mortice_formats::log::LogFile;
use mortice_storage::{FileSource, SectionSource, Storage, parallel};

/// Compares the checksums of all stored files: pages of parquet files, blocks of HFiles, also of those in logs. The
/// statistics of parquet files whose footer has no checksum are compared with their values.
pub(super) fn wrong_checksums(storage: &dyn Storage, stored: &[&StoredFiles]) -> Result<Vec<Finding>> {
    let files = stored.iter().flat_map(|stored| stored.data_files());
    let paths: Vec<String> = files.map(|(partition, name, ..)| joined(partition, name)).collect();
    let found = parallel::map(&paths, storage.requests_at_once(), |path| {
        let checked = storage.open(path).and_then(|file| check(path, &file));
        match checked {
            Ok(()) => Ok(None),
            Err(error) if is_damage(error.kind()) => Ok(Some(finding(path, &error))),
            // What is missing or cannot be read is found elsewhere.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => Ok(None),
            Err(error) => Err(error),
        }
    })?;
    Ok(found.into_iter().flatten().collect())
}

const fn is_damage(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::CorruptLog | ErrorKind::InvalidTable)
}

fn finding(path: &str, error: &Error) -> Finding {
    let offset = error.location().offset.map(|offset| format!(" (offset {offset})")).unwrap_or_default();
    Finding::new(FindingKind::UnreadableFile, path, format!("{}{offset}", error.text()))
}

fn check(path: &str, file: &Arc<dyn FileSource>) -> Result<()> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if LogFileName::parse(name).is_some_and(|name| !name.is_native()) {
        return check_log(file);
    }
    match name.rsplit('.').next() {
        Some("parquet") => check_pages(file).and_then(|()| check_bounds(file)),
        Some("hfile") => check_blocks(&file.read_all()?),
        _ => Ok(()),
    }
}

/// Checks the blocks of a log that are files. Corrupt blocks are found elsewhere.
fn check_log(file: &Arc<dyn FileSource>) -> Result<()> {
    for block in LogFile::new(Arc::clone(file)).blocks(false) {
        let block = block?;
        let content = || SectionSource::new(Arc::clone(file), block.content.clone());
        let checked = match (block.damage(), block.type_name().as_ref()) {
            (None, "PARQUET_DATA_BLOCK") => check_pages(&(Arc::new(content()?) as Arc<dyn FileSource>)),
            (None, "HFILE_DATA_BLOCK") => check_blocks(&content()?.read_all()?),
            _ => Ok(()),
        };
        checked.map_err(|error| error.offset_from(block.content.start))?;
    }
    Ok(())
}
