//! The schema in the files of a table, for tables whose commits have none (`TableSchemaResolver`).

use std::borrow::Borrow;
use std::sync::Arc;

use super::logs::log_blocks::{known_base, known_log};
use crate::file_group::{BaseFile, FileSlice};
use crate::timeline::InstantFilter;
use mortice_avro::Schema;
use mortice_base::error::Result;
use mortice_formats::base_file;
use mortice_formats::log;
use mortice_storage::{FileSource, PrefixSource, Storage};

/// Returns true if the newest base file or the newest log has a column.
pub fn has_column(
    slices: &[impl Borrow<FileSlice>],
    instants: &InstantFilter,
    storage: &dyn Storage,
    name: &str,
) -> Result<bool> {
    let slices = || slices.iter().map(Borrow::borrow);
    let base_files = slices().map(|slice: &FileSlice| FileSlice { log_files: Vec::new(), ..slice.clone() });
    let logs = slices().map(|slice: &FileSlice| FileSlice { base_file: None, ..slice.clone() });
    for part in [base_files.collect::<Vec<_>>(), logs.collect()] {
        if let Some(schema) = newest_schema(&part, instants, storage)?
            && Schema::parse(&schema)?.field(name).is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the Avro schema, as JSON, of the newest file that has one: base files first, then logs from their ends.
pub fn newest_schema(
    slices: &[impl Borrow<FileSlice>],
    instants: &InstantFilter,
    storage: &dyn Storage,
) -> Result<Option<String>> {
    let mut newest: Vec<&FileSlice> = slices.iter().map(Borrow::borrow).collect();
    newest.sort_by(|one, two| two.base_instant.cmp(&one.base_instant));
    // A skeleton file has the meta columns only.
    let whole = |base: &&BaseFile| base.source.is_none();
    for base in newest.iter().filter_map(|slice| slice.base_file.as_ref()).filter(whole) {
        if let Some(schema) = base_file::open(storage.open_known(&base.path, &known_base(base))?)?.avro_schema() {
            return Ok(Some(schema));
        }
    }
    for file in newest.iter().flat_map(|slice| slice.log_files.iter().rev()) {
        let source: Arc<dyn FileSource> =
            Arc::new(PrefixSource::new(storage.open_known(&file.path, &known_log(file))?, file.len)?);
        if let Some(schema) = log::newest_schema(source, |instant| instants.is_committed(instant))? {
            return Ok(Some(schema));
        }
    }
    Ok(None)
}
