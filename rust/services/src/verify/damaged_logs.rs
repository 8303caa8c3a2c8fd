//! Logs that have lost bytes that completed writes wrote, in any slice: a service that has merged such a log since has
//! lost rows.

use super::findings::{Finding, FindingKind};
use super::stored_files::{StoredFiles, WrittenFiles, joined};
use mortice_base::error::{ErrorKind, Result};
use mortice_base::names::LogFileName;
use mortice_storage::parallel;
use mortice_table::plan::OpenTable;
use mortice_table::read::damage_of_log;
use mortice_table::timeline::WrittenRanges;

/// Compares all stored logs with what writes recorded, active and archived.
///
/// Args:
///     table: The table.
///     stored: Its files.
///     written: The files that active writes name, whose lengths were compared.
///     contents: Whether the blocks of the logs are read as well.
pub(super) fn damaged_logs(
    table: &OpenTable,
    stored: &StoredFiles,
    written: &WrittenFiles,
    contents: bool,
) -> Result<Vec<Finding>> {
    let has_native_logs = table.config.version.has_native_logs();
    let is_read = |log: &LogFileName| !log.is_native() || has_native_logs && log.check_native_format().is_ok();
    let logs = stored.data_files().filter(|(_, name, ..)| LogFileName::parse(name).is_some_and(|log| is_read(&log)));
    let logs: Vec<(String, u64)> =
        logs.map(|(partition, name, _, status)| (joined(partition, name), status.len)).collect();
    let ranges = WrittenRanges::new(table.timeline.clone());
    let pending: Vec<_> = table.timeline.pending_writes().map(|instant| instant.requested_time.clone()).collect();
    let found = parallel::map(&logs, table.storage.requests_at_once(), |(path, len)| {
        let ranges = ranges.of_log(path)?;
        if let Some(range) = ranges.iter().find(|range| range.bytes.end > *len) {
            let is_known = written.read.contains(&range.instant);
            let message = format!("{} wrote {} bytes, and there are {len}", range.instant, range.bytes.end);
            return Ok((!is_known).then(|| Finding::new(FindingKind::WrongLength, path, message).with_bytes(*len)));
        }
        if !contents || ranges.is_empty() {
            return Ok(None);
        }
        match damage_of_log(table.storage.as_ref(), path, *len, (&ranges, &pending)) {
            Ok(damage) => Ok(damage.map(|damage| {
                let message = format!("{} (offset {})", damage.reason, damage.offset);
                Finding::new(FindingKind::DamagedLog, path, message).with_bytes(*len)
            })),
            Err(error) if error.kind() == ErrorKind::CorruptLog => {
                Ok(Some(Finding::new(FindingKind::DamagedLog, path, error.text()).with_bytes(*len)))
            }
            Err(error) => Err(error),
        }
    })?;
    Ok(found.into_iter().flatten().collect())
}
