//! Every timeline file and `hoodie.properties` of the bundled tables, read as typed metadata and written again.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs, unreachable_pub)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::DateTime;
use mortice::config::{Properties, PropertiesFile};
use mortice::timeline::metadata::{
    HoodieCleanMetadata, HoodieCleanerPlan, HoodieCommitMetadata, HoodieCompactionPlan, HoodieIndexCommitMetadata,
    HoodieIndexPlan, HoodieReplaceCommitMetadata, HoodieRequestedReplaceMetadata, HoodieRestoreMetadata,
    HoodieRestorePlan, HoodieRollbackMetadata, HoodieRollbackPlan, HoodieSavepointMetadata, MetadataFile,
    TimelineMetadata,
};

use crate::zip_archive::ZipArchive;

/// Names of timeline files: `<instant>[_<completion>].<action>[.<state>]`.
fn action_and_state(path: &str) -> Option<(&str, &str)> {
    let (folder, name) = path.rsplit_once('/')?;
    let (times, rest) = name.split_once('.')?;
    let is_time = |time: &str| !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    let is_timeline = [".hoodie", ".hoodie/timeline", ".hoodie/.aux"].iter().any(|end| folder.ends_with(end));
    if !is_timeline || !times.split('_').all(is_time) {
        return None;
    }
    Some(rest.split_once('.').unwrap_or((rest, "")))
}

fn archives(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            archives(&path, found);
        } else if path.file_name().is_some_and(|name| name == "table.zip") {
            found.push(path);
        }
    }
}

/// Each file below `.hoodie` of each table: the table's folder, the file's path, its bytes. `MORTICE_TABLES` names
/// another folder of tables than the bundled ones.
fn each_file(mut visit: impl FnMut(&Path, &str, &[u8])) {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let folder = std::env::var_os("MORTICE_TABLES").map_or(bundled, PathBuf::from);
    let mut tables = Vec::new();
    archives(&folder, &mut tables);
    tables.sort();
    assert!(tables.len() > 50, "{} tables in {}", tables.len(), folder.display());
    for table in tables {
        let archive = ZipArchive::open(&table);
        for (path, bytes) in archive.files(|path| path.contains(".hoodie/") && !path.ends_with('/')) {
            visit(&table, &path, &bytes);
        }
    }
}

/// Reads and writes a file: the bytes must be the same, and both forms must give the same value again. Returns the
/// kind, and whether any field has a value.
fn round_trip<T: TimelineMetadata + Default + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> (&'static str, bool) {
    let file = MetadataFile::<T>::parse(bytes).unwrap().unwrap();
    let written = file.to_bytes().unwrap();
    assert!(written == bytes, "{}", String::from_utf8_lossy(&written));
    assert_eq!(T::from_json(&file.value.to_json()).unwrap(), file.value);
    let avro = T::from_avro(&file.value.to_avro().unwrap()).unwrap();
    // What the file's schema has in common with that of Hudi 1.2 is in both; defaults were added.
    assert_eq!(T::from_avro(&avro.to_avro().unwrap()).unwrap(), avro);
    (T::NAME, file.value != T::default())
}

fn round_trip_of(action: &str, state: &str, bytes: &[u8]) -> (&'static str, bool) {
    let of_commit = round_trip::<HoodieCommitMetadata>;
    match (action, state) {
        ("clean", "") => round_trip::<HoodieCleanMetadata>(bytes),
        ("clean", _) => round_trip::<HoodieCleanerPlan>(bytes),
        ("commit" | "deltacommit", _) | ("inflight", "") | ("replacecommit", "inflight") => of_commit(bytes),
        ("replacecommit", "") => round_trip::<HoodieReplaceCommitMetadata>(bytes),
        ("replacecommit" | "clustering", "requested") => round_trip::<HoodieRequestedReplaceMetadata>(bytes),
        ("compaction" | "logcompaction", "requested") => round_trip::<HoodieCompactionPlan>(bytes),
        ("rollback", "requested") => round_trip::<HoodieRollbackPlan>(bytes),
        ("rollback", "") => round_trip::<HoodieRollbackMetadata>(bytes),
        ("restore", "requested") => round_trip::<HoodieRestorePlan>(bytes),
        ("restore", "") => round_trip::<HoodieRestoreMetadata>(bytes),
        ("savepoint", "") => round_trip::<HoodieSavepointMetadata>(bytes),
        ("indexing", "requested") => round_trip::<HoodieIndexPlan>(bytes),
        ("indexing", "") => round_trip::<HoodieIndexCommitMetadata>(bytes),
        _ => panic!("no type for a file of {action} {state}"),
    }
}

#[test]
fn timeline_files_are_written_as_they_were_read() {
    let mut counts: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    each_file(|_, path, bytes| {
        let Some((action, state)) = action_and_state(path) else { return };
        if !bytes.is_empty() {
            let (kind, has_values) = round_trip_of(action, state, bytes);
            *counts.entry((kind, bytes.starts_with(b"Obj"))).or_default() += usize::from(has_values);
        }
    });
    // All kinds but those of indexing, and both forms of those that have two.
    assert_eq!(counts.len(), 13, "{counts:?}");
    assert!(counts.values().sum::<usize>() > 400, "{counts:?}");
    assert!(counts.values().all(|count| *count > 0), "{counts:?}");
}

#[test]
fn property_files_are_written_as_they_were_read() {
    let (mut files, mut rewritten) = (0, 0);
    each_file(|table, path, bytes| {
        let is_properties = path.ends_with("/hoodie.properties");
        if !is_properties {
            return;
        }
        let file = PropertiesFile::parse(bytes).unwrap();
        assert_eq!(file.to_bytes(), bytes);
        assert_eq!(file.properties(), Properties::parse(bytes).unwrap());
        files += 1;
        // Files of releases before the checksum, and of writers in other time zones than UTC, cannot be distinguished.
        let text = std::str::from_utf8(bytes).unwrap();
        let time = text.lines().next().and_then(|line| line.rsplit_once(' ')).map(|(_, time)| time).unwrap();
        let Ok(time) = DateTime::parse_from_rfc3339(time) else { return };
        if !text.lines().nth(1).is_some_and(|line| line.contains(" UTC ")) {
            return;
        }
        let mut file = file;
        if text.starts_with("#Properties saved on") {
            file.set("hoodie.table.checksum", "0");
        }
        let written = file.to_hudi_bytes(time.to_utc()).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text, "{} {path}", table.display());
        rewritten += 1;
    });
    assert!(files >= 60 && rewritten >= 50, "{files} files, {rewritten} written as by Hudi");
}
