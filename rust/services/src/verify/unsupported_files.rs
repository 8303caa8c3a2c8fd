//! Data files of kinds that are not read: native logs in a table of an older version, and files of unknown formats.
//! Without them a query would have other rows.

use super::findings::{Finding, FindingKind};
use super::stored_files::{StoredFiles, joined};
use mortice_base::error::{ErrorKind, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_formats::filter::Filter;
use mortice_table::plan::OpenTable;

/// Finds those of completed instants. Others are found as those of known kinds are.
pub(super) fn unsupported_files(table: &OpenTable, stored: &StoredFiles) -> Vec<Finding> {
    let mut found = Vec::new();
    let has_native_logs = table.config.version.has_native_logs();
    for (partition, files) in &stored.partitions {
        for (name, status) in files {
            let Some((instant, message)) = unsupported(name, has_native_logs) else { continue };
            if table.timeline.is_completed(&instant) {
                let finding = Finding::new(FindingKind::UnsupportedFile, joined(partition, name), message);
                found.push(finding.with_bytes(status.len));
            }
        }
    }
    found
}

/// Whether slices have such files, so that they are not read.
pub(super) fn are_slices_refused(table: &OpenTable, stored: &StoredFiles) -> Result<bool> {
    if unsupported_files(table, stored).is_empty() {
        return Ok(false);
    }
    match table.file_slices(None, &Filter::default()) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(true),
        Err(error) => Err(error),
    }
}

/// The instant in the name of such a file, and what it is.
fn unsupported(name: &str, has_native_logs: bool) -> Option<(RequestedTime, String)> {
    if let Some(log) = LogFileName::parse(name) {
        let check = if has_native_logs { LogFileName::check_native_format } else { LogFileName::check_is_inline };
        let error = check(&log).err()?;
        return Some((log.instant, error.text()));
    }
    let (stem, extension) = name.split_once('.')?;
    let is_known = BaseFileName::parse(name).is_some() || extension.contains('.');
    // A base file but for its extension.
    let base =
        BaseFileName::parse(&format!("{stem}.parquet")).filter(|base| !is_known && is_token(&base.write_token))?;
    Some((base.instant, format!("unsupported format {extension} of what has the name of a base file")))
}

fn is_token(text: &str) -> bool {
    text.split('-').count() == 3 && text.split('-').all(|part| part.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_logs_and_unknown_formats_are_unsupported() {
        for name in ["f-0_0-1-2_10_1.log.parquet", "f-0_0-1-2_10_1.deletes.new", "f-0_0-1-2_10.vortex"] {
            assert_eq!(unsupported(name, false).unwrap().0.as_str(), "10", "{name}");
            assert_eq!(unsupported(name, true).is_none(), name.ends_with(".parquet"), "{name}");
        }
        for name in [
            "f-0_0-1-2_10.parquet",
            "f-0_0-1-2_10.lance",
            ".f-0_10.log.1_0-1-2",
            ".f-0_0-1-2_10.parquet.crc",
            "f-0_0-1-2_10.parquet.tmp",
            "report_of_2024.csv",
            "_SUCCESS",
        ] {
            assert!(unsupported(name, false).is_none() && unsupported(name, true).is_none(), "{name}");
        }
    }
}
