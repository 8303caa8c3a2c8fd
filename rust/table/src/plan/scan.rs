//! A planned query.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::base_share::base_share;
use super::indexes::IndexUses;
use super::slices::file_slices::{ListingSource, PartitionCounts};
use crate::read::Stream;
use crate::split::{DeleteOutput, Query, Split, divided};
use crate::timeline::TimelineRange;
use mortice_base::error::Result;
use mortice_base::names::{RequestedTime, TimelinePosition, meta_columns};
use mortice_storage::parallel;

/// A planned query: its splits are fixed.
pub struct Scan {
    pub(super) schema: SchemaRef,
    pub(super) query: Arc<Query>,
    pub(super) splits: Vec<Split>,
    pub(super) kind: &'static str,
    pub(super) as_of: Option<RequestedTime>,
    pub(super) between: Option<TimelineRange>,
    pub(super) partitions: PartitionCounts,
    pub(super) listing: ListingSource,
    /// What indexes of the metadata table did.
    pub(super) indexes: IndexUses,
    /// The number of file slices that they have pruned.
    pub(super) slices_pruned: usize,
    /// What `explain` returned in the process that planned the query, if it was another one.
    pub(super) description: Option<String>,
}

impl Scan {
    /// Returns a scan that another process has planned.
    ///
    /// `description` is what [`Scan::explain`] returned there.
    #[must_use]
    pub fn from_splits(schema: SchemaRef, query: Arc<Query>, splits: Vec<Split>, description: String) -> Self {
        Self {
            schema,
            query,
            splits,
            kind: "query",
            as_of: None,
            between: None,
            partitions: PartitionCounts::default(),
            listing: ListingSource::default(),
            indexes: IndexUses::default(),
            slices_pruned: 0,
            description: Some(description),
        }
    }

    /// Returns what its splits share.
    #[must_use]
    pub fn query(&self) -> &Arc<Query> {
        &self.query
    }

    /// Returns the schema of all batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns the same rows without columns, for counting.
    #[must_use]
    pub fn without_columns(&self) -> Self {
        let query = Arc::new(without_columns(&self.query));
        let kept = self.schema.fields().iter().filter(|field| query.columns.contains(field.name())).cloned();
        let schema = Arc::new(Schema::new(kept.collect::<Vec<_>>()));
        // Splits of changes may have different queries. Splits of one query are adjacent.
        let mut last = (Arc::clone(&self.query), Arc::clone(&query));
        let mut splits = Vec::with_capacity(self.splits.len());
        for split in &self.splits {
            if !Arc::ptr_eq(&split.query, &last.0) {
                last = (Arc::clone(&split.query), Arc::new(without_columns(&split.query)));
            }
            splits.push(Split { query: Arc::clone(&last.1), ..split.clone() });
        }
        Self { schema, query, ..self.of_splits(splits) }
    }

    /// Returns a scan of other splits of this query.
    pub(super) fn of_splits(&self, splits: Vec<Split>) -> Self {
        Self {
            schema: Arc::clone(&self.schema),
            splits,
            query: Arc::clone(&self.query),
            kind: self.kind,
            as_of: self.as_of.clone(),
            between: self.between.clone(),
            partitions: self.partitions,
            listing: self.listing.clone(),
            indexes: self.indexes.clone(),
            slices_pruned: self.slices_pruned,
            description: self.description.clone(),
        }
    }

    /// Returns the splits, which can be read independently.
    #[must_use]
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// Returns the splits, with slices of more than `most` bytes divided.
    #[must_use]
    pub fn splits_within(&self, most: u64) -> Vec<Split> {
        divided(&self.splits, most)
    }

    /// Returns the size of the files of all splits in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.splits.iter().fold(0, |sum, split| sum.saturating_add(split.bytes()))
    }

    /// Estimates the share of the bytes of base files that is read: 1 if all columns are, or if the query asks for
    /// changes.
    ///
    /// # Errors
    /// `InvalidTable` or `Unsupported` if the table's schema has no Arrow schema.
    pub fn base_share(&self) -> Result<f64> {
        if self.splits.iter().any(|split| split.change.is_some()) { Ok(1.0) } else { base_share(&self.query) }
    }

    /// Reads all splits.
    #[must_use]
    pub fn stream(&self) -> Stream {
        let cores = parallel::cores();
        let threads = self.query.options.threads.unwrap_or(cores);
        Stream::new(self.schema(), self.splits.clone(), threads).after_pruning(self.slices_pruned)
    }

    /// Returns sentences about indexes that are damaged, or behind the timeline, and were not used.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.indexes.warnings
    }

    /// Describes what will be read and how it is merged, for display.
    #[must_use]
    pub fn explain(&self) -> String {
        if let Some(description) = &self.description {
            return description.clone();
        }
        let mut text = format!("{} of {}", self.kind, self.query.uri);
        let (mut base, mut logs, bytes) = (0_usize, 0_usize, self.bytes());
        for split in &self.splits {
            base += usize::from(split.slice.base_file.is_some());
            logs += split.slice.log_files.len();
        }
        let PartitionCounts { read, pruned } = self.partitions;
        let columns = if self.query.columns.is_empty() { "none".to_owned() } else { self.query.columns.join(", ") };
        let lines = [
            self.when(),
            ("merge", self.query.merge.mode.name().to_owned()),
            ("partitions", format!("{read} ({pruned} pruned)")),
            ("listing", self.listing.to_string()),
            ("splits", format!("{} ({base} base files, {logs} log files, {bytes} bytes)", self.splits.len())),
            ("columns", columns),
            ("filter", self.query.filter.to_string()),
        ];
        for (name, value) in lines {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n  {name:<10} {value}");
        }
        for (name, result) in &self.indexes.lines {
            let _ = write!(text, "\n  {name:<10} {result}");
        }
        text
    }

    /// Returns the instants of the rows.
    fn when(&self) -> (&'static str, String) {
        let Some(timeline_range) = &self.between else {
            let latest =
                || format!("latest ({})", self.query.instants.latest.as_ref().map_or("", RequestedTime::as_str));
            return ("as of", self.as_of.as_ref().map_or_else(latest, RequestedTime::to_string));
        };
        let begin = timeline_range.begin.as_ref().map_or("nothing", TimelinePosition::as_str);
        (
            "after",
            format!(
                "{begin}, up to {}",
                timeline_range.end.as_ref().map_or("the latest commit", TimelinePosition::as_str)
            ),
        )
    }
}

fn without_columns(query: &Query) -> Query {
    let mut query = Query::clone(query);
    // The column that marks deletes is added to any projection.
    query.columns.retain(|name| query.deletes != DeleteOutput::LeftOut && name == meta_columns::OPERATION);
    query
}
