//! Sizes of files: `stats_file_sizes`, `show_fs_path_detail`, `show_invalid_parquet`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::arguments::Arguments;
use super::call::{Call, shown};
use super::paths::{FoundPath, children, find_paths, is_pattern, matches_pattern};
use super::value::{ProcedureRow, ProcedureValue, row};
use mortice_base::error::{Error, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_storage::{Storage, open};
use mortice_table::file_group::list_table;

/// The first and the last bytes of a Parquet file.
const PARQUET_MAGIC: &[u8] = b"PAR1";
/// The length of the footer and the last magic.
const PARQUET_TAIL: u64 = 8;

/// `stats_file_sizes`: commits by time, then all files.
pub(super) fn by_commit(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (fields, pattern) = (call.table.config.partition_fields.len(), call.arguments.text("partition_path"));
    let depth = |path: &str| path.split('/').filter(|part| !part.is_empty()).count();
    if let Some(pattern) = pattern.as_deref().filter(|pattern| fields > 0 && depth(pattern) != fields) {
        return Err(Error::invalid_argument(format!(
            "partition_path {pattern:?} has {} parts, and partitions of the table have {fields}",
            depth(pattern)
        )));
    }
    let (mut sizes, mut all) = (BTreeMap::<String, Vec<u64>>::new(), Vec::new());
    for files in list_table(call.table.storage.as_ref())? {
        if let Some(pattern) = pattern.as_deref().filter(|_| fields > 0)
            && !matches_pattern(pattern.trim_matches('/'), &files.partition)?
        {
            continue;
        }
        let bases = files.base_files.iter().map(|base| (&base.name.instant, base.len));
        for (instant, len) in bases.chain(files.log_files.iter().map(|log| (&log.name.instant, log.len))) {
            sizes.entry(instant.to_string()).or_default().push(len);
            all.push(len);
        }
    }
    let of_commits = sizes.into_iter().map(|(instant, sizes)| histogram(&instant, sizes));
    Ok(of_commits.chain([histogram("ALL", all)]).take(call.arguments.limit()).collect())
}

/// A row of least, greatest and other values, as the snapshot of a `com.codahale.metrics.Histogram` has them.
#[expect(clippy::cast_precision_loss, reason = "statistics of sizes")]
fn histogram(title: &str, mut sizes: Vec<u64>) -> ProcedureRow {
    sizes.sort_unstable();
    let count = sizes.len() as f64;
    let mean = if sizes.is_empty() { 0.0 } else { sizes.iter().map(|size| *size as f64).sum::<f64>() / count };
    let squares: f64 = sizes.iter().map(|size| (*size as f64 - mean).powi(2)).sum();
    let deviation = if sizes.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    row![
        title,
        sizes.first().copied().unwrap_or(0),
        quantile(&sizes, 0.1),
        quantile(&sizes, 0.5),
        mean,
        quantile(&sizes, 0.95),
        sizes.last().copied().unwrap_or(0),
        sizes.len(),
        deviation,
    ]
}

/// The quantile of sorted sizes (`UniformSnapshot.getValue`).
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position among sizes, which are not negative"
)]
fn quantile(sizes: &[u64], quantile: f64) -> f64 {
    let position = quantile * (sizes.len() as f64 + 1.0);
    let at = position as usize;
    let size = |at: usize| sizes.get(at).map_or(0.0, |size| *size as f64);
    match at {
        0 => size(0),
        at if at >= sizes.len() => size(sizes.len().saturating_sub(1)),
        at => size(at - 1) + (position - position.floor()) * (size(at) - size(at - 1)),
    }
}

/// `show_fs_path_detail`. As in Hudi, the three last columns are the quota, the bytes, and the quota of bytes; their
/// names say otherwise. Storage has no quotas here.
pub(super) fn path_detail(location: &TableLocation, arguments: &Arguments) -> Result<Vec<ProcedureRow>> {
    let path = location.uri().trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    let first = parts.iter().position(|part| is_pattern(part)).unwrap_or(parts.len());
    let (root, pattern) = parts.split_at(first);
    let storage = open(&root.join("/"), location.storage_options(), false)?;
    let found = if arguments.boolean("is_sub") {
        children(storage.as_ref(), "")?
    } else {
        find_paths(storage.as_ref(), &pattern.join("/"))?
    };
    let mut summaries = found.iter().map(|one| summary(storage.as_ref(), one)).collect::<Result<Vec<_>>>()?;
    if arguments.boolean("sort") {
        summaries.sort_by_key(|summary| Reverse(summary.bytes));
    } else {
        summaries.sort_by_key(|summary| Reverse(summary.files));
    }
    let row_of = |one: Summary| {
        row![one.folders, one.files, one.bytes, in_units(one.bytes), shown(&one.path), -1_i64, one.bytes, -1_i64]
    };
    Ok(summaries.into_iter().take(arguments.limit()).map(row_of).collect())
}

/// What is below a path (`ContentSummary`): a folder counts itself.
struct Summary {
    path: String,
    folders: u64,
    files: u64,
    bytes: u64,
}

fn summary(storage: &dyn Storage, one: &FoundPath) -> Result<Summary> {
    let mut found = Summary { path: storage.full_path(&one.path), folders: 0, files: 0, bytes: 0 };
    let mut left = vec![one.clone()];
    while let Some(next) = left.pop() {
        if let Some(file) = &next.file {
            found.files = found.files.saturating_add(1);
            found.bytes = found.bytes.saturating_add(file.len);
        } else {
            found.folders = found.folders.saturating_add(1);
            left.extend(children(storage, &next.path)?);
        }
    }
    Ok(found)
}

#[expect(clippy::cast_precision_loss, reason = "a size of two decimal places")]
fn in_units(bytes: u64) -> String {
    let units = [(30_u32, "GB"), (20, "MB"), (10, "KB")];
    match units.into_iter().find(|(bits, _)| bytes >> bits >= 1) {
        Some((bits, unit)) => format!("{:.2}{unit}", bytes as f64 / (1_u64 << bits) as f64),
        None => format!("{bytes}B"),
    }
}

/// `show_invalid_parquet`: files whose end is not that of a Parquet file. Without `needDelete` nothing is changed.
pub(super) fn invalid_parquet(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (partitions, instants) = (call.arguments.list("partitions"), call.arguments.list("instants"));
    let deletes = call.arguments.boolean("needDelete");
    let mut rows: Vec<Vec<ProcedureValue>> = Vec::new();
    for files in list_table(call.table.storage.as_ref())? {
        if !partitions.is_empty() && !partitions.iter().any(|prefix| files.partition.starts_with(prefix)) {
            continue;
        }
        for base in &files.base_files {
            let is_asked = instants.is_empty() || instants.iter().any(|time| base.name.instant == **time);
            if !is_asked || base.name.extension != "parquet" {
                continue;
            }
            let path = files.path(base.name.path_in_partition());
            if is_parquet(call.table.storage.as_ref(), &path)? {
                continue;
            }
            if deletes {
                let store = call.location.open_store()?;
                store.check_removable(&path)?;
                store.delete(&path)?;
            } else {
                rows.push(row![call.shown_path(&path)]);
            }
        }
    }
    rows.truncate(call.arguments.limit());
    Ok(rows)
}

fn is_parquet(storage: &dyn Storage, path: &str) -> Result<bool> {
    let source = storage.open(path)?;
    let len = source.len();
    if len < PARQUET_TAIL.saturating_add(PARQUET_MAGIC.len() as u64) {
        return Ok(false);
    }
    let tail = source.read(len.saturating_sub(PARQUET_TAIL)..len)?;
    Ok(tail.ends_with(PARQUET_MAGIC))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_between_sizes() {
        let row = histogram("1", vec![435_147, 435_365]);
        let expected: ProcedureRow =
            row!["1", 435_147_u64, 435_147.0, 435_256.0, 435_256.0, 435_365.0, 435_365_u64, 2_usize];
        assert_eq!(row.get(..8), Some(expected.as_slice()));
        assert!(matches!(row.last(), Some(ProcedureValue::Double(found)) if (found - 154.149).abs() < 0.001));
        assert_eq!(histogram("ALL", Vec::new()).len(), 9);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!([96, 1028, 743_475, 2_992_039].map(in_units), ["96B", "1.00KB", "726.05KB", "2.85MB"]);
    }
}
