//! Names of columns: those of the rows and those of the table.

use std::collections::HashMap;

use arrow_schema::Schema;

use mortice_base::error::{Error, Result};

/// Refuses columns that would be left out, as their names differ from the table's in case, and those that the rows have
/// twice.
pub(super) fn check_names(columns: &Schema, given: &[String]) -> Result<()> {
    for (at, name) in given.iter().enumerate() {
        if given.iter().take(at).any(|other| other == name) {
            return Err(Error::invalid_argument(format!("the rows have several columns '{name}'; leave one of them")));
        }
        if columns.fields().find(name).is_some() {
            continue;
        }
        let lower = name.to_lowercase();
        if let Some(own) = columns.fields().iter().find(|field| field.name().to_lowercase() == lower) {
            return Err(Error::invalid_argument(format!(
                "the rows have a column '{name}', and the table '{}': names of columns are case-sensitive; rename the column",
                own.name()
            )));
        }
    }
    Ok(())
}

/// The columns of rows, as the table spells them if case is ignored.
pub(super) fn spelled(columns: &Schema, given: &[String]) -> Result<Vec<String>> {
    let mut by_lower: HashMap<String, &String> = HashMap::new();
    for field in columns.fields() {
        by_lower.entry(field.name().to_lowercase()).or_insert(field.name());
    }
    let mut found: Vec<String> = Vec::with_capacity(given.len());
    for name in given {
        let own = match columns.fields().find(name) {
            Some(_) => name,
            None => by_lower.get(&name.to_lowercase()).copied().unwrap_or(name),
        };
        if let Some((other, _)) = given.iter().zip(&found).find(|(_, found)| *found == own) {
            return Err(Error::invalid_argument(format!(
                "the rows have the columns '{other}' and '{name}', which are one if case is ignored; drop one"
            )));
        }
        found.push(own.clone());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::super::testing::names;
    use super::*;

    fn columns() -> Schema {
        Schema::new(["id", "Fare", "fare"].map(|name| Field::new(name, DataType::Utf8, true)).to_vec())
    }

    #[test]
    fn a_column_is_spelled_as_the_tables() {
        assert_eq!(spelled(&columns(), &names(&["ID", "fare", "Op"])).unwrap(), ["id", "fare", "Op"]);
        assert_eq!(spelled(&columns(), &names(&["FARE"])).unwrap(), ["Fare"]);
        let error = spelled(&columns(), &names(&["id", "Id"])).unwrap_err();
        assert!(error.text().contains("'id' and 'Id', which are one"), "{error}");
    }

    #[test]
    fn another_spelling_is_refused_where_case_counts() {
        assert!(check_names(&columns(), &names(&["id", "Fare", "fare", "op"])).is_ok());
        let error = check_names(&columns(), &names(&["ID"])).unwrap_err();
        assert!(error.text().contains("a column 'ID', and the table 'id'"), "{error}");
        assert!(check_names(&columns(), &names(&["op", "op"])).is_err());
    }
}
