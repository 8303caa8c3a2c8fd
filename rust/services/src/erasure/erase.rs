//! What is refused, what is removed, and in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

use super::search::instants_with;
use super::values::{ErasedValues, is_text};
use super::work::{ErasureReads, ErasureWrites, has_metadata};
use crate::compaction::plan_compaction;
use crate::request::ServiceRequest;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::meta_columns;
use mortice_commit::writable_table::TableLocation;
use mortice_formats::filter::Filter;
use mortice_merge::config::{ReadOptions, TableType};
use mortice_table::plan::{OpenTable, QueryKind, QueryOptions, QueryPlan, SnapshotRows};
use mortice_table::timeline::{Action, Timeline};

const BOOTSTRAPPED_FROM: &str = "hoodie.bootstrap.base.path";
/// Only the newest file of each group stays.
const CLEAN: [(&str, &str); 2] =
    [("hoodie.clean.policy", "KEEP_LATEST_FILE_VERSIONS"), ("hoodie.clean.fileversions.retained", "1")];
/// A compaction takes all logs.
const UNLIMITED: [(&str, &str); 1] = [("hoodie.compaction.target.io", "1099511627776")];
const MOST_ROUNDS: usize = 100;
const MOST_NAMED: usize = 10;

/// What is erased.
pub struct ErasureRequest<'a> {
    /// Selects the rows.
    pub filter: &'a Filter,
    /// Options of the writes and services, by Hudi's names.
    pub options: &'a BTreeMap<String, String>,
}

/// What was done, or would be. It does not contain what was erased.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ErasureReport {
    /// The table's base path.
    pub table: String,
    /// The columns of the filter.
    pub columns: Vec<String>,
    /// The number of rows that the filter selected at the beginning.
    pub rows: u64,
    /// The instants of what was done.
    pub commits: Vec<String>,
    /// Savepoints that hold such rows, and how many.
    pub savepoints: BTreeMap<String, u64>,
    /// When it began, in UTC.
    pub started: Option<String>,
    /// When all files had been read, in UTC.
    pub finished: Option<String>,
    /// The number of files that remained.
    pub files_read: u64,
    /// Their size.
    pub bytes_read: u64,
    /// The number of values that were searched for.
    pub values_searched: u64,
}

impl ErasureReport {
    /// The audit record, as JSON.
    ///
    /// # Errors
    /// `Internal`: a report can always be written.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|error| Error::internal("a report as JSON").caused_by(error))
    }
}

/// What [`run_erasure`] would do. Nothing is changed.
///
/// # Errors
/// `InvalidArgument` for a filter that selects all rows; `Unsupported` for a table that is not on a local file system,
/// or is bootstrapped; those of the queries.
pub fn plan_erasure(location: &TableLocation, filter: &Filter, reads: &dyn ErasureReads) -> Result<ErasureReport> {
    let table = checked_table(location, filter)?;
    let savepoints = savepoints_with_rows(&table.timeline, reads)?;
    Ok(ErasureReport { rows: reads.count(None)?, savepoints, ..report_on(location, filter) })
}

/// Erases the rows that a filter selects.
///
/// # Errors
/// As for [`plan_erasure`]; `Unsupported` if a savepoint holds such rows, or clustering is pending; `TableService` if
/// the rows are deleted, and a value is still in a file; those of the writes and services.
pub fn run_erasure(
    location: &TableLocation,
    request: &ErasureRequest<'_>,
    reads: &dyn ErasureReads,
    writes: &dyn ErasureWrites,
) -> Result<ErasureReport> {
    let table = checked_table(location, request.filter)?;
    let time = location.open_store()?.time();
    let started = text_of(time.now());
    check_savepoints(location, &savepoints_with_rows(&table.timeline, reads)?)?;
    check_pending(location, &table.timeline)?;
    let all = QueryPlan::new(Arc::clone(&table), QueryKind::Snapshot(SnapshotRows::Merged), QueryOptions::default());
    let schema = all.schema()?;
    let partitions = &table.config.partition_fields;
    let (rows, values) = (reads.count(None)?, reads.values(&searched_columns(&schema, partitions))?);
    let erased = ErasedValues::from_columns(values)?.with_constants(request.filter, &schema, partitions)?;
    let commits = remove(location, &table, request.options, writes, rows)?;
    check_gone(location, reads)?;
    let erased = erased.without_shared(|column, values| reads.shared(column, values))?;
    let files = remaining_files(location)?;
    check_remains(location, rows, &found_in(location, &files, &erased, reads)?)?;
    Ok(ErasureReport {
        rows,
        commits,
        started: Some(started),
        finished: Some(text_of(time.now())),
        files_read: count_of(files.len()),
        bytes_read: files.iter().map(|(_, bytes)| *bytes).fold(0, u64::saturating_add),
        values_searched: count_of(erased.count()),
        ..report_on(location, request.filter)
    })
}

fn report_on(location: &TableLocation, filter: &Filter) -> ErasureReport {
    let terms = filter.lists().iter().flatten();
    let columns = terms.map(|term| {
        let fields = std::iter::once(term.column()).chain(term.fields().iter().map(String::as_str));
        fields.collect::<Vec<_>>().join(".")
    });
    let columns = columns.collect::<BTreeSet<_>>().into_iter().collect();
    ErasureReport { table: location.uri().to_owned(), columns, ..ErasureReport::default() }
}

fn count_of(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn text_of(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Secs, false)
}

fn checked_table(location: &TableLocation, filter: &Filter) -> Result<Arc<OpenTable>> {
    let uri = location.uri();
    if filter.is_empty() {
        return Err(Error::invalid_argument("filters must select the rows to erase"));
    }
    if uri.contains("://") && !uri.starts_with("file://") {
        let message =
            "erase of a table that is not on a local file system: all of its files have to be listed and read";
        return Err(Error::unsupported(message).in_file(uri));
    }
    let table = location.open_table(ReadOptions::default())?;
    if table.config.properties.get(BOOTSTRAPPED_FROM).is_some_and(|path| !path.is_empty()) {
        let message = "erase of a bootstrapped table, whose rows are in files elsewhere";
        return Err(Error::unsupported(message).in_file(uri));
    }
    Ok(table)
}

/// Returns the savepoints that hold rows which the filter selects.
fn savepoints_with_rows(timeline: &Timeline, reads: &dyn ErasureReads) -> Result<BTreeMap<String, u64>> {
    let mut held = BTreeMap::new();
    for one in timeline.instants().iter().filter(|one| one.action == Action::Savepoint && one.is_completed()) {
        let instant = one.requested_time.to_string();
        let count = reads.count(Some(&instant))?;
        if count > 0 {
            held.insert(instant, count);
        }
    }
    Ok(held)
}

fn check_savepoints(location: &TableLocation, held: &BTreeMap<String, u64>) -> Result<()> {
    if held.is_empty() {
        return Ok(());
    }
    let calls: Vec<_> = held.keys().map(|instant| format!("delete_savepoint('{instant}')")).collect();
    let message = format!("rows to erase are in savepoints, whose files stay: call {} first", calls.join(" and "));
    Err(Error::unsupported(message).in_file(location.uri()))
}

fn check_pending(location: &TableLocation, timeline: &Timeline) -> Result<()> {
    let needs_files = [Action::Clustering, Action::ReplaceCommit, Action::LogCompaction];
    let pending = timeline.instants().iter().find(|one| !one.is_completed() && needs_files.contains(&one.action));
    pending.map_or(Ok(()), |one| {
        let message = format!(
            "the pending {} {} needs files that an erasure removes: run cluster(schedule=False) or \
             log_compact(schedule=False), or roll it back",
            one.action, one.requested_time
        );
        Err(Error::unsupported(message).in_file(location.uri()))
    })
}

/// The columns whose values are searched for: those of strings and binary values.
fn searched_columns(schema: &Schema, partitions: &[String]) -> Vec<String> {
    let is_own = |name: &str| name == meta_columns::RECORD_KEY || !name.starts_with("_hoodie_");
    let is_searched = |field: &&Arc<Field>| {
        let kind = match field.data_type() {
            DataType::Dictionary(_, values) => values.as_ref(),
            kind => kind,
        };
        is_own(field.name()) && !partitions.contains(field.name()) && is_text(kind)
    };
    schema.fields().iter().filter(is_searched).map(|field| field.name().clone()).collect()
}

/// Deletes rows, if there are some, and all files that may hold them. Returns the instants of what was done.
fn remove(
    location: &TableLocation,
    table: &OpenTable,
    options: &BTreeMap<String, String>,
    writes: &dyn ErasureWrites,
    rows: u64,
) -> Result<Vec<String>> {
    let before: BTreeSet<_> = table.timeline.instants().iter().map(|one| one.requested_time.clone()).collect();
    if rows > 0 {
        writes.delete(options)?;
    }
    if table.config.table_type == TableType::MergeOnRead {
        let all = with(options, &UNLIMITED);
        for _ in 0..MOST_ROUNDS {
            if plan_compaction(location, ServiceRequest { schedule: true, run: true }, &all)?.is_empty() {
                break;
            }
            writes.compact(&all)?;
        }
    }
    writes.clean(&with(options, &CLEAN))?;
    if has_metadata(location)? {
        writes.rebuild_metadata(options)?;
    }
    let after = location.open_table(ReadOptions::default())?;
    let new =
        after.timeline.instants().iter().filter(|one| one.is_completed() && !before.contains(&one.requested_time));
    Ok(new.map(|one| one.requested_time.to_string()).collect())
}

fn with(options: &BTreeMap<String, String>, own: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    options.clone().into_iter().chain(own).collect()
}

/// Makes sure that the filter selects no row. Values of a row that is left would count as those of another row, and not
/// be searched for.
fn check_gone(location: &TableLocation, reads: &dyn ErasureReads) -> Result<()> {
    let left = reads.count_unaided()?;
    if left == 0 {
        return Ok(());
    }
    let rows = if left > 1 { format!("{left} rows") } else { "1 row".to_owned() };
    let message = format!(
        "{rows} that the filters select are in the table after the delete: another writer has added them, or no index \
         finds them; erase again, or with another index (hoodie.index.type=GLOBAL_SIMPLE)"
    );
    Err(Error::new(ErrorKind::TableService, message).in_file(location.uri()))
}

/// All files of the table, with their sizes.
fn remaining_files(location: &TableLocation) -> Result<Vec<(String, u64)>> {
    let files = location.open_store()?.list_recursively("")?;
    Ok(files.into_iter().map(|(path, status)| (path, status.len)).collect())
}

/// Returns where values of erased rows are, in words.
fn found_in(
    location: &TableLocation,
    files: &[(String, u64)],
    erased: &ErasedValues,
    reads: &dyn ErasureReads,
) -> Result<Vec<String>> {
    let mut found: Vec<_> =
        reads.search(files, erased)?.into_iter().map(|(path, why)| format!("{path} ({why})")).collect();
    let table = location.open_table(ReadOptions::default())?;
    found.extend(instants_with(&table.timeline, erased)?.into_iter().map(|why| format!(".hoodie ({why})")));
    if has_metadata(location)? && reads.is_in_metadata(erased)? {
        found.push(".hoodie/metadata (its statistics)".to_owned());
    }
    Ok(found)
}

fn check_remains(location: &TableLocation, rows: u64, found: &[String]) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let some: Vec<_> = found.iter().take(MOST_NAMED).map(String::as_str).collect();
    let message = format!(
        "{rows} rows were deleted, but what was erased is still in {} files: {}; repair() removes what another writer \
         has left; remove others by hand",
        found.len(),
        some.join("; ")
    );
    Err(Error::new(ErrorKind::TableService, message).in_file(location.uri()))
}
