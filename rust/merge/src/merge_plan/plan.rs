//! How the records of a key are merged: one of them is chosen, or several are folded into a row.

use std::sync::Arc;

use arrow_schema::Schema;

use super::field_absence::FieldAbsence;
use super::fold_plan::{FoldColumns, FoldPlan};
use crate::config::{CustomMerge, MergeConfig, MergeMode, MergeSemantics, PartialUpdateMode};
use crate::keys::KeyColumns;
use crate::merge::engine::BuildSide;
use crate::merge::fold::{Fold, FoldMode, FoldRules, MissingColumns, RowMerger};
use crate::merge::{GroupedRecords, RecordMergeRules, WinningRecords};
use mortice_base::error::{Error, Result};
use mortice_formats::filter::KeyFilter;

/// How the records of a key are merged.
pub enum MergePlan {
    /// One of them is the row.
    Choose(RecordMergeRules),
    /// The row is made of several of them.
    Fold(FoldPlan),
}

impl MergePlan {
    /// The plan of a table. `partial` is true if some records are partial. `merger` is a user-defined merger, used if
    /// the table's configuration names one.
    ///
    /// # Errors
    /// `Unsupported`, by name, for what cannot be merged.
    pub fn new(
        merge: &MergeConfig,
        semantics: MergeSemantics,
        keys: &KeyColumns,
        partial: bool,
        merger: Option<&Arc<dyn RowMerger>>,
    ) -> Result<Self> {
        if let (MergeMode::Custom(_), Some(merger), false) = (&merge.mode, merger, partial) {
            return Ok(Self::Fold(FoldPlan::Merger(Arc::clone(merger))));
        }
        let int_ordering = keys.is_ordered_by_an_integer();
        let mode = match &merge.mode {
            MergeMode::CommitTime => FoldMode::CommitTime,
            MergeMode::EventTime => FoldMode::EventTime { int_ordering },
            MergeMode::Custom(CustomMerge::Payload(class)) if !partial => {
                return Self::for_payload(class, semantics, keys);
            }
            MergeMode::Custom(CustomMerge::Payload(class)) => {
                return Err(Error::unsupported(format!(
                    "partial updates are not supported with the payload class {class}"
                )));
            }
            MergeMode::Custom(CustomMerge::Merger(id)) => {
                return Err(Error::unsupported(format!("the custom record merger of strategy {id} is not supported")));
            }
        };
        let absence = match &merge.partial_update {
            Some(PartialUpdateMode::IgnoreDefaults) => FieldAbsence::Default { by_identity: true },
            Some(PartialUpdateMode::FillUnavailable(marker)) => FieldAbsence::Text(marker.clone()),
            None => FieldAbsence::Never,
        };
        Ok(match mode {
            _ if partial => Self::Fold(FoldPlan::Rules(FoldRules::Partial(mode), absence)),
            _ if absence != FieldAbsence::Never => Self::Fold(FoldPlan::Rules(FoldRules::Fill(mode), absence)),
            FoldMode::CommitTime => Self::Choose(RecordMergeRules::CommitTime),
            FoldMode::EventTime { int_ordering } => Self::Choose(RecordMergeRules::EventTime { int_ordering }),
        })
    }

    /// Whether rows are made of several records.
    pub const fn folds(&self) -> bool {
        matches!(self, Self::Fold(_))
    }

    /// Whether each value of a merged row is that of some record of its key: not so if a user-defined merger makes
    /// rows.
    pub const fn keeps_values(&self) -> bool {
        !matches!(self, Self::Fold(FoldPlan::Merger(_)))
    }

    /// The columns that every record must have beside the projected ones.
    ///
    /// # Errors
    /// `Unsupported` for a table whose schema its payload class cannot merge.
    pub fn record_columns(&self, types: &Schema, keys: &KeyColumns) -> Result<Vec<String>> {
        match self {
            Self::Choose(_) => Ok(Vec::new()),
            Self::Fold(fold) => fold.columns(types, keys),
        }
    }

    /// An empty build side for log records, without those of data blocks whose keys are not wanted. With `deletes_win`,
    /// deletes win over any base row (see [`WinningRecords::deleting`]).
    pub fn build_side(&self, wanted: KeyFilter, deletes_win: bool) -> BuildSide {
        match self {
            Self::Choose(rules) => {
                let records = WinningRecords::new(*rules).only(wanted);
                BuildSide::Winning(if deletes_win { records.deleting() } else { records })
            }
            Self::Fold(_) => BuildSide::Grouped(GroupedRecords::only(wanted)),
        }
    }

    /// The fold, if rows are made of several records. `missing` are the columns that blocks of partial records do not
    /// have.
    ///
    /// # Errors
    /// `Internal` if a merger would not be given every projected column.
    pub fn fold(self, of: &FoldColumns<'_>, missing: MissingColumns) -> Result<Option<Box<dyn Fold>>> {
        match self {
            Self::Choose(_) => Ok(None),
            Self::Fold(fold) => fold.fold(of, missing).map(Some),
        }
    }
}
