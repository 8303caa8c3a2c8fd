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
    /// The latest slice of the file group: a base file without log files.
    pub slice: FileSlice,
    /// The instant of the commit.
    pub instant: RequestedTime,
    /// The attempt that writes the new file.
    pub token: WriteToken,
}

impl MergeTarget {
    /// The base file that is replaced.
    pub(super) fn replaced(&self) -> Result<&BaseFile> {
        let Self { slice, .. } = self;
        let base = slice.base_file.as_ref();
        let base = base.ok_or_else(|| {
            Error::internal(format!("file group {} has no base file that could be rewritten", slice.file_id))
        })?;
        if !slice.log_files.is_empty() {
            let message = format!(
                "file group {} has {} log files: its base file cannot be rewritten without them",
                slice.file_id,
                slice.log_files.len()
            );
            return Err(Error::internal(message).in_file(&base.path));
        }
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
