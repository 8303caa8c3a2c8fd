//! Deletes partitions that a user names, with wildcards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::retries::ConflictRetries;
use super::write::{open_for_write, user_metadata};
use mortice_base::error::{Error, Result};
use mortice_commit::commit::CommitValidator;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_services::transaction::WriteResult;
use mortice_services::{delete_chosen_partitions, execute_in_process, run_inline_services};
use mortice_table::plan::{OpenTable, WriteView};
use mortice_table::timeline::WriteOperation;

/// Deletes partitions of a table.
///
/// Args:
///     location: Where the table is.
///     partitions: Partition paths. `*` stands for any text, also for several folders; a path that the table does not
///         have is left out.
///     options: Options of the write, by Hudi's names.
///     validator: Checks the table before the write is completed.
///
/// # Errors
/// `InvalidArgument` for a table without partitions; `Unsupported` if a table service of such a partition is pending;
/// as for [`delete_chosen_partitions`].
pub fn delete_partitions(
    location: &TableLocation,
    partitions: &[String],
    options: &BTreeMap<String, String>,
    validator: Option<Arc<dyn CommitValidator>>,
) -> Result<WriteResult> {
    let target =
        Arc::new(open_for_write(location, options, WriteOperation::DeletePartition)?.with_validator(validator));
    if target.latest().config.partition_fields.is_empty() {
        let message = "the table has no partitions; insert_overwrite_table without rows deletes all of its rows";
        return Err(Error::invalid_argument(message).in_file(location.uri()));
    }
    let is_path = |path: &&String| path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if let Some(path) = partitions.iter().find(|path| !is_path(path)) {
        return Err(Error::invalid_argument(format!(
            "{path:?} is not a partition path, such as 2024/01 or day=1; * stands for all partitions"
        )));
    }
    ConflictRetries::resolve(target.options())?.run(&*target.time(), |_| delete(&target, partitions, options))
}

fn delete(
    target: &Arc<WritableTable>,
    partitions: &[String],
    options: &BTreeMap<String, String>,
) -> Result<WriteResult> {
    let mut missing = Vec::new();
    let committed = delete_chosen_partitions(target, user_metadata(options), |table| {
        let (view, chosen, unknown) = choose(table, partitions)?;
        missing = unknown;
        Ok((view, chosen))
    })?;
    let failed = run_inline_services(target, &committed.instant, &execute_in_process)?;
    target.leave();
    let missing = missing.into_iter().map(|path| format!("the table has no partition {path:?}"));
    let warnings = target.warnings().into_iter().chain(missing).chain(failed).collect();
    Ok(WriteResult { warnings, ..WriteResult::new(committed) })
}

/// The partitions of paths. Returns also the paths that no partition has.
fn choose(table: &OpenTable, partitions: &[String]) -> Result<(WriteView, BTreeSet<String>, Vec<String>)> {
    let has_wildcards = partitions.iter().any(|path| Pattern::parse(path).is_some());
    let exact: BTreeSet<String> = partitions.iter().cloned().collect();
    let view = table.write_view(if has_wildcards { None } else { Some(&exact) })?;
    let known: BTreeSet<&str> = view.slices.iter().map(|slice| slice.partition.as_str()).collect();
    let (mut chosen, mut missing) = (BTreeSet::new(), Vec::new());
    for path in partitions {
        let pattern = Pattern::parse(path);
        let is_match = |known: &&&str| pattern.as_ref().map_or(**known == path, |pattern| pattern.matches(known));
        let matching: Vec<String> = known.iter().filter(is_match).map(|known| (*known).to_owned()).collect();
        if matching.is_empty() {
            missing.push(path.clone());
        }
        chosen.extend(matching);
    }
    Ok((view, chosen, missing))
}

/// A path with wildcards (`HoodieSparkSqlWriter.resolvePartitionWildcards`): `*`, or `%2A` if the path has no `*`.
struct Pattern<'a>(Vec<&'a str>);

impl<'a> Pattern<'a> {
    /// None if the path has no wildcard.
    fn parse(path: &'a str) -> Option<Self> {
        let wildcard = ["*", "%2A"].into_iter().find(|wildcard| path.contains(wildcard))?;
        Some(Self(path.split(wildcard).collect()))
    }

    fn matches(&self, path: &str) -> bool {
        let Some((first, parts)) = self.0.split_first() else { return false };
        let Some((last, parts)) = parts.split_last() else { return path == *first };
        let Some(rest) = path.strip_prefix(first) else { return false };
        let rest = parts.iter().try_fold(rest, |rest, part| rest.split_once(part).map(|(_, rest)| rest));
        rest.is_some_and(|rest| rest.len() >= last.len() && rest.ends_with(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_any_text() {
        for (pattern, path, matches) in [
            ("2024/*", "2024/01/02", true),
            ("2024/*", "2023/01/02", false),
            ("*", "a", true),
            ("*/02", "2024/01/02", true),
            ("*/02", "2024/02/03", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("a*a", "a", false),
            ("day=%2A", "day=1", true),
            ("day=.*", "day=1", false),
        ] {
            assert_eq!(Pattern::parse(pattern).unwrap().matches(path), matches, "{pattern} {path}");
        }
        assert!(Pattern::parse("2024/01").is_none());
    }
}
