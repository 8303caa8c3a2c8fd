//! Files that other tools have registered ([`is_registered`]). Only the metadata table and the commits name them, so
//! that a listing of the storage does not have them: Hudi 1.2 then returns no rows, and here it is an error. They have
//! no meta columns, so that Hudi refuses incremental queries and all writes of such tables.

use crate::file_group::PartitionFiles;
use crate::plan::open_table::OpenTable;
use crate::timeline::{MetadataPart, Timeline, TimelineRange};
use mortice_base::error::{Error, Result};
use mortice_base::names::is_registered;

/// Returns a file that the newest write has registered.
fn of_newest_write(timeline: &Timeline) -> Result<Option<String>> {
    let Some(newest) = timeline.completed_writes().next_back() else { return Ok(None) };
    let metadata = timeline.commit_metadata(newest, MetadataPart::All)?.unwrap_or_default();
    Ok(metadata.paths().find(|path| is_registered(path)).map(str::to_owned))
}

/// Returns a file that any write has registered, also an archived one.
fn of_any_write(timeline: &Timeline) -> Result<Option<String>> {
    if let Some(found) = of_newest_write(timeline)? {
        return Ok(Some(found));
    }
    let mut found = None;
    timeline.visit_writes_in(&TimelineRange::default(), &mut |_, metadata| {
        found = found.take().or_else(|| metadata.paths().find(|path| is_registered(path)).map(str::to_owned));
        Ok(())
    })?;
    Ok(found)
}

/// Makes sure that a listing of the storage is complete. `unknown` says that it has files that may be registered,
/// `is_suspect` that it lacks files.
pub(in crate::plan) fn check_listed(timeline: &Timeline, unknown: bool, is_suspect: bool) -> Result<()> {
    let found = match (unknown, is_suspect) {
        (true, _) => of_any_write(timeline)?,
        (false, true) => of_newest_write(timeline)?,
        (false, false) => None,
    };
    match found {
        None => Ok(()),
        Some(path) => Err(Error::unsupported(format!(
            "{path} was registered by another tool: such files are listed by the metadata table alone, which is not there, cannot be \
             used, or is not to be used (use_metadata=False, hoodie.metadata.enable=false)"
        ))),
    }
}

/// The error of a query that needs the commit of each row.
pub(in crate::plan) fn rows_without_commits(path: &str) -> Error {
    Error::unsupported(format!(
        "{path} was registered by another tool: its rows do not have the commit that wrote them, so that they are in no incremental \
         query and in no query of changes; read snapshots"
    ))
}

/// Refuses a write of a table with such files among these.
pub(in crate::plan) fn check_writable(files: &[PartitionFiles]) -> Result<()> {
    let mut bases = files.iter().flat_map(|files| files.base_files.iter().map(move |base| (files, base)));
    match bases.find(|(_, base)| base.name.is_registered()) {
        None => Ok(()),
        Some((files, base)) => Err(read_only(&format!("{}/{}", files.partition, base.name.name))),
    }
}

fn read_only(path: &str) -> Error {
    Error::unsupported(format!(
        "{path} was registered by another tool: tables with such files are read, but not written to, verified or given another metadata \
         table, as in Hudi; write with that tool"
    ))
}

impl OpenTable {
    /// Makes sure that the newest write has registered no files of other tools.
    ///
    /// # Errors
    /// `Unsupported`, with the path of a file; errors of reading commit metadata.
    pub fn check_writes_register_nothing(&self) -> Result<()> {
        of_newest_write(&self.timeline)?.map_or(Ok(()), |path| Err(read_only(&path).in_file(&self.uri)))
    }

    /// Makes sure that no write has registered files of other tools, so that the storage has all files of the table.
    ///
    /// # Errors
    /// As for [`Self::check_writes_register_nothing`].
    pub fn check_nothing_is_registered(&self) -> Result<()> {
        of_any_write(&self.timeline)?.map_or(Ok(()), |path| Err(read_only(&path).in_file(&self.uri)))
    }
}
