//! File slices: `show_fsview_all`, `show_fsview_latest` (`HoodieTableFileSystemView`).

use std::collections::{HashMap, HashSet};

use super::call::Call;
use super::paths::matches_pattern;
use super::value::{ProcedureRow, ProcedureValue, row};
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_merge::config::TimelineLayout;
use mortice_table::file_group::{FileSystemView, PartitionFiles, list_table};

/// The argument that stands for all partitions.
const ALL: &str = "ALL_PARTITIONS";

/// A slice with the sizes of its files.
struct Slice {
    partition: String,
    file_id: String,
    base_instant: RequestedTime,
    base: Option<(String, u64)>,
    /// The newest first.
    logs: Vec<(LogFileName, u64)>,
}

/// `show_fsview_all`: the newest slice of a file group first.
pub(super) fn all(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let is_wanted = WantedSlices { replaced: true, pending: call.arguments.boolean("include_in_flight") };
    let groups = groups(call, &pattern(call, "path_regex"), is_wanted)?;
    let row_of = |slice: Slice| {
        let (path, bytes) = base_of(call, &slice);
        row![
            slice.partition.as_str(),
            slice.file_id.as_str(),
            slice.base_instant.as_str(),
            path,
            bytes,
            slice.logs.len(),
            bytes_of(slice.logs.iter()),
            listed(call, &slice, slice.logs.iter(), ", "),
        ]
    };
    Ok(groups.into_iter().flatten().take(call.arguments.limit()).map(row_of).collect())
}

/// `hudi_filesystem_view`: the bytes of logs of the slice's own instant, and those of others, come last.
pub(super) fn query_view(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let row_of = |slice: Slice| {
        let (path, bytes) = base_of(call, &slice);
        let is_of_base = |log: &&(LogFileName, u64)| log.0.instant == slice.base_instant;
        row![
            slice.file_id.as_str(),
            slice.partition.as_str(),
            slice.base_instant.as_str(),
            path,
            slice.base.as_ref().map_or(ProcedureValue::Integer(-1), |_| bytes.into()),
            slice.logs.len(),
            bytes_of(slice.logs.iter()),
            bytes_of(slice.logs.iter().filter(is_of_base)),
            bytes_of(slice.logs.iter().filter(|log| !is_of_base(log))),
        ]
    };
    let groups = groups(call, &pattern(call, "path_regex"), WantedSlices { replaced: true, pending: true })?;
    Ok(groups.into_iter().flatten().map(row_of).collect())
}

/// `show_fsview_latest`: with `merge`, the slice of a pending compaction is merged with the one before it.
pub(super) fn latest(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    if call.arguments.is_given("path_regex") && call.arguments.is_given("partition_path") {
        return Err(Error::invalid_argument("path_regex and partition_path cannot be given together"));
    }
    let name = if call.arguments.is_given("path_regex") { "path_regex" } else { "partition_path" };
    let merges = call.arguments.boolean("merge");
    let mut rows = Vec::new();
    let is_wanted = WantedSlices { replaced: false, pending: call.arguments.boolean("include_in_flight") };
    for group in groups(call, &pattern(call, name), is_wanted)? {
        let mut slices = group.into_iter();
        let Some(mut slice) = slices.next() else { continue };
        let is_pending = !call.timeline().is_completed(&slice.base_instant);
        if merges
            && is_pending
            && let Some(before) = slices.next()
        {
            let mut logs = std::mem::take(&mut slice.logs);
            logs.extend(before.logs);
            slice = Slice { logs, ..before };
        }
        rows.push(latest_row(call, &slice));
    }
    rows.truncate(call.arguments.limit());
    Ok(rows)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of sizes")]
fn latest_row(call: &Call<'_>, slice: &Slice) -> ProcedureRow {
    let (path, base_bytes) = base_of(call, slice);
    let bytes = bytes_of(slice.logs.iter());
    // Logs of instants that are not completed are in no slice. So none are unscheduled, as Hudi counts them.
    let unscheduled = 0_u64;
    let ratio = |bytes: u64| if base_bytes > 0 { bytes as f64 / base_bytes as f64 } else { -1.0 };
    let is_of_base = |log: &&(LogFileName, u64)| log.0.instant == slice.base_instant;
    row![
        slice.partition.as_str(),
        slice.file_id.as_str(),
        slice.base_instant.as_str(),
        path,
        base_bytes,
        slice.logs.len(),
        bytes,
        bytes,
        unscheduled,
        ratio(bytes),
        ratio(unscheduled),
        listed(call, slice, slice.logs.iter().filter(is_of_base), ","),
        listed(call, slice, slice.logs.iter().filter(|log| !is_of_base(log)), ","),
    ]
}

fn pattern(call: &Call<'_>, name: &str) -> String {
    call.arguments.text(name).map_or_else(|| ALL.to_owned(), |pattern| pattern.trim_matches('/').to_owned())
}

/// Which file groups and slices are wanted beside the current and completed ones.
#[derive(Clone, Copy)]
struct WantedSlices {
    /// File groups that a replace commit has replaced.
    replaced: bool,
    /// Slices that a pending compaction or write has begun. Without them, logs written since such a compaction was
    /// planned are in no slice, as in Hudi.
    pending: bool,
}

/// The slices of each file group, the newest first; up to the instant of a call.
fn groups(call: &Call<'_>, pattern: &str, is_wanted: WantedSlices) -> Result<Vec<Vec<Slice>>> {
    let (timeline, config) = (call.timeline(), &call.table.config);
    let Some(last) = timeline.instants().last() else { return Ok(Vec::new()) };
    let (limit, is_included) = (call.arguments.text("max_instant"), call.arguments.boolean("include_max"));
    let counts = |time: &RequestedTime| {
        let limit = limit.as_deref();
        limit.is_none_or(|limit| time.as_str() < limit || is_included && time.as_str() == limit)
    };
    let view = FileSystemView::with_replaced(timeline, config, &last.requested_time)?;
    let replaced = timeline.replaced_file_groups()?.into_iter().filter(|group| counts(&group.instant));
    let replaced: HashSet<_> = replaced.map(|group| (group.partition, group.file_id)).collect();
    let mut groups = Vec::new();
    for files in list_table(call.table.storage.as_ref())? {
        if pattern != ALL && !matches_pattern(pattern, &files.partition)? {
            continue;
        }
        let sizes = sizes(&files);
        for group in view.versions(&files)? {
            if !is_wanted.replaced && replaced.contains(&(files.partition.clone(), group.file_id.clone())) {
                continue;
            }
            let mut slices = Vec::new();
            let is_shown = |time: &RequestedTime| counts(time) && (is_wanted.pending || timeline.is_completed(time));
            for version in group.versions.into_iter().filter(|one| is_shown(&one.base_instant)) {
                let size = |name: &str| sizes.get(name).copied().unwrap_or(0);
                let (mut base, mut logs) = (None, Vec::new());
                for name in version.names {
                    if let Some(log) = LogFileName::parse(&name) {
                        // Up to table version 7, the name of a log has the instant of its slice.
                        if config.layout() == TimelineLayout::V1 || counts(&log.instant) {
                            logs.push((log, size(&name)));
                        }
                    } else {
                        let len = size(&name);
                        base = Some((name, len));
                    }
                }
                logs.sort_by(|(one, _), (other, _)| other.slice_order(one));
                if base.is_some() || !logs.is_empty() {
                    let (partition, file_id) = (files.partition.clone(), group.file_id.clone());
                    slices.push(Slice { partition, file_id, base_instant: version.base_instant, base, logs });
                }
            }
            if is_wanted.pending {
                add_pending(call, &files, &group.file_id, &mut slices);
            }
            groups.push(slices);
        }
    }
    Ok(groups)
}

/// Adds base files of pending instants.
fn add_pending(call: &Call<'_>, files: &PartitionFiles, file_id: &str, slices: &mut Vec<Slice>) {
    for base in files.base_files.iter().filter(|base| base.name.file_id == file_id) {
        let instant = &base.name.instant;
        if call.timeline().has_pending_at(instant) && !call.timeline().is_completed(instant) {
            slices.push(Slice {
                partition: files.partition.clone(),
                file_id: file_id.to_owned(),
                base_instant: instant.clone(),
                base: Some((base.name.name.clone(), base.len)),
                logs: Vec::new(),
            });
        }
    }
    slices.sort_by(|one, other| other.base_instant.cmp(&one.base_instant));
}

fn sizes(files: &PartitionFiles) -> HashMap<&str, u64> {
    let bases = files.base_files.iter().map(|base| (base.name.name.as_str(), base.len));
    bases.chain(files.log_files.iter().map(|log| (log.name.name.as_str(), log.len))).collect()
}

fn bytes_of<'a>(logs: impl Iterator<Item = &'a (LogFileName, u64)>) -> u64 {
    logs.fold(0, |sum, (_, len)| sum.saturating_add(*len))
}

/// The full path of a slice's base file, and its bytes; an empty string and 0 of one without.
fn base_of(call: &Call<'_>, slice: &Slice) -> (String, u64) {
    let Some((name, len)) = &slice.base else { return (String::new(), 0) };
    let parsed = BaseFileName::parse(name);
    let in_partition = parsed.as_ref().map_or(name.as_str(), BaseFileName::path_in_partition);
    (shown_path(call, &slice.partition, in_partition), *len)
}

fn shown_path(call: &Call<'_>, partition: &str, name: &str) -> String {
    let path = if partition.is_empty() { name.to_owned() } else { format!("{partition}/{name}") };
    call.shown_path(&path)
}

/// Log files as Hudi shows a list of them (`HoodieLogFile.toString`).
fn listed<'a>(
    call: &Call<'_>,
    slice: &Slice,
    logs: impl Iterator<Item = &'a (LogFileName, u64)>,
    separator: &str,
) -> String {
    let shown = logs.map(|(log, len)| {
        format!("HoodieLogFile(pathStr={}, fileSize={len})", shown_path(call, &slice.partition, &log.name))
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(separator))
}
