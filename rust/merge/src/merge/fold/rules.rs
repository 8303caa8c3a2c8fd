//! What an older and a newer record of one key become, where the result may have fields of both.
//!
//! | rules | from | newer wins | then |
//! |---|---|---|---|
//! | `Fill` | `hoodie.table.partial.update.mode` (1.1 and later) | by the table's mode | fields of the winner that hold a default, or the marker, are filled from the loser |
//! | `Partial` | log blocks that hold some columns only (`IS_PARTIAL`) | by the table's mode | the winner's columns over the loser's |
//! | `Payload` | payload classes under 1.x (`combineAndGetUpdateValue` at each step) | see [`PayloadFold`] | as the class has it |
//! | `Payload0x` | payload classes under 0.x (`preCombine` among log records, `combineAndGetUpdateValue` over the base row) | | |
//!
//! Deletes are never filled: a delete on either side leaves the winner alone.

use std::cmp::Ordering;

use super::super::ordering::OrderingValue;
use super::super::rules::{DeleteState, MergeSide};

/// How records of one key are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldRules {
    /// A partial update mode of the table.
    Fill(FoldMode),
    /// Blocks of partial records.
    Partial(FoldMode),
    /// A payload class, by the rules of 1.x; whether the ordering field is an int or a date, whose 0 is the default.
    Payload(PayloadFold, bool),
    /// A payload class, by the rules of 0.x; the same.
    Payload0x(PayloadFold, bool),
}

/// A merge mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldMode {
    /// COMMIT_TIME_ORDERING.
    CommitTime,
    /// EVENT_TIME_ORDERING; whether the ordering field is an int or a date, whose 0 is the default.
    EventTime {
        /// The ordering column is an int or a date.
        int_ordering: bool,
    },
}

/// A payload class that mixes fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadFold {
    /// `OverwriteNonDefaultsWithLatestAvroPayload`: the newer record, its defaults filled from the older.
    NonDefaults,
    /// `PartialUpdateAvroPayload`: the record of the greater ordering, its nulls filled from the other; meta columns
    /// are always the newer record's.
    PartialUpdate {
        /// Whether rows compare at all. Hudi takes the older one's ordering from an Avro record, and does not compare a
        /// value of another class: then the newer record is on top.
        compares: bool,
    },
    /// `PostgresDebeziumAvroPayload` of 0.x: the record of the greater ordering; of the newer one, marked columns are
    /// filled.
    Postgres,
}

/// What a pair of records becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverlayResult {
    /// The older record, as it is.
    Older,
    /// The newer one, as it is.
    Newer,
    /// The older one, its absent fields filled from the newer.
    OlderOverNewer {
        /// Whether meta columns are the newer record's nonetheless.
        newer_meta: bool,
    },
    /// The newer one, its absent fields filled from the older.
    NewerOverOlder,
}

/// Which records are merged in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeStep {
    /// A row of a log over what came before it in the logs.
    Data,
    /// A deleted key over what came before it in the logs.
    Delete,
    /// The merged log records over the base row.
    Base,
    /// The merged log records over a row of an earlier commit, which only gives the columns that they do not have.
    Earlier,
}

impl FoldRules {
    /// What `older` and `newer` become.
    pub(super) fn merge(self, step: MergeStep, older: MergeSide<'_>, newer: MergeSide<'_>) -> OverlayResult {
        match self {
            Self::Fill(mode) | Self::Partial(mode) => mode.merge(step, older, newer),
            Self::Payload(class, int_ordering) => class.merge_1_x(int_ordering, older, newer),
            Self::Payload0x(class, int_ordering) => class.merge_0_x(step, int_ordering, older, newer),
        }
    }
}

impl FoldMode {
    fn merge(self, step: MergeStep, older: MergeSide<'_>, newer: MergeSide<'_>) -> OverlayResult {
        let newer_wins = match (self, step) {
            (Self::CommitTime, _) | (_, MergeStep::Earlier) => true,
            (Self::EventTime { .. }, MergeStep::Data) => {
                self.unordered_delete(newer) || self.unordered_delete(older) || not_lower(newer, older)
            }
            (Self::EventTime { .. }, MergeStep::Delete) => {
                !self.unordered_delete(older) && (self.unordered_delete(newer) || newer.deletes(older))
            }
            (Self::EventTime { .. }, MergeStep::Base) => self.unordered_delete(newer) || not_lower(newer, older),
        };
        match (newer_wins, is_delete(older) || is_delete(newer)) {
            (true, true) => OverlayResult::Newer,
            (false, true) => OverlayResult::Older,
            (true, false) => OverlayResult::NewerOverOlder,
            (false, false) => OverlayResult::OlderOverNewer { newer_meta: false },
        }
    }

    fn unordered_delete(self, side: MergeSide<'_>) -> bool {
        is_delete(side) && is_default(side, self == Self::EventTime { int_ordering: true })
    }
}

impl PayloadFold {
    /// At every step the newer record's `combineAndGetUpdateValue` (`CustomPayloadRecordMerger`).
    fn merge_1_x(self, int_ordering: bool, older: MergeSide<'_>, newer: MergeSide<'_>) -> OverlayResult {
        let unordered = |side: MergeSide<'_>| {
            !matches!(side.deleted, DeleteState::No | DeleteState::Flagged) && is_default(side, int_ordering)
        };
        if unordered(older)
            || unordered(newer)
            || older.deleted == DeleteState::ByBlock
            || newer.deleted == DeleteState::ByBlock
        {
            return OverlayResult::Newer;
        }
        self.combine(int_ordering, older, newer)
    }

    fn merge_0_x(
        self,
        step: MergeStep,
        int_ordering: bool,
        older: MergeSide<'_>,
        newer: MergeSide<'_>,
    ) -> OverlayResult {
        let unordered = is_default(newer, int_ordering);
        let (older, newer) =
            (older.null_is_zero(int_ordering && step != MergeStep::Base), newer.null_is_zero(int_ordering));
        match step {
            MergeStep::Base if newer.deleted == DeleteState::ByBlock => OverlayResult::Newer,
            MergeStep::Base | MergeStep::Earlier => self.combine(int_ordering, older, newer),
            MergeStep::Delete if unordered || newer.deletes(older) => OverlayResult::Newer,
            MergeStep::Delete => OverlayResult::Older,
            MergeStep::Data if older.deleted == DeleteState::ByBlock => OverlayResult::Newer,
            MergeStep::Data => match (self, not_lower(newer, older)) {
                // A delete that is not late is not filled.
                (Self::PartialUpdate { .. }, true) if !is_delete(newer) => OverlayResult::NewerOverOlder,
                (Self::PartialUpdate { .. }, false) => OverlayResult::OlderOverNewer { newer_meta: true },
                (_, true) => OverlayResult::Newer,
                (_, false) => OverlayResult::Older,
            },
        }
    }

    /// `combineAndGetUpdateValue` of two rows. An older one without an ordering value is never preferred.
    fn combine(self, int_ordering: bool, older: MergeSide<'_>, newer: MergeSide<'_>) -> OverlayResult {
        let ordered = newer.null_is_zero(int_ordering);
        let comparable = older.ordering != OrderingValue::Default && ordered.ordering != OrderingValue::Default;
        let older_is_greater = comparable && !not_lower(ordered, older);
        match self {
            Self::NonDefaults if is_delete(newer) => OverlayResult::Newer,
            Self::NonDefaults => OverlayResult::NewerOverOlder,
            // A late delete deletes all the same.
            Self::PartialUpdate { .. } if is_delete(newer) => OverlayResult::Newer,
            Self::PartialUpdate { compares } if !(compares && older_is_greater) => OverlayResult::NewerOverOlder,
            Self::PartialUpdate { .. } if is_delete(older) => OverlayResult::Older,
            Self::PartialUpdate { .. } => OverlayResult::OlderOverNewer { newer_meta: true },
            Self::Postgres if older_is_greater => OverlayResult::Older,
            Self::Postgres if is_delete(newer) => OverlayResult::Newer,
            Self::Postgres => OverlayResult::NewerOverOlder,
        }
    }
}

fn is_delete(side: MergeSide<'_>) -> bool {
    side.deleted != DeleteState::No
}

/// Whether the ordering is none: not there, or the 0 of an int field, which is Hudi's default.
fn is_default(side: MergeSide<'_>, int_ordering: bool) -> bool {
    side.ordering == OrderingValue::Default
        || int_ordering && !side.is_foreign && side.ordering == OrderingValue::Fixed(0)
}

fn not_lower(newer: MergeSide<'_>, older: MergeSide<'_>) -> bool {
    newer.ordering.compare(&older.ordering) != Ordering::Less
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ordering: i64) -> MergeSide<'static> {
        MergeSide { ordering: OrderingValue::Fixed(ordering), is_foreign: false, deleted: DeleteState::No }
    }

    fn delete(ordering: i64) -> MergeSide<'static> {
        MergeSide { ordering: OrderingValue::Fixed(ordering), is_foreign: false, deleted: DeleteState::ByBlock }
    }

    const UNORDERED: MergeSide<'static> =
        MergeSide { ordering: OrderingValue::Default, is_foreign: false, deleted: DeleteState::ByBlock };
    const PARTIAL_UPDATE: PayloadFold = PayloadFold::PartialUpdate { compares: true };
    const EVENT: FoldRules = FoldRules::Fill(FoldMode::EventTime { int_ordering: false });
    const OLDER_ON_TOP: OverlayResult = OverlayResult::OlderOverNewer { newer_meta: false };

    #[test]
    fn the_winner_lies_over_the_loser() {
        for (step, older, newer, expected) in [
            (MergeStep::Data, row(10), row(20), OverlayResult::NewerOverOlder),
            (MergeStep::Data, row(20), row(20), OverlayResult::NewerOverOlder),
            (MergeStep::Data, row(20), row(10), OLDER_ON_TOP),
            (MergeStep::Base, row(20), row(10), OLDER_ON_TOP),
            (MergeStep::Delete, row(20), delete(10), OverlayResult::Older),
            (MergeStep::Delete, row(20), delete(20), OverlayResult::Newer),
            (MergeStep::Data, delete(20), row(10), OverlayResult::Older),
            (MergeStep::Data, UNORDERED, row(10), OverlayResult::Newer),
            (MergeStep::Delete, UNORDERED, delete(99), OverlayResult::Older),
            (MergeStep::Base, row(20), UNORDERED, OverlayResult::Newer),
            // A row from before the range gives its columns, for any ordering value.
            (MergeStep::Earlier, row(20), row(10), OverlayResult::NewerOverOlder),
            (MergeStep::Earlier, row(20), delete(10), OverlayResult::Newer),
        ] {
            assert_eq!(EVENT.merge(step, older, newer), expected, "{step:?} {older:?} {newer:?}");
        }
        let commit = FoldRules::Partial(FoldMode::CommitTime);
        assert_eq!(commit.merge(MergeStep::Data, row(20), row(10)), OverlayResult::NewerOverOlder);
        assert_eq!(commit.merge(MergeStep::Delete, row(20), UNORDERED), OverlayResult::Newer);
    }

    #[test]
    fn payloads_of_1_x() {
        for (class, older, newer, expected) in [
            (PayloadFold::NonDefaults, row(20), row(10), OverlayResult::NewerOverOlder),
            (PARTIAL_UPDATE, row(20), row(10), OverlayResult::OlderOverNewer { newer_meta: true }),
            (PARTIAL_UPDATE, row(10), row(10), OverlayResult::NewerOverOlder),
            (PARTIAL_UPDATE, delete(20), row(10), OverlayResult::Newer),
        ] {
            assert_eq!(
                FoldRules::Payload(class, false).merge(MergeStep::Data, older, newer),
                expected,
                "{class:?} {older:?} {newer:?}"
            );
        }
    }

    /// Nulls, and classes that Hudi was seen not to compare.
    #[test]
    fn partial_updates_that_do_not_compare() {
        let null = MergeSide { ordering: OrderingValue::Default, is_foreign: false, deleted: DeleteState::No };
        let older_on_top = OverlayResult::OlderOverNewer { newer_meta: true };
        for (compares, int_ordering, older, newer, expected) in [
            (false, false, row(20), row(10), OverlayResult::NewerOverOlder),
            (true, true, null, row(-1), OverlayResult::NewerOverOlder),
            (true, true, row(-1), null, OverlayResult::NewerOverOlder),
            (true, true, row(1), null, older_on_top),
            (true, false, row(1), null, OverlayResult::NewerOverOlder),
            (true, false, row(20), row(10), older_on_top),
        ] {
            let rules = FoldRules::Payload(PayloadFold::PartialUpdate { compares }, int_ordering);
            assert_eq!(rules.merge(MergeStep::Data, older, newer), expected, "{older:?} {newer:?}");
            assert_eq!(rules.merge(MergeStep::Base, older, newer), expected, "{older:?} {newer:?}");
        }
    }

    #[test]
    fn payloads_of_0_x_combine_among_logs_by_ordering() {
        let non_defaults = FoldRules::Payload0x(PayloadFold::NonDefaults, false);
        assert_eq!(non_defaults.merge(MergeStep::Data, row(20), row(15)), OverlayResult::Older);
        assert_eq!(non_defaults.merge(MergeStep::Data, row(15), row(20)), OverlayResult::Newer);
        assert_eq!(non_defaults.merge(MergeStep::Base, row(20), row(15)), OverlayResult::NewerOverOlder);
        assert_eq!(non_defaults.merge(MergeStep::Data, delete(20), row(15)), OverlayResult::Newer);
        assert_eq!(non_defaults.merge(MergeStep::Base, row(20), delete(15)), OverlayResult::Newer);
        let postgres = FoldRules::Payload0x(PayloadFold::Postgres, false);
        assert_eq!(postgres.merge(MergeStep::Data, row(10), row(20)), OverlayResult::Newer);
        assert_eq!(postgres.merge(MergeStep::Base, row(10), row(20)), OverlayResult::NewerOverOlder);
        assert_eq!(postgres.merge(MergeStep::Base, row(20), row(10)), OverlayResult::Older);
        assert_eq!(postgres.merge(MergeStep::Base, row(20), delete(10)), OverlayResult::Newer);
        let partial = FoldRules::Payload0x(PARTIAL_UPDATE, false);
        assert_eq!(
            partial.merge(MergeStep::Data, row(20), row(10)),
            OverlayResult::OlderOverNewer { newer_meta: true }
        );
        assert_eq!(
            partial.merge(MergeStep::Base, row(20), row(10)),
            OverlayResult::OlderOverNewer { newer_meta: true }
        );
    }
}
