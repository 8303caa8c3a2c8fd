//! Log files: `show_logfile_metadata`, `show_logfile_records`.

use std::collections::BTreeMap;

use super::call::Call;
use super::paths::find_paths;
use super::records_as_json::records_as_json;
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, Result};
use mortice_formats::filter::KeyFilter;
use mortice_formats::log::{Block, BlockKind, BlockType, LogFile};

/// The log files that the pattern of a call names, with their paths.
fn files(call: &Call<'_>) -> Result<Vec<LogFile>> {
    let pattern = call.arguments.required("log_file_path_pattern")?;
    let plain = |path: &str| path.strip_prefix("file:").unwrap_or(path).trim_start_matches("//").to_owned();
    let root = plain(&call.table.storage.full_path(""));
    let given = plain(&pattern);
    let below = given.strip_prefix(&root).and_then(|rest| rest.strip_prefix('/')).ok_or_else(|| {
        Error::invalid_argument(format!("log_file_path_pattern {pattern:?} must be a path below the table {root}"))
    })?;
    let found = find_paths(call.table.storage.as_ref(), below)?.into_iter().filter(|one| one.file.is_some());
    let opened = found.map(|one| call.table.storage.open(&one.path).map(LogFile::new)).collect::<Result<Vec<_>>>()?;
    if opened.is_empty() {
        return Err(Error::invalid_argument(format!("no log file matches {pattern:?}")));
    }
    Ok(opened)
}

/// `show_logfile_metadata`: the blocks in their order. The count of a block of deletes is that of its keys, at which
/// Hudi 1.2 fails.
pub(super) fn blocks(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (limit, mut rows, mut corrupt, mut without_instant) = (call.arguments.limit(), Vec::new(), 0_u64, 0_u64);
    for file in files(call)? {
        for block in file.blocks(false) {
            if rows.len() >= limit {
                return Ok(rows);
            }
            let block = block?;
            let instant = block.header.instant_time().map(String::from).unwrap_or_else(|| {
                let (name, number) = match block.kind {
                    BlockKind::Corrupt(_) => ("corrupt_block", &mut corrupt),
                    BlockKind::Sound(_) | BlockKind::Unknown(_) => ("dummy_instant_time", &mut without_instant),
                };
                *number = number.saturating_add(1);
                format!("{name}_{number}")
            });
            let (header, footer) = (as_json(block.header.named()), as_json(block.footer.named()));
            rows.push(row![instant, count(&file, &block)?, block.type_name().as_ref(), header, footer]);
        }
    }
    Ok(rows)
}

fn count(file: &LogFile, block: &Block) -> Result<u64> {
    match block.kind {
        BlockKind::Sound(BlockType::Delete) => Ok(file.deletes(block)?.num_rows() as u64),
        _ => Ok(file.record_count(block)?.unwrap_or(0)),
    }
}

fn as_json<'a>(entries: impl Iterator<Item = (std::borrow::Cow<'static, str>, std::borrow::Cow<'a, str>)>) -> String {
    let entries: BTreeMap<_, _> = entries.collect();
    serde_json::to_value(entries).unwrap_or_default().to_string()
}

/// `show_logfile_records`: the records of data blocks, each as Avro writes it.
pub(super) fn records(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    if call.arguments.boolean("merge") {
        return Err(Error::unsupported(
            "show_logfile_records does not merge log files alone; a query of the table reads their merged rows",
        ));
    }
    let (limit, mut rows) = (call.arguments.limit(), Vec::new());
    for file in files(call)? {
        for block in file.blocks(false) {
            if rows.len() >= limit {
                break;
            }
            let block = block?;
            if file.record_count(&block)?.is_some() {
                let batch = file.records(&block, &KeyFilter::All)?;
                let batch = batch.slice(0, batch.num_rows().min(limit.saturating_sub(rows.len())));
                rows.extend(records_as_json(&batch)?.into_iter().map(|record| row![record]));
            }
        }
    }
    Ok(rows)
}
