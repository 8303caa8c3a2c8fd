//! How the records of a slice are merged: by choosing one record of each key, or by folding several into one row.

use std::sync::Arc;

use arrow_schema::Schema;
use serde_json::Value;

use crate::avro;
use crate::config::{CustomMerge, MergeConfig, MergeMode, PartialUpdateMode, Semantics, payload};
use crate::error::{Error, Result};
use crate::keys::KeyColumns;
use crate::merge::fold::{
    Absence, CustomFold, Fold, FoldRules, Folder, METADATA_TYPE, MetadataMerger, MissingColumns, Mode, PayloadFold,
    RowMerger,
};
use crate::merge::{DeletedRows, OverBase, Rules};
use crate::names::meta_columns;
use crate::split::MergerHandle;

/// The marker of columns that Debezium left out (`PostgresDebeziumAvroPayload`).
const UNAVAILABLE: &str = "__debezium_unavailable_value";

/// What is done about the records of a key.
pub(in crate::read) enum MergePlan {
    /// One of them is the row.
    Choose(Rules),
    /// The row is made of them.
    Fold(FoldBy),
    /// Each is a row.
    KeepAll,
}

/// Of what a row is made.
pub(in crate::read) enum FoldBy {
    /// Fields of several records, by rules of Hudi's own.
    Rules(FoldRules, FieldAbsence),
    /// What a merger of the user's own makes of them.
    Merger(MergerHandle),
    /// What the metadata table makes of its records.
    Metadata,
}

/// When values of a table's fields give way to those of the other record.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::read) enum FieldAbsence {
    /// Never.
    Never,
    /// Where they are null.
    Null,
    /// Where they are the field's default.
    Default {
        /// Whether a default is compared as an object of Java is: then only truth values and small numbers can be equal.
        by_identity: bool,
    },
    /// Where strings are this.
    Text(String),
    /// Where strings, or bytes, are this.
    TextOrBytes(String),
}

impl MergePlan {
    /// Of a table; `partial` where some block of the slice holds partial records. A merger of the user's own is given where the
    /// table asks for it.
    pub(in crate::read) fn of(
        merge: &MergeConfig,
        semantics: Semantics,
        keys: &KeyColumns,
        partial: bool,
        merger: Option<&MergerHandle>,
    ) -> Result<Self> {
        if let (MergeMode::Custom(_), Some(merger), false) = (&merge.mode, merger, partial) {
            return Ok(Self::Fold(FoldBy::Merger(merger.clone())));
        }
        let int_ordering = keys.is_ordered_by_an_integer();
        let mode = match &merge.mode {
            MergeMode::CommitTime => Mode::CommitTime,
            MergeMode::EventTime => Mode::EventTime { int_ordering },
            MergeMode::Custom(CustomMerge::Payload(class)) if !partial => {
                return Self::of_payload(class, semantics, keys);
            }
            MergeMode::Custom(CustomMerge::Payload(class)) => {
                return Err(Error::unsupported(format!("partial updates merged by the payload class {class}")));
            }
            MergeMode::Custom(CustomMerge::Merger(id)) => {
                return Err(Error::unsupported(format!("merging by the custom record merger of strategy {id}")));
            }
        };
        let absence = match &merge.partial_update {
            Some(PartialUpdateMode::IgnoreDefaults) => FieldAbsence::Default { by_identity: true },
            Some(PartialUpdateMode::FillUnavailable(marker)) => FieldAbsence::Text(marker.clone()),
            None => FieldAbsence::Never,
        };
        Ok(match mode {
            _ if partial => Self::Fold(FoldBy::Rules(FoldRules::Partial(mode), absence)),
            _ if absence != FieldAbsence::Never => Self::Fold(FoldBy::Rules(FoldRules::Fill(mode), absence)),
            Mode::CommitTime => Self::Choose(Rules::CommitTime),
            Mode::EventTime { int_ordering } => Self::Choose(Rules::EventTime { int_ordering }),
        })
    }

    fn of_payload(class: &str, semantics: Semantics, keys: &KeyColumns) -> Result<Self> {
        let int_ordering = keys.is_ordered_by_an_integer();
        let choose = |over_base| {
            Self::Choose(match semantics {
                Semantics::V1x => Rules::Payload1x { over_base, int_ordering },
                Semantics::V0x => Rules::Payload0x { over_base, int_ordering },
            })
        };
        let fold = |class, absence| {
            let rules = match semantics {
                Semantics::V1x => FoldRules::Payload(class, int_ordering),
                Semantics::V0x => FoldRules::Payload0x(class, int_ordering),
            };
            Self::Fold(FoldBy::Rules(rules, absence))
        };
        Ok(match payload::hudis_own(class) {
            Some("OverwriteWithLatestAvroPayload" | "AWSDmsAvroPayload") => choose(OverBase::Always),
            // Its records are deletes, all of them, and none is merged with another.
            Some("EmptyHoodieRecordPayload") => Self::Choose(Rules::CommitTime),
            Some("MySqlDebeziumAvroPayload") if keys.is_ordered_by_binlog_place() => choose(OverBase::UnlessLowerPlace),
            Some("DefaultHoodieRecordPayload" | "EventTimeAvroPayload" | "MySqlDebeziumAvroPayload") => {
                choose(OverBase::UnlessLower)
            }
            Some("OverwriteNonDefaultsWithLatestAvroPayload") => {
                fold(PayloadFold::NonDefaults, FieldAbsence::Default { by_identity: false })
            }
            Some(payload::METADATA) => Self::Fold(FoldBy::Metadata),
            Some("PartialUpdateAvroPayload") => {
                let compares = keys.compares_with_avro();
                fold(PayloadFold::PartialUpdate { compares }, FieldAbsence::Null)
            }
            Some("FirstValueAvroPayload") if semantics == Semantics::V0x => choose(OverBase::IfHigher),
            // Measured on tables of versions 6 and 8: 0.15 fills strings and bytes. 1.1 and 1.2 fill neither: the payload writes the
            // older values into the newer Avro record and returns that record, which `HoodieAvroRecordMerger.merge` takes for the
            // newer one unchanged. Table version 9 has FILL_UNAVAILABLE in its place, which fills strings.
            Some("PostgresDebeziumAvroPayload") if semantics == Semantics::V1x => choose(OverBase::UnlessLower),
            Some("PostgresDebeziumAvroPayload") => {
                fold(PayloadFold::Postgres, FieldAbsence::TextOrBytes(UNAVAILABLE.to_owned()))
            }
            _ => return Err(Error::unsupported(format!("merging by the payload class {class}"))),
        })
    }
}

/// What it takes to make rows of carried columns.
pub(in crate::read) struct Folding<'a> {
    pub(in crate::read) table: &'a avro::Schema,
    pub(in crate::read) types: &'a Schema,
    pub(in crate::read) carried: &'a Schema,
    pub(in crate::read) keys: &'a KeyColumns,
    pub(in crate::read) deleted_rows: DeletedRows,
}

impl FoldBy {
    /// The columns that every record must bring.
    ///
    /// # Errors
    /// `Unsupported` for `HoodieMetadataPayload` on a table whose schema is not that of a metadata table.
    pub(in crate::read) fn columns(&self, types: &Schema, keys: &KeyColumns) -> Result<Vec<String>> {
        match self {
            Self::Rules(..) => Ok(keys.fold_columns()),
            Self::Merger(_) => Ok(types.fields().iter().map(|field| field.name().clone()).collect()),
            Self::Metadata if types.index_of(METADATA_TYPE).is_err() => Err(Error::unsupported(format!(
                "merging by the payload class org.apache.hudi.metadata.{}, which merges records of metadata tables only: this table has no column {METADATA_TYPE:?}{}",
                payload::METADATA,
                payload::ALTERNATIVES
            ))),
            Self::Metadata => Ok(vec![METADATA_TYPE.to_owned()]),
        }
    }

    /// The fold. `missing` are the columns that blocks of partial records do not have.
    ///
    /// # Errors
    /// An internal error if the merger would not be given every carried column.
    pub(in crate::read) fn fold(self, of: &Folding<'_>, missing: MissingColumns) -> Result<Box<dyn Fold>> {
        Ok(match self {
            Self::Rules(rules, absence) => Box::new(folder(rules, &absence, of, missing)),
            Self::Merger(merger) => Box::new(custom(merger.0, of)?),
            Self::Metadata => Box::new(custom(Arc::new(MetadataMerger), of)?),
        })
    }
}

/// A fold by a merger, which is given the carried columns in the table's order.
fn custom(merger: Arc<dyn RowMerger>, of: &Folding<'_>) -> Result<CustomFold> {
    let place = |name: &String| of.carried.index_of(name).ok();
    let columns: Vec<usize> = of.types.fields().iter().filter_map(|field| place(field.name())).collect();
    if columns.len() != of.carried.fields().len() {
        return Err(Error::internal(format!(
            "{} of {} columns that are read are in the table's schema",
            columns.len(),
            of.carried.fields().len()
        )));
    }
    Ok(CustomFold { merger, columns, deleted_rows: of.deleted_rows })
}

fn folder(rules: FoldRules, absence: &FieldAbsence, of: &Folding<'_>, missing: MissingColumns) -> Folder {
    let Folding { table, carried, keys, .. } = of;
    let field_of = |name: &str| table.field(name);
    let names = || carried.fields().iter().map(|field| field.name().as_str());
    // The result of a fill keeps the ordering of the winner, and so do payloads of 0.x; elsewhere it is read from the row that was
    // made.
    let ordering = match rules {
        FoldRules::Fill(_) | FoldRules::Payload0x(..) => None,
        _ => keys.first_ordering_column().and_then(|name| names().position(|one| one == name)),
    };
    Folder {
        rules,
        absence: names().map(|name| field_of(name).map_or(Absence::Never, |field| absence.of(field))).collect(),
        is_meta: names().map(|name| meta_columns::ALL.contains(&name)).collect(),
        ordering_column: ordering,
        flag_column: keys.filled_flag().and_then(|name| names().position(|one| one == name)),
        missing,
        deleted_rows: of.deleted_rows,
    }
}

impl FieldAbsence {
    fn of(&self, field: &avro::Field) -> Absence {
        match self {
            Self::Never => Absence::Never,
            Self::Null => Absence::Null,
            Self::Text(text) => Absence::Text(text.clone()),
            Self::TextOrBytes(text) => Absence::TextOrBytes(text.clone()),
            Self::Default { by_identity } => match &field.default {
                None if *by_identity => Absence::Never,
                None | Some(Value::Null) => Absence::Null,
                Some(Value::Bool(value)) => Absence::Boolean(*value),
                // Java keeps one object for each small whole number.
                Some(Value::Number(number)) => match number.as_f64() {
                    Some(value) if !by_identity || number.is_i64() && (-128.0..128.0).contains(&value) => {
                        Absence::Number(value)
                    }
                    _ => Absence::Never,
                },
                Some(_) => Absence::Never,
            },
        }
    }
}
