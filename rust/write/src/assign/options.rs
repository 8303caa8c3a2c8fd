//! Sizes and limits of an assignment, by Hudi's option names and defaults.

use std::sync::Arc;

use crate::index::{BucketLayout, Index};
use mortice_base::error::{Error, Result};
use mortice_merge::config::{WriteOptions, option_names};
use mortice_table::plan::OpenTable;

/// Where rows with new keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceInserts {
    /// To small files, then to new file groups: `upsert`, `insert`.
    SmallFiles,
    /// To new file groups, all rows of the write: `bulk_insert`.
    NewGroups,
    /// The same, in place of the partitions' file groups: `insert_overwrite`, `insert_overwrite_table`.
    Overwrite,
    /// Nowhere: `delete`.
    Discard,
}

/// Options of an assignment.
#[derive(Debug, Clone, PartialEq)]
pub struct AssignOptions {
    /// `hoodie.parquet.max.file.size`.
    pub max_file_size: u64,
    /// `hoodie.parquet.small.file.limit`: smaller base files take new rows. 0: none does.
    pub small_file_limit: u64,
    /// `hoodie.merge.small.file.group.candidates.limit`: so many of a partition of a merge-on-read table.
    pub small_file_candidates: usize,
    /// Rows of a new file group (`hoodie.copyonwrite.insert.split.size`); none: as many as fill a file
    /// (`hoodie.copyonwrite.insert.auto.split`).
    pub insert_split: Option<u64>,
    /// `hoodie.copyonwrite.record.size.estimate`: bytes of a row, if no commit says.
    pub record_size: u64,
    /// `hoodie.record.size.estimation.threshold`: commits of fewer bytes than this share of the small file limit do not
    /// tell.
    pub estimation_threshold: f64,
    /// `hoodie.record.size.estimator.average.metadata.size`: bytes of a file that are not of its rows.
    pub metadata_size: u64,
    /// The class that estimates the bytes of a row; none: Hudi's.
    pub estimator: Option<String>,
    /// Of the bucket index.
    pub bucket: Option<Arc<BucketLayout>>,
}

impl AssignOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// Those of [`WriteOptions`].
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        let estimator = options.given_text(option_names::RECORD_SIZE_ESTIMATOR_CLASS).map(str::to_owned);
        // Negative limits switch small files off, as 0 does.
        let limit: i64 = options.integer(option_names::PARQUET_SMALL_FILE_LIMIT)?;
        let threshold = options.number(option_names::RECORD_SIZE_ESTIMATION_THRESHOLD)?;
        let split = options.integer(option_names::COPYONWRITE_INSERT_SPLIT_SIZE)?;
        let is_automatic = options.boolean(option_names::COPYONWRITE_INSERT_AUTO_SPLIT)?;
        Ok(Self {
            max_file_size: options.integer(option_names::PARQUET_MAX_FILE_SIZE)?,
            small_file_limit: u64::try_from(limit).unwrap_or(0),
            small_file_candidates: options.integer(option_names::MERGE_SMALL_FILE_GROUP_CANDIDATES_LIMIT)?,
            insert_split: (!is_automatic).then_some(split),
            record_size: options.integer(option_names::COPYONWRITE_RECORD_SIZE_ESTIMATE)?,
            estimation_threshold: threshold,
            metadata_size: options.integer(option_names::RECORD_SIZE_ESTIMATOR_AVERAGE_METADATA_SIZE)?,
            estimator,
            bucket: None,
        })
    }

    /// The same, for rows of a table whose keys an index finds.
    ///
    /// # Errors
    /// `Unsupported` for estimators of the user's own; those of [`Index::bucket_layout`].
    pub fn of_index(&self, index: &dyn Index, table: &OpenTable) -> Result<Self> {
        match &self.estimator {
            Some(class) if !class.ends_with(".AverageRecordSizeEstimator") => {
                Err(Error::unsupported(format!("option hoodie.record.size.estimator.class {class:?}; leave it out")))
            }
            _ => Ok(Self { bucket: index.bucket_layout(table)?, ..self.clone() }),
        }
    }
}
