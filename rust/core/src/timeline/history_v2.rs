//! Completion times of archived instants, layout 2 (`LSMTimeline`, `HoodieLSMTimelineInstant`).
//!
//! ```text
//! history/_version_                    the number of the newest manifest, as text
//! history/manifest_<n>                 {"files":[{"fileName":…,"fileLen":…},…]}: only these files count
//! history/<min>_<max>_<level>.parquet  instantTime, completionTime, action, metadata, plan
//! ```
//! Where `_version_` cannot be read, the newest manifest counts; where there is none, nothing was archived.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::Deserialize;

use crate::error::{Error, Kind, Result};
use crate::storage::{Entry, Place};

/// Completion times by requested time.
#[derive(Debug, Default)]
pub(super) struct History(HashMap<String, String>);

impl History {
    pub(super) fn completion_time(&self, requested_time: &str) -> Option<&str> {
        self.0.get(requested_time).map(String::as_str)
    }
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    files: Vec<ManifestFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestFile {
    file_name: String,
}

/// Reads the history in a folder.
pub(super) fn read(place: &dyn Place, folder: &str) -> Result<History> {
    let mut times = HashMap::new();
    let Some(manifest) = newest_manifest(place, folder)? else { return Ok(History(times)) };
    let path = format!("{folder}/{manifest}");
    let bytes = place.open(&path)?.read_all()?;
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| {
        Error::invalid_table("not a manifest of the archived timeline").caused_by(error).in_file(place.full_path(&path))
    })?;
    for file in manifest.files {
        let path = format!("{folder}/{}", file.file_name);
        read_file(place, &path, &mut times).map_err(|error| error.in_file(place.full_path(&path)))?;
    }
    Ok(History(times))
}

fn newest_manifest(place: &dyn Place, folder: &str) -> Result<Option<String>> {
    match place.open(&format!("{folder}/_version_")).and_then(|source| source.read_all()) {
        Ok(bytes) => {
            if let Some(number) = str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse::<u64>().ok()) {
                return Ok(Some(format!("manifest_{number}")));
            }
        }
        Err(error) if error.kind() == Kind::NotFound => {}
        Err(error) => return Err(error),
    }
    let numbers = place.list(folder)?.into_iter().flatten().filter_map(|entry| match entry {
        Entry::File(status) => status.name.strip_prefix("manifest_")?.parse::<u64>().ok(),
        Entry::Folder(_) => None,
    });
    Ok(numbers.max().map(|number| format!("manifest_{number}")))
}

fn read_file(place: &dyn Place, path: &str, times: &mut HashMap<String, String>) -> Result<()> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::invalid_table("not a file of the archived timeline").caused_by(error)
    };
    let bytes = place.open(path)?.read_all()?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| failed(error.into()))?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), ["instantTime", "completionTime"]);
    let reader = builder.with_projection(mask).build().map_err(|error| failed(error.into()))?;
    for batch in reader {
        let batch = batch.map_err(|error| failed(error.into()))?;
        let (requested, completion) = (texts(&batch, "instantTime")?, texts(&batch, "completionTime")?);
        let pairs = requested.zip(completion);
        times.extend(pairs.filter_map(|(requested, completion)| Some((requested?.to_owned(), completion?.to_owned()))));
    }
    Ok(())
}

fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Result<impl Iterator<Item = Option<&'a str>>> {
    let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
    let column = column.ok_or_else(|| {
        Error::invalid_table(format!("a file of the archived timeline without {name}, or with one that is no string"))
    })?;
    Ok((0..column.len()).map(move |at| (!column.is_null(at)).then(|| column.value(at))))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringArray};
    use parquet::arrow::ArrowWriter;

    use super::*;
    use crate::timeline::memory_place::MemoryPlace;

    fn file(rows: &[(&str, &str)]) -> Vec<u8> {
        let column = |texts: Vec<&str>| Arc::new(StringArray::from(texts)) as ArrayRef;
        let requested = column(rows.iter().map(|row| row.0).collect());
        let completion = column(rows.iter().map(|row| row.1).collect());
        let batch = RecordBatch::try_from_iter([("instantTime", requested), ("completionTime", completion)]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn only_files_of_the_newest_manifest_count() {
        let (one, other) = (file(&[("1", "3"), ("2", "5")]), file(&[("4", "6")]));
        let manifest = br#"{"files":[{"fileName":"1_2_0.parquet","fileLen":7}]}"#.as_slice();
        let files = [
            ("h/manifest_2", manifest),
            ("h/manifest_1", b"torn".as_slice()),
            ("h/1_2_0.parquet", &one),
            ("h/4_4_0.parquet", &other),
        ];
        for version in [Some(b"2".as_slice()), Some(b"x"), None] {
            let place = MemoryPlace::new(files.into_iter().chain(version.map(|text| ("h/_version_", text))));
            let history = read(&*place, "h").unwrap();
            assert_eq!(history.completion_time("2"), Some("5"), "{version:?}");
            assert_eq!(history.completion_time("4"), None);
        }
    }

    #[test]
    fn no_manifest_is_no_history_and_a_torn_one_an_error() {
        let place = MemoryPlace::new([("h/x", b"".as_slice())]);
        assert!(read(&*place, "h").unwrap().0.is_empty());
        assert!(read(&*place, "none").unwrap().0.is_empty());
        let place = MemoryPlace::new([("h/manifest_1", b"{".as_slice())]);
        let error = read(&*place, "h").unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidTable);
        assert!(error.place().path.as_deref().is_some_and(|path| path.ends_with("h/manifest_1")));
    }
}
