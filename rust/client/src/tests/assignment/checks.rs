//! What holds for every assignment.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{Case, len};
use mortice_base::row_number::at;
use mortice_merge::config::TableType;
use mortice_write::assign::{Assignment, GroupTask, PlaceInserts, TaskKind};

/// The file group of a task, if it is there already.
fn file_id(task: &GroupTask) -> Option<&str> {
    match &task.kind {
        TaskKind::Append { slice, .. } | TaskKind::Merge { slice } => Some(&slice.file_id),
        TaskKind::Create { .. } => None,
    }
}

/// Each row is in the tasks of all places of its key, with the numbers of its rows; a row without any in one task that
/// takes new rows of its partition.
pub(super) fn check_rows(case: &Case, assigned: &Assignment) {
    let is_new = |row: u32| case.places(row).is_empty();
    let unmatched: Vec<u32> = case.rows().filter(|row| is_new(*row) && case.is_delete(*row)).collect();
    assert_eq!(assigned.unmatched_deletes, unmatched, "{case}");
    let mut found: BTreeMap<u32, Vec<(&GroupTask, Option<u64>)>> = BTreeMap::new();
    for task in &assigned.tasks {
        assert!(task.rows.is_sorted(), "{task:?}: {case}");
        assert!(task.positions.is_empty() || task.positions.len() == task.rows.len(), "{task:?}: {case}");
        for (number, row) in task.rows.iter().enumerate() {
            found.entry(*row).or_default().push((task, task.positions.get(number).copied().flatten()));
        }
    }
    for row in case.rows() {
        let found = found.remove(&row).unwrap_or_default();
        if is_new(row) {
            let expected = usize::from(!case.is_delete(row));
            assert_eq!(found.len(), expected, "row {row}: {case}");
            assert!(found.iter().all(|(task, _)| task.partition == case.partition(row)), "row {row}: {case}");
            continue;
        }
        let mut expected = Vec::new();
        for (group, position) in case.places(row) {
            let group = &case.tagged.groups[at(group)];
            expected.push((group.partition.as_str(), Some(group.file_id.as_str()), position));
        }
        let mut places: Vec<_> =
            found.iter().map(|(task, position)| (task.partition.as_str(), file_id(task), *position)).collect();
        // A file that is rewritten takes the row once for all rows of its key.
        let is_merge = |place: &(&str, Option<&str>, Option<u64>)| {
            assigned.tasks.iter().any(|task| file_id(task) == place.1 && matches!(task.kind, TaskKind::Merge { .. }))
        };
        expected.sort_unstable();
        expected.dedup_by(|one, other| one.1 == other.1 && is_merge(one));
        places.sort_unstable();
        assert_eq!(places, expected, "row {row}: {case}");
    }
    assert!(found.is_empty(), "{found:?}: {case}");
}

/// Small files are filled up to the size of a file, one after the other, and then new ones.
pub(super) fn check_files(case: &Case, assigned: &Assignment) {
    let groups: Vec<&str> = assigned.tasks.iter().filter_map(file_id).collect();
    assert_eq!(groups.iter().collect::<BTreeSet<_>>().len(), groups.len(), "a file group has two tasks: {case}");
    assert!(assigned.tasks.is_sorted_by_key(|task| &task.partition), "{case}");
    let is_added = |row: &u32| case.places(*row).is_empty();
    let partitions: BTreeSet<&str> = case.keys.partitions.iter().flatten().collect();
    for partition in partitions.into_iter().chain(["x", "y"]) {
        let inserts = case.rows().any(|row| is_added(&row) && !case.is_delete(row) && case.partition(row) == partition);
        let small = if inserts { case.small_files(partition) } else { Vec::new() };
        let tasks: Vec<&GroupTask> = assigned.tasks.iter().filter(|task| task.partition == partition).collect();
        let added = |task: &&GroupTask| task.rows.iter().filter(|row| is_added(row)).count() as u64;
        let of_file = |file: &str| tasks.iter().find(|task| file_id(task) == Some(file)).map_or(0, added);
        let (max, size) = (case.options.max_file_size, case.options.record_size);
        let new: Vec<u64> = tasks.iter().filter(|task| file_id(task).is_none()).map(added).collect();
        let mut rest: u64 = tasks.iter().map(added).sum();
        for slice in &small {
            let count = of_file(&slice.file_id);
            assert!(count == 0 || len(slice) + count * size <= max, "{partition} {slice:?}: {case}");
            rest -= count;
            assert!(rest == 0 || len(slice) + (count + 1) * size > max, "{partition} {slice:?} has room: {case}");
        }
        assert_eq!(new.iter().sum::<u64>(), rest, "{partition}: rows are added to a file that takes none: {case}");
        let fit = case.options.insert_split.unwrap_or_else(|| max.div_ceil(size));
        if let Some((last, full)) = new.split_last() {
            assert!(full.iter().all(|count| *count == fit) && (1..=fit).contains(last), "{new:?} of {fit}: {case}");
        }
        for task in tasks.iter().filter(|task| file_id(task).is_some()) {
            let is_small = small.iter().any(|slice| file_id(task) == Some(&slice.file_id));
            let is_rewritten = case.table_type == TableType::CopyOnWrite || is_small;
            assert_eq!(matches!(task.kind, TaskKind::Merge { .. }), is_rewritten, "{task:?}: {case}");
        }
    }
    assert!(case.place != PlaceInserts::Discard || assigned.tasks.iter().all(|task| file_id(task).is_some()), "{case}");
}
