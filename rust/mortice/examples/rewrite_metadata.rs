//! Reads the metadata of a table and writes it again: `cargo run -p mortice --example rewrite_metadata TABLE`.
//!
//! Every file of the timeline, also of the metadata table, is read and written as a writer would write it: from typed
//! values alone, with the Avro schemas of Hudi 1.2, without the order and the unknown fields of the file that was read.
//! `hoodie.properties` is written as by Hudi. `tests/spark/test_hudi_reads_our_metadata.py` has Hudi read the timeline
//! files.

use std::error::Error;
use std::path::{Path, PathBuf};

use mortice::config::PropertiesFile;
use mortice::timeline::metadata::{
    ExtraFields, HoodieCleanMetadata, HoodieCleanerPlan, HoodieCommitMetadata, HoodieCompactionPlan,
    HoodieIndexCommitMetadata, HoodieIndexPlan, HoodieReplaceCommitMetadata, HoodieRequestedReplaceMetadata,
    HoodieRestoreMetadata, HoodieRestorePlan, HoodieRollbackMetadata, HoodieRollbackPlan, HoodieSavepointMetadata,
    HoodieWriteStat, OrderedMap, TimelineMetadata,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let table = std::env::args().nth(1).ok_or("the path of a table is missing")?;
    let mut files = Vec::new();
    collect(&Path::new(&table).join(".hoodie"), &mut files)?;
    for path in files {
        let bytes = std::fs::read(&path)?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(written) = rewritten(name, &bytes)? {
            std::fs::write(&path, written)?;
            remove_checksum(&path, name)?;
            println!("{}", path.display());
        }
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Outcome<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

/// Hadoop's local file system keeps a checksum beside each file, which would no longer fit. A file without one is not
/// checked.
fn remove_checksum(path: &Path, name: &str) -> Outcome<()> {
    match std::fs::remove_file(path.with_file_name(format!(".{name}.crc"))) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The new content of a file; `None` if it is empty or none of these.
fn rewritten(name: &str, bytes: &[u8]) -> Outcome<Option<Vec<u8>>> {
    if name == "hoodie.properties" {
        return Ok(Some(PropertiesFile::parse(bytes)?.to_hudi_bytes(chrono::Utc::now())?));
    }
    let Some((times, rest)) = name.split_once('.') else { return Ok(None) };
    if bytes.is_empty() || times.is_empty() || !times.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
        return Ok(None);
    }
    Ok(Some(match rest.split_once('.').unwrap_or((rest, "")) {
        ("clean", "") => avro::<HoodieCleanMetadata>(bytes)?,
        ("clean", _) => avro::<HoodieCleanerPlan>(bytes)?,
        ("commit" | "deltacommit", _) | ("inflight", "") | ("replacecommit", "inflight") => commit(bytes)?,
        ("replacecommit", "") => replace_commit(bytes)?,
        ("replacecommit" | "clustering", "requested") => avro::<HoodieRequestedReplaceMetadata>(bytes)?,
        ("compaction" | "logcompaction", "requested") => avro::<HoodieCompactionPlan>(bytes)?,
        ("rollback", "requested") => avro::<HoodieRollbackPlan>(bytes)?,
        ("rollback", "") => avro::<HoodieRollbackMetadata>(bytes)?,
        ("restore", "requested") => avro::<HoodieRestorePlan>(bytes)?,
        ("restore", "") => avro::<HoodieRestoreMetadata>(bytes)?,
        ("savepoint", "") => avro::<HoodieSavepointMetadata>(bytes)?,
        ("indexing", "requested") => avro::<HoodieIndexPlan>(bytes)?,
        ("indexing", "") => avro::<HoodieIndexCommitMetadata>(bytes)?,
        _ => return Ok(None),
    }))
}

fn avro<T: TimelineMetadata>(bytes: &[u8]) -> Outcome<Vec<u8>> {
    Ok(T::from_avro(bytes)?.to_avro()?)
}

/// Keeps the form of the file: JSON up to table version 7, Avro from 8.
fn in_form_of<T: TimelineMetadata>(bytes: &[u8], metadata: &T) -> Outcome<Vec<u8>> {
    Ok(if bytes.starts_with(b"{") { metadata.to_json() } else { metadata.to_avro()? })
}

fn commit(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut commit = HoodieCommitMetadata::from_bytes(bytes)?.unwrap_or_default();
    commit.extra = ExtraFields::default();
    commit.partition_to_write_stats = commit.partition_to_write_stats.map(known_stats);
    in_form_of(bytes, &commit)
}

fn replace_commit(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut commit = HoodieReplaceCommitMetadata::from_bytes(bytes)?.unwrap_or_default();
    commit.extra = ExtraFields::default();
    commit.partition_to_write_stats = commit.partition_to_write_stats.map(known_stats);
    in_form_of(bytes, &commit)
}

/// The statistics without unknown fields.
fn known_stats(stats: OrderedMap<Vec<HoodieWriteStat>>) -> OrderedMap<Vec<HoodieWriteStat>> {
    let known = |mut stat: HoodieWriteStat| {
        stat.extra = ExtraFields::default();
        stat
    };
    stats.into_iter().map(|(partition, stats)| (partition, stats.into_iter().map(known).collect())).collect()
}
