//! Which columns a table may get: names that differ in Spark, and types that writers and readers of Hudi tables have.

use std::collections::{HashMap, HashSet};

use arrow_schema::{DataType, Fields};

use crate::arrow_types::under;
use crate::parse::MAX_DEPTH;
use crate::types::Field;
use mortice_base::error::{Error, Result};

/// Refuses columns that a table cannot get, at any depth: rows with them could not be written, or the table could not
/// be read.
///
/// # Errors
/// `InvalidArgument`, naming the column.
pub fn check_new_columns(columns: &Fields, path: &str) -> Result<()> {
    check_columns(columns, path, 0)
}

fn check_columns(columns: &Fields, path: &str, level: usize) -> Result<()> {
    check_names(columns, &[], path)?;
    columns.iter().try_for_each(|column| check_type(column.data_type(), &under(path, column.name()), level))
}

/// Refuses names that are there twice, and new ones that differ from others in case alone: Spark, and so Hudi, cannot
/// read a table that has both. `own` are the columns that the table has.
///
/// # Errors
/// `InvalidArgument`, naming the column.
pub fn check_names(columns: &Fields, own: &[Field], path: &str) -> Result<()> {
    let own_names: HashSet<&str> = own.iter().map(|field| field.name.as_str()).collect();
    let mut known: HashMap<String, &str> = own_names.iter().map(|name| (name.to_lowercase(), *name)).collect();
    let mut seen: HashSet<&str> = HashSet::new();
    for column in columns {
        let name = column.name().as_str();
        if !seen.insert(name) {
            return Err(Error::invalid_argument(format!(
                "column {:?} is there more than once; rename or leave out the others",
                under(path, name)
            )));
        }
        if own_names.contains(name) {
            continue;
        }
        if let Some(other) = known.insert(name.to_lowercase(), name) {
            return Err(Error::invalid_argument(format!(
                "column {:?} differs from {:?} in case alone, so that Spark cannot read the table; rename it",
                under(path, name),
                under(path, other)
            )));
        }
    }
    Ok(())
}

fn check_type(ty: &DataType, path: &str, level: usize) -> Result<()> {
    use DataType as Ty;
    if level > MAX_DEPTH {
        return Err(Error::invalid_argument(format!(
            "column {path:?}: types are nested in more than {MAX_DEPTH} levels, which no reader of the table takes"
        )));
    }
    let level = level + 1;
    let remedy = match ty {
        Ty::Time32(_) | Ty::Time64(_) => "Spark has no times of day: cast it to an integer or a string",
        Ty::Decimal256(..) => "cast it to decimal128, which has up to 38 digits",
        Ty::ListView(_) | Ty::LargeListView(_) => "cast it to a list",
        Ty::RunEndEncoded(..) => "cast it to the type of its values",
        Ty::Struct(members) if members.is_empty() => "Parquet has no struct without fields: leave it out",
        Ty::Struct(members) => return check_columns(members, path, level),
        Ty::Dictionary(_, values) => return check_type(values, path, level),
        Ty::List(item) | Ty::LargeList(item) | Ty::FixedSizeList(item, _) => {
            return check_type(item.data_type(), &under(path, "element"), level);
        }
        Ty::Map(entries, _) => match entries.data_type() {
            Ty::Struct(entry) => {
                let value = entry.get(1).map(|value| value.data_type());
                return value.map_or(Ok(()), |value| check_type(value, &under(path, "value"), level));
            }
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    Err(Error::invalid_argument(format!("column {path:?}: unsupported type {ty} of a new column; {remedy}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{Field as ArrowField, TimeUnit};

    use super::*;
    use crate::types::Type;
    use mortice_base::error::ErrorKind;

    fn column(name: &str, ty: DataType) -> ArrowField {
        ArrowField::new(name, ty, true)
    }

    #[test]
    fn types_that_no_reader_or_writer_has_are_refused_at_any_depth() {
        let item = |ty: DataType| Arc::new(ArrowField::new("item", ty, true));
        for ty in [
            DataType::Time32(TimeUnit::Second),
            DataType::Time32(TimeUnit::Millisecond),
            DataType::Time64(TimeUnit::Microsecond),
            DataType::Time64(TimeUnit::Nanosecond),
            DataType::Decimal256(10, 2),
            DataType::ListView(item(DataType::Int32)),
            DataType::RunEndEncoded(item(DataType::Int32), item(DataType::Utf8)),
            DataType::Struct(Fields::empty()),
        ] {
            let list = DataType::List(item(ty.clone()));
            let nested = DataType::Struct(vec![column("inner", ty.clone())].into());
            for (ty, path) in [(ty, "\"x\""), (list, "\"x.element\""), (nested, "\"x.inner\"")] {
                let error = check_new_columns(&vec![column("x", ty)].into(), "").unwrap_err();
                assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains(path), "{error}");
            }
        }
        for ty in [DataType::Decimal32(5, 2), DataType::Decimal64(10, 2), DataType::LargeList(item(DataType::Date64))] {
            check_new_columns(&vec![column("x", ty)].into(), "").unwrap();
        }
    }

    #[test]
    fn names_are_unique_without_regard_to_case() {
        let columns = |names: &[&str]| -> Fields { names.iter().map(|name| column(name, DataType::Int32)).collect() };
        let own = ["v", "W"].map(|name| Field { name: name.to_owned(), ty: Type::Int, default: None });
        check_names(&columns(&["v", "W", "x"]), &own, "").unwrap();
        for (names, word) in [(&["v", "v"][..], "more than once"), (&["V"], "case alone"), (&["x", "X"], "case alone")]
        {
            let error = check_names(&columns(names), &own, "").unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        // Columns that a table has already can still be written.
        let both = ["v", "V"].map(|name| Field { name: name.to_owned(), ty: Type::Int, default: None });
        check_names(&columns(&["v", "V"]), &both, "").unwrap();
    }
}
