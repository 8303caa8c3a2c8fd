//! How payload classes merge the records of a key.

use super::field_absence::FieldAbsence;
use super::fold_plan::FoldPlan;
use super::plan::MergePlan;
use crate::config::{MergeSemantics, PayloadClass};
use crate::keys::KeyColumns;
use crate::merge::fold::{FoldRules, PayloadFold};
use crate::merge::{OverBase, RecordMergeRules};
use mortice_base::error::{Error, Result};

/// The marker of columns that Debezium left out (`PostgresDebeziumAvroPayload`).
const UNAVAILABLE: &str = "__debezium_unavailable_value";

impl MergePlan {
    /// The plan of a payload class.
    pub(super) fn for_payload(class: &str, semantics: MergeSemantics, keys: &KeyColumns) -> Result<Self> {
        let int_ordering = keys.is_ordered_by_an_integer();
        let choose = |over_base| {
            Self::Choose(match semantics {
                MergeSemantics::V1x => RecordMergeRules::Payload1x { over_base, int_ordering },
                MergeSemantics::V0x => RecordMergeRules::Payload0x { over_base, int_ordering },
            })
        };
        let fold = |class, absence| {
            let rules = match semantics {
                MergeSemantics::V1x => FoldRules::Payload(class, int_ordering),
                MergeSemantics::V0x => FoldRules::Payload0x(class, int_ordering),
            };
            Self::Fold(FoldPlan::Rules(rules, absence))
        };
        let unsupported = || Error::unsupported(format!("the payload class {class} is not supported"));
        Ok(match PayloadClass::parse(class).ok_or_else(unsupported)? {
            PayloadClass::OverwriteWithLatest | PayloadClass::AwsDms => choose(OverBase::Always),
            // Its records are deletes, all of them, and none is merged with another.
            PayloadClass::Empty => Self::Choose(RecordMergeRules::CommitTime),
            PayloadClass::MySqlDebezium if keys.is_ordered_by_binlog_position() => {
                choose(OverBase::UnlessLowerPosition)
            }
            PayloadClass::Default | PayloadClass::EventTime | PayloadClass::MySqlDebezium => {
                choose(OverBase::UnlessLower)
            }
            PayloadClass::OverwriteNonDefaults => {
                fold(PayloadFold::NonDefaults, FieldAbsence::Default { by_identity: false })
            }
            PayloadClass::Metadata => Self::Fold(FoldPlan::Metadata),
            PayloadClass::PartialUpdate => {
                let compares = keys.compares_with_avro();
                fold(PayloadFold::PartialUpdate { compares }, FieldAbsence::Null)
            }
            PayloadClass::FirstValue if semantics == MergeSemantics::V0x => choose(OverBase::IfHigher),
            PayloadClass::FirstValue => return Err(unsupported()),
            // Measured on tables of versions 6 and 8: 0.15 fills strings and bytes. 1.1 and 1.2 fill neither: the
            // payload writes the older values into the newer Avro record and returns that record, which
            // `HoodieAvroRecordMerger.merge` takes for the newer one unchanged. Table version 9 has FILL_UNAVAILABLE in
            // its place, which fills strings.
            PayloadClass::PostgresDebezium if semantics == MergeSemantics::V1x => choose(OverBase::UnlessLower),
            PayloadClass::PostgresDebezium => {
                fold(PayloadFold::Postgres, FieldAbsence::TextOrBytes(UNAVAILABLE.to_owned()))
            }
        })
    }
}
