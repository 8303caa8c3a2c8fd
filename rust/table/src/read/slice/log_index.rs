//! The logs of a slice indexed by key: the merge with all log records, or with the groups that passes over hash ranges
//! have spilled.

use std::sync::Arc;

use super::merge_columns::MergeColumns;
use super::merge_input::MergeInput;
use super::spilled_merge::SpilledMerge;
use crate::read::base::base_segments::BaseSegment;
use crate::read::logs::deleted_rows::DeletedKeyRows;
use crate::read::logs::log_loader::LogLoader;
use crate::read::logs::log_records::LogRecords;
use crate::read::logs::unmerged::UnmergedRows;
use crate::read::memory::SliceMemory;
use mortice_base::error::Result;
use mortice_formats::base_file::BaseBatches;
use mortice_merge::merge::engine::{BuildSide, MergeEngine};
use mortice_merge::merge::{DeletedRows, HashRange};
use mortice_merge::merge_plan::{FoldColumns, MergePlan};

/// The log rows of a slice.
pub(super) enum LogRows {
    /// Merged by key, with base rows if these are merged.
    Merged(Box<MergeEngine>),
    /// Returned without merging, in addition to the base rows.
    Unmerged(Box<UnmergedRows>),
}

/// Reads the keys of the logs. `plan` is `None` if records are returned without merging.
pub(super) fn read_logs(
    from: MergeInput<'_>,
    columns: &MergeColumns,
    plan: Option<MergePlan>,
    memory: &mut SliceMemory,
) -> Result<(LogRecords, LogRows)> {
    let MergeColumns { keys, deleted_rows, .. } = columns;
    let (query, table, types, projected) = (from.query, from.table, from.types, &columns.projection.projected);
    let deleted = (*deleted_rows == DeletedRows::Delivered).then(|| {
        let rows = DeletedKeyRows::new(Arc::clone(projected), keys.clone(), &query.key_fields);
        rows.exact(query.rewrites_deletes)
    });
    let evolution = query.evolution.as_ref();
    let loader = LogLoader { table, types, evolution, keys, projected, deleted, report: from.report.clone() };
    let Some(plan) = plan else {
        let records = LogRecords::new(Arc::clone(projected), from.report.clone());
        let unmerged = from.unmerged(keys.clone(), projected, loader.deleted);
        return Ok((records, LogRows::Unmerged(Box::new(unmerged))));
    };
    let (mut records, index) = index(&plan, &loader, &from, columns, memory)?;
    let commits = query.range.as_ref().map(|range| &range.rows);
    let of = FoldColumns { table, types, projected, keys, deleted_rows: *deleted_rows, commits };
    let fold = plan.fold(&of, records.take_missing())?;
    let first = from.base.segments().row_numbers(BaseSegment::Own).start;
    let engine = match index {
        Index::Whole(build) => MergeEngine::new(*build, fold, *deleted_rows),
        Index::Spilled(spilled) => MergeEngine::spilled(Box::new(spilled), fold, *deleted_rows),
    };
    Ok((records, LogRows::Merged(Box::new(engine.from_row(first)))))
}

/// The indexed logs.
enum Index {
    /// All keys are in memory.
    Whole(Box<BuildSide>),
    /// The keys did not fit in memory: the passes have spilled their groups.
    Spilled(SpilledMerge),
}

/// Indexes the keys of all blocks. If they do not fit in memory, indexes one hash range after the other, and spills the
/// groups of base rows and of inserts.
fn index(
    plan: &MergePlan,
    loader: &LogLoader<'_>,
    from: &MergeInput<'_>,
    columns: &MergeColumns,
    memory: &mut SliceMemory,
) -> Result<(LogRecords, Index)> {
    let budget = memory.keys();
    let build_side = |range| plan.build_side(columns.wanted.clone(), from.deletes_win).within(range, budget);
    let all_blocks = 0..from.blocks.blocks.len();
    let mut build = build_side(HashRange::ALL);
    let mut records = loader.load(&from.blocks, all_blocks.clone(), &mut build, memory)?;
    if build.hash_range() == HashRange::ALL {
        return Ok((records, Index::Whole(Box::new(build))));
    }
    let pass_columns = columns.pass_columns(from.types, from.query)?;
    let base = |segment| match from.query.over_base {
        true => from.base.rows(segment, &pass_columns),
        false => Ok(Box::new(std::iter::empty()) as BaseBatches),
    };
    let mut spilled = SpilledMerge::default();
    loop {
        spilled.add_pass(&mut build, loader.keys, &base, from.base.segments(), memory)?;
        let Some(next) = build.hash_range().next() else { return Ok((records, Index::Spilled(spilled))) };
        from.report.edit().passes += 1;
        // The contents of a pass are released before the next begins.
        drop((build, records));
        build = build_side(next);
        records = loader.load(&from.blocks, all_blocks.clone(), &mut build, memory)?;
    }
}
