//! Verifies a table.

use std::sync::Arc;

use super::checksums::wrong_checksums;
use super::contents::unreadable_files;
use super::damaged_logs::damaged_logs;
use super::duplicate_buckets::duplicate_buckets;
use super::findings::Finding;
use super::key_findings::key_findings;
use super::leftovers::leftovers;
use super::metadata_files::{compare_with_metadata_table, has_metadata_table};
use super::metadata_storage::MetadataStorage;
use super::replaced_groups::live_replaced_groups;
use super::stored_files::{StoredFiles, WrittenFiles, compare_with_timeline, orphans};
use super::temporary_files::{TemporaryFiles, findings_of, temporary_files};
use super::uncommitted_files::uncommitted_files;
use super::undone_writes::{undone_findings, without_undone};
use super::unsupported_files::{are_slices_refused, unsupported_files};
use mortice_base::error::Result;
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::{OnDamage, ReadOptions};
use mortice_storage::FileStore;
use mortice_table::plan::OpenTable;

/// What is verified besides timeline, files and metadata table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Decode all files of the latest slices, and compare the checksums of all files.
    pub contents: bool,
    /// Read the keys of all rows: look for keys of several rows of a partition, and compare the rows with the record
    /// index, if there is one.
    pub keys: bool,
    /// The same, and look for keys of several rows of the table.
    pub global_keys: bool,
    /// The folder of files in which keys are sorted; `None` is the system's own for temporary files.
    pub spill_dir: Option<String>,
}

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Writes that are pending, as on the timeline: not wrong in themselves.
    pub pending: Vec<String>,
    /// Data files in storage.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows of the latest slices; none if their contents were not decoded, or cannot be.
    pub rows: Option<u64>,
}

/// Verifies a table. Nothing is changed. Run it while nobody writes: files of a write that is completed meanwhile look
/// wrong.
///
/// # Errors
/// Those of opening the table, of listing its files and of reading its archive; what is wrong with it is in the report.
/// `Unsupported` for a table with files that other tools have registered.
pub fn verify(location: &TableLocation, options: &VerifyOptions) -> Result<VerifyReport> {
    verify_with(location, options, &key_findings)
}

/// Finds what is wrong with the record keys of a table, which are to be unique in the table if the flag says so.
type KeyVerification<'a> = &'a dyn Fn(&Arc<dyn FileStore>, &OpenTable, bool) -> Result<Vec<Finding>>;

/// The same, with keys that are compared elsewhere.
///
/// # Errors
/// As for [`verify`]; those of comparing the keys.
pub fn verify_with(
    location: &TableLocation,
    options: &VerifyOptions,
    keys: KeyVerification<'_>,
) -> Result<VerifyReport> {
    let store = location.open_store()?;
    let spill_dir = options.spill_dir.clone();
    // What interrupted writes have left is not wrong; damage is a finding of its own.
    let read = ReadOptions { on_damage: OnDamage::Ignore, spill_dir, ..ReadOptions::default() };
    let table = location.open_table(read)?;
    table.check_writes_register_nothing()?;
    let (table, undone) = without_undone(&store, table)?;
    let files = VerifiedFiles::list(&store, &table)?;
    let (mut report, written) = files_and_timeline(&store, &table, &files)?;
    report.findings.extend(undone_findings(&undone, &table));
    report.findings.extend(damaged_logs(&table, &files.stored, &written, options.contents)?);
    let is_refused = are_slices_refused(&table, &files.stored)?;
    let mut wrong = Vec::new();
    if options.contents {
        if !is_refused {
            let (unreadable, rows) = unreadable_files(&table)?;
            report.findings.extend(unreadable);
            report.rows = Some(rows);
        }
        let metadata = files.metadata.as_ref().map(|metadata| &metadata.stored);
        let stored: Vec<_> = std::iter::once(&files.stored).chain(metadata).collect();
        wrong = wrong_checksums(table.storage.as_ref(), &stored)?;
    }
    if (options.keys || options.global_keys) && !is_refused {
        report.findings.extend(keys(&store, &table, options.global_keys)?);
    }
    // A read finds the same, and says less.
    let is_known = |one: &Finding| wrong.iter().any(|wrong| (wrong.kind, &wrong.path) == (one.kind, &one.path));
    report.findings.retain(|one| !is_known(one));
    report.findings.extend(wrong);
    report.findings.sort();
    report.findings.dedup();
    Ok(report)
}

/// The files of a table.
pub(super) struct VerifiedFiles {
    pub(super) stored: StoredFiles,
    /// None if the table has no metadata table, or it cannot be opened.
    pub(super) metadata: Option<MetadataStorage>,
    pub(super) temporary: TemporaryFiles,
}

impl VerifiedFiles {
    /// Lists them.
    pub(super) fn list(store: &Arc<dyn FileStore>, table: &OpenTable) -> Result<Self> {
        let stored = StoredFiles::list(store)?;
        let metadata = if has_metadata_table(table) { MetadataStorage::open(store)? } else { None };
        let temporary = temporary_files(&**store, &table.config, &stored, metadata.as_ref())?;
        Ok(Self { stored, metadata, temporary })
    }
}

/// What is verified without reading data files.
pub(super) fn files_and_timeline(
    store: &Arc<dyn FileStore>,
    table: &OpenTable,
    files: &VerifiedFiles,
) -> Result<(VerifyReport, WrittenFiles)> {
    let VerifiedFiles { stored, metadata, temporary } = files;
    let mut written = compare_with_timeline(table, stored)?;
    let mut report = VerifyReport::default();
    for (.., status) in stored.data_files() {
        report.files = report.files.saturating_add(1);
        report.bytes = report.bytes.saturating_add(status.len);
    }
    report.findings.extend(orphans(table, stored, &written)?);
    report.findings.extend(uncommitted_files(&table.timeline, stored, table.config.layout())?);
    report.findings.extend(live_replaced_groups(table, stored)?);
    report.findings.extend(unsupported_files(table, stored));
    if !are_slices_refused(table, stored)? {
        report.findings.extend(duplicate_buckets(table)?);
    }
    report.findings.extend(compare_with_metadata_table(store, table, stored)?);
    if let Some(metadata) = metadata {
        report.findings.extend(metadata.orphans()?);
        report.findings.extend(metadata.orphan_instants(&table.timeline));
        report.findings.extend(metadata.uncommitted()?);
    }
    report.findings.extend(leftovers(store, &table.timeline, metadata.as_ref())?);
    report.findings.extend(findings_of(temporary));
    report.findings.append(&mut written.findings);
    report.pending = table.timeline.pending_writes().map(ToString::to_string).collect();
    Ok((report, written))
}
