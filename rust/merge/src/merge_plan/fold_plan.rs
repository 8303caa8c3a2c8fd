//! What a fold needs of a table, and the fold.

use std::sync::Arc;

use arrow_schema::Schema;

use super::field_absence::FieldAbsence;
use crate::config::{PayloadClass, payload};
use crate::keys::KeyColumns;
use crate::merge::DeletedRows;
use crate::merge::fold::{
    Absence, CustomFold, Fold, FoldRules, METADATA_TYPE, MetadataMerger, MissingColumns, RowMerger, RuleFold,
};
use mortice_avro as avro;
use mortice_base::error::{Error, Result};
use mortice_base::names::instant_range::InstantRange;
use mortice_base::names::meta_columns;

/// How several records of a key are folded into a row.
pub enum FoldPlan {
    /// Fields of several records, by the rules of a partial update mode or payload class.
    Rules(FoldRules, FieldAbsence),
    /// The rows that a user-defined merger returns.
    Merger(Arc<dyn RowMerger>),
    /// Records of the metadata table.
    Metadata,
}

/// What is known of the columns that are folded.
pub struct FoldColumns<'a> {
    /// The table's schema.
    pub table: &'a avro::Schema,
    /// The same as Arrow types.
    pub types: &'a Schema,
    /// The columns of merged rows.
    pub projected: &'a Schema,
    /// The columns of keys and ordering values.
    pub keys: &'a KeyColumns,
    /// Whether deleted rows are returned.
    pub deleted_rows: DeletedRows,
    /// The commits whose records are merged; `None` for all of them.
    pub commits: Option<&'a InstantRange>,
}

impl FoldPlan {
    /// The columns that every record must have.
    pub(super) fn columns(&self, types: &Schema, keys: &KeyColumns) -> Result<Vec<String>> {
        match self {
            Self::Rules(..) => Ok(keys.fold_columns()),
            Self::Merger(_) => Ok(types.fields().iter().map(|field| field.name().clone()).collect()),
            Self::Metadata if types.index_of(METADATA_TYPE).is_err() => Err(Error::unsupported(format!(
                "the payload class org.apache.hudi.metadata.{} is not supported for this table: it merges records of metadata tables, and the table has no column {METADATA_TYPE:?}{}",
                PayloadClass::Metadata.name(),
                payload::ALTERNATIVES
            ))),
            Self::Metadata => Ok(vec![METADATA_TYPE.to_owned()]),
        }
    }

    /// The fold. `missing` are the columns that blocks of partial records do not have.
    pub(super) fn fold(self, of: &FoldColumns<'_>, missing: MissingColumns) -> Result<Box<dyn Fold>> {
        Ok(match self {
            Self::Rules(rules, absence) => Box::new(by_rules(rules, &absence, of, missing)),
            Self::Merger(merger) => Box::new(by_merger(merger, of)?),
            Self::Metadata => Box::new(by_merger(Arc::new(MetadataMerger), of)?),
        })
    }
}

/// A fold by a merger, which gets the projected columns in the table's order.
fn by_merger(merger: Arc<dyn RowMerger>, of: &FoldColumns<'_>) -> Result<CustomFold> {
    let ordinal = |name: &String| of.projected.index_of(name).ok();
    let columns: Vec<usize> = of.types.fields().iter().filter_map(|field| ordinal(field.name())).collect();
    if columns.len() != of.projected.fields().len() {
        return Err(Error::internal(format!(
            "{} of {} columns that are read are in the table's schema",
            columns.len(),
            of.projected.fields().len()
        )));
    }
    Ok(CustomFold { merger, columns, deleted_rows: of.deleted_rows })
}

fn by_rules(rules: FoldRules, absence: &FieldAbsence, of: &FoldColumns<'_>, missing: MissingColumns) -> RuleFold {
    let FoldColumns { table, projected, keys, .. } = of;
    let names = || projected.fields().iter().map(|field| field.name().as_str());
    // The result of a fill keeps the ordering value of the winner, and so do payloads of 0.x; elsewhere it is read from
    // the merged row.
    let ordering = match rules {
        FoldRules::Fill(_) | FoldRules::Payload0x(..) => None,
        _ => keys.first_ordering_column().and_then(|name| names().position(|one| one == name)),
    };
    RuleFold {
        rules,
        absence: names()
            .map(|name| table.field(name).map_or(Absence::Never, |field| absence.absence_in(field)))
            .collect(),
        is_meta: names().map(|name| meta_columns::ALL.contains(&name)).collect(),
        ordering_column: ordering,
        flag_column: keys.filled_flag().and_then(|name| names().position(|one| one == name)),
        missing,
        commits: of.commits.and_then(|commits| {
            let column = names().position(|name| name == meta_columns::COMMIT_TIME)?;
            Some((column, commits.clone()))
        }),
        deleted_rows: of.deleted_rows,
    }
}
