//! The partition of each folder of the source (`BootstrapPartitionPathTranslator`), and its values.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::source::SourceFile;
use mortice_base::error::{Error, Result};
use mortice_base::names::decode_percent_codes;
use mortice_merge::keys::partition_path;

/// How folders of a source are partitions of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourcePartitions {
    /// The partition columns of the table.
    pub(super) columns: Vec<String>,
    /// Whether percent codes of folders are decoded in partition paths.
    pub(super) decodes_folders: bool,
}

impl SourcePartitions {
    /// The partition of a file.
    pub(super) fn path(&self, file: &SourceFile) -> String {
        if self.decodes_folders { decode_percent_codes(file.folder()) } else { file.folder().to_owned() }
    }

    /// Makes sure that the folder of a file says the values of the partition columns.
    ///
    /// # Errors
    /// `InvalidArgument` for a folder of a table without partitions, and for one with other parts than there are
    /// columns.
    pub(super) fn check(&self, file: &SourceFile) -> Result<()> {
        let folder = file.folder();
        if self.columns.is_empty() && !folder.is_empty() {
            return Err(Error::invalid_argument(format!(
                "the source has the folder {folder:?}, but the table no partition columns: name them \
                 (hoodie.datasource.write.partitionpath.field)"
            )));
        }
        let is_known = self.columns.is_empty()
            || (!folder.is_empty() && partition_path::values(&self.columns, folder, true).is_some());
        match is_known {
            true => Ok(()),
            false => Err(Error::invalid_argument(format!(
                "the folder {folder:?} of the source has no values for the partition columns {}",
                self.columns.join(", ")
            ))),
        }
    }

    /// Whether all folders are of the form `column=value`.
    pub(super) fn are_hive_style(&self, files: &[SourceFile]) -> bool {
        let is_hive_style = |file: &SourceFile| {
            let parts: Vec<&str> = file.folder().split('/').collect();
            let is_named = |(part, column): (&&str, &String)| {
                part.strip_prefix(column.as_str()).is_some_and(|value| value.starts_with('='))
            };
            parts.len() == self.columns.len() && parts.iter().zip(&self.columns).all(is_named)
        };
        !self.columns.is_empty() && files.iter().all(is_hive_style)
    }

    /// Rows of a file with the partition columns that it does not have itself, in the order of `columns`.
    ///
    /// # Errors
    /// `Internal` if rows and columns do not fit.
    pub(super) fn complete(&self, file: &SourceFile, rows: &RecordBatch) -> Result<RecordBatch> {
        let values = partition_path::values(&self.columns, file.folder(), true).unwrap_or_default();
        let mut fields = rows.schema().fields().to_vec();
        let mut columns = rows.columns().to_vec();
        for (name, value) in self.columns.iter().zip(values) {
            if file.has_column(name) {
                continue;
            }
            fields.push(Arc::new(Field::new(name, DataType::Utf8, true)));
            let column: ArrayRef = Arc::new(StringArray::from_iter(std::iter::repeat_n(value, rows.num_rows())));
            columns.push(column);
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
            .map_err(Error::internal_by("the columns of a source file fit its rows"))
    }
}
