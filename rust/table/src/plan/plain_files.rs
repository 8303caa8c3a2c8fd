//! The splits of a scan whose rows another Parquet reader returns, such as Spark's own, which decodes in the JVM what
//! tasks would otherwise send there. The footers of their files are read, since they decide (`read/plain_base_file`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::scan::Scan;
use crate::read::{PlainParquet, PlainQuery};
use crate::split::Split;
use mortice_base::error::{ErrorKind, Result};
use mortice_storage::{self as storage, Storage, parallel};

/// The number of files that Spark lists in its driver
/// (`spark.sql.sources.parallelPartitionDiscovery.threshold`). More of them take a task each, which only files of
/// [`LEAST_BYTES`] are worth: what Spark counts for opening a file (`spark.sql.files.openCostInBytes`).
const FEW_FILES: usize = 32;
const LEAST_BYTES: u64 = 4 << 20;
/// The most files whose footers are read for one query.
const MOST_FILES: usize = 4096;

/// Characters of paths that Hadoop takes for a pattern (`SparkHadoopUtil.isGlobPath`).
const PATTERN: [char; 7] = ['{', '}', '[', ']', '*', '?', '\\'];

/// The files whose rows another Parquet reader returns, and a scan of all other rows.
pub struct PlainFiles {
    /// The full paths or URIs of the files.
    pub paths: Vec<String>,
    /// The columns to read of them: those of the query, then those of its filter.
    pub columns: SchemaRef,
    /// The filter as a condition of Spark's SQL; `None` if every row passes.
    pub condition: Option<String>,
    /// Columns of floats by whose bounds rows must not be pruned: they may leave out NaN.
    pub unbounded: BTreeSet<String>,
    /// All other rows.
    pub rest: Scan,
    /// Why splits are in `rest`, and how many for each reason.
    pub reasons: BTreeMap<&'static str, usize>,
}

impl PlainFiles {
    /// Describes in a line how many file slices are read in which way.
    #[must_use]
    pub fn explain(&self) -> String {
        let of_rest = self.rest.splits.len();
        let mut text = format!("{} file slices by Spark's Parquet reader, {of_rest} by mortice", self.paths.len());
        for (at, (reason, count)) in self.reasons.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(text, "{}{count}: {reason}", if at == 0 { " (" } else { ", " });
        }
        if !self.reasons.is_empty() {
            text.push(')');
        }
        text
    }
}

impl Scan {
    /// Returns the files whose rows another Parquet reader returns, and a scan of all other rows. Reads the footers of
    /// the largest candidates. Files that cannot be read are among the others, whose readers say why.
    ///
    /// # Errors
    /// Those of opening the table's storage; `Interrupted`.
    pub fn plain_files(&self) -> Result<PlainFiles> {
        // The columns of changes are not those of the table, and several states have queries of their own.
        let is_of_query = |split: &Split| split.change.is_none() && Arc::ptr_eq(&split.query, &self.query);
        if self.splits.is_empty() || !self.splits.iter().all(is_of_query) {
            return Ok(self.without_plain_files("query of changes"));
        }
        let query = match PlainQuery::new(&self.query)? {
            Ok(query) => query,
            Err(reason) => return Ok(self.without_plain_files(reason)),
        };
        let store = storage::open(&self.query.uri, &self.query.storage, self.query.options.mmap)?;
        let (candidates, mut reasons) = candidates(&self.splits, store.as_ref());
        let verdicts = parallel::map(&candidates, store.requests_at_once(), |split| {
            query.check(split, store.as_ref()).or_else(|error| match error.kind() {
                ErrorKind::Interrupted => Err(error),
                _ => Ok(PlainParquet::Repaired("footer that cannot be read")),
            })
        })?;
        let (mut plain, mut unbounded) = (BTreeSet::new(), BTreeSet::new());
        for (split, verdict) in candidates.iter().zip(verdicts) {
            match verdict {
                PlainParquet::Plain(columns) => {
                    unbounded.extend(columns);
                    plain.insert(address(split));
                }
                PlainParquet::Repaired(reason) => add(&mut reasons, reason),
            }
        }
        let (plain, rest): (Vec<Split>, Vec<Split>) =
            self.splits.iter().cloned().partition(|split| plain.contains(&address(split)));
        let bases = plain.iter().filter_map(|split| split.slice.base_file.as_ref());
        Ok(PlainFiles {
            paths: bases.map(|base| store.full_path(&base.path)).collect(),
            columns: Arc::clone(query.columns()),
            condition: query.condition().map(str::to_owned),
            unbounded,
            rest: self.of_splits(rest),
            reasons,
        })
    }

    fn without_plain_files(&self, reason: &'static str) -> PlainFiles {
        PlainFiles {
            paths: Vec::new(),
            columns: Arc::clone(&self.schema),
            condition: None,
            unbounded: BTreeSet::new(),
            rest: self.of_splits(self.splits.clone()),
            reasons: BTreeMap::from([(reason, self.splits.len())]),
        }
    }
}

/// Returns the splits whose files may be plain, as far as the plan says, and why the others are not.
fn candidates<'s>(splits: &'s [Split], store: &dyn Storage) -> (Vec<&'s Split>, BTreeMap<&'static str, usize>) {
    let (mut candidates, mut reasons) = (Vec::new(), BTreeMap::new());
    for split in splits {
        match PlainQuery::refusal(split).or_else(|| refused_path(split, store)) {
            Some(reason) => add(&mut reasons, reason),
            None => candidates.push(split),
        }
    }
    candidates.sort_by_key(|split| Reverse(split.bytes()));
    let small = candidates.partition_point(|split| split.bytes() >= LEAST_BYTES);
    let kept = candidates.len().min(small.max(FEW_FILES)).min(MOST_FILES);
    if candidates.len() > kept {
        reasons.insert("many files, small ones", candidates.len() - kept);
    }
    candidates.truncate(kept);
    (candidates, reasons)
}

fn add(reasons: &mut BTreeMap<&'static str, usize>, reason: &'static str) {
    let count = reasons.entry(reason).or_insert(0);
    *count = count.saturating_add(1);
}

/// Splits of one scan have a slice each.
fn address(split: &Split) -> usize {
    Arc::as_ptr(&split.slice).addr()
}

/// Returns why Spark may not find a file under its path.
fn refused_path(split: &Split, store: &dyn Storage) -> Option<&'static str> {
    let path = store.full_path(&split.slice.base_file.as_ref()?.path);
    (!is_plain_path(&path)).then_some("paths that Spark may not find")
}

/// Returns true if Hadoop takes a path as it is, and Spark does not hide the file. How a JVM encodes other characters
/// than those of ASCII is a setting of its machine.
fn is_plain_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.chars().all(|one| matches!(one, ' '..='~') && !PATTERN.contains(&one)) && !name.starts_with(['.', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spark_takes_paths_as_they_are() {
        for path in ["/t/a=1/f_0.parquet", "s3a://b/t/x%2Fy/f.parquet", "/t/at 10:00:00/f.parquet", "/t/_x/f#1.parquet"]
        {
            assert!(is_plain_path(path), "{path}");
        }
        for path in
            ["/t/a=*/f.parquet", "/t/{a}/f.parquet", "/t/\\/f.parquet", "/t/ü/f.parquet", "/t/_f.parquet", "/t/.f"]
        {
            assert!(!is_plain_path(path), "{path}");
        }
    }
}
