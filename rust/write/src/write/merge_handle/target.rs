//! Which base file is replaced.

use crate::write::base_file::BaseFileTarget;
use crate::write::write_token::WriteToken;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_table::file_group::{BaseFile, FileSlice};

/// The base file that is rewritten, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeTarget {
    /// The partition's path from the table; empty for a table without partitions.
    pub partition: String,
    /// The latest slice of the file group. It has a base file, and no log files unless these are merged, too.
    pub slice: FileSlice,
    /// The instant of the commit.
    pub instant: RequestedTime,
    /// The attempt that writes the new file.
    pub token: WriteToken,
}

impl MergeTarget {
    /// Makes sure that the slice has no log files.
    pub(super) fn check_without_logs(&self) -> Result<()> {
        let Self { slice, .. } = self;
        if slice.log_files.is_empty() {
            return Ok(());
        }
        let message = format!(
            "file group {} has {} log files: its base file cannot be rewritten without them",
            slice.file_id,
            slice.log_files.len()
        );
        Err(Error::internal(message).in_file(&self.replaced()?.path))
    }

    /// The base file that is replaced.
    pub(super) fn replaced(&self) -> Result<&BaseFile> {
        let Self { slice, .. } = self;
        let base = slice.base_file.as_ref();
        let base = base.ok_or_else(|| {
            Error::internal(format!("file group {} has no base file that could be rewritten", slice.file_id))
        })?;
        if !base.name().ends_with(".parquet") {
            let message = "rewriting a base file that is not parquet; use a table whose base files are parquet";
            return Err(Error::unsupported(message).in_file(&base.path));
        }
        Ok(base)
    }

    /// The file that is written.
    pub(super) fn file(&self) -> BaseFileTarget {
        BaseFileTarget {
            partition: self.partition.clone(),
            file_id: self.slice.file_id.clone(),
            instant: self.instant.clone(),
            token: self.token,
        }
    }
}
