//! Maps the names of a table's fields to the names in one of its files. With schema on read, fields are identified by
//! id, and a file keeps the names that it was written with (`InternalSchemaMerger`).
//!
//! Only fields with different names are listed. Fields of nested records, of list items and of map values are listed in
//! the entry of the field that contains them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The names of a record's fields in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FieldNames {
    renamed: Vec<RenamedField>,
}

/// A field that has another name in the file, or that contains such a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct RenamedField {
    table: String,
    /// `None` if the file does not have the field.
    file: Option<String>,
    nested: FieldNames,
}

static IDENTITY: FieldNames = FieldNames { renamed: Vec::new() };

impl FieldNames {
    /// Returns the mapping of a file that has the table's names.
    #[must_use]
    pub fn identity() -> &'static Self {
        &IDENTITY
    }

    /// Returns true if the file has the table's names.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.renamed.is_empty()
    }

    /// Adds a field with its name in the file and the mapping of its nested fields. `file` is `None` if the file does
    /// not have the field, although it may have another field of that name.
    pub fn add(&mut self, table: &str, file: Option<&str>, nested: Self) {
        if file != Some(table) || !nested.is_identity() {
            self.renamed.push(RenamedField { table: table.to_owned(), file: file.map(str::to_owned), nested });
        }
    }

    /// Returns the name of a table's field in the file, and the mapping of its nested fields. For a field that the file
    /// does not have, the name is one that no file can contain.
    #[must_use]
    pub fn in_file<'a>(&'a self, table: &'a str) -> (Cow<'a, str>, &'a Self) {
        match self.renamed.iter().find(|renamed| renamed.table == table) {
            None => (Cow::Borrowed(table), &IDENTITY),
            Some(renamed) => {
                (renamed.file.as_deref().map_or_else(|| unused_name(table), Cow::Borrowed), &renamed.nested)
            }
        }
    }

    /// Returns the table's name of a file's field, and the mapping of its nested fields. For a field that the table
    /// does not have, although it may have another field of that name, the name is one that no table can contain.
    #[must_use]
    pub fn in_table<'a>(&'a self, file: &'a str) -> (Cow<'a, str>, &'a Self) {
        if let Some(renamed) = self.renamed.iter().find(|renamed| renamed.file.as_deref() == Some(file)) {
            return (Cow::Borrowed(&renamed.table), &renamed.nested);
        }
        let is_other_field = self.renamed.iter().any(|renamed| renamed.table == file);
        (if is_other_field { unused_name(file) } else { Cow::Borrowed(file) }, &IDENTITY)
    }
}

/// Returns a name that no field can have: neither Avro nor Spark accepts NUL in a name.
fn unused_name(name: &str) -> Cow<'static, str> {
    Cow::Owned(format!("{name}\0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        let mut nested = FieldNames::default();
        nested.add("y", Some("x"), FieldNames::default());
        let mut names = FieldNames::default();
        names.add("same", Some("same"), FieldNames::default());
        names.add("new", Some("old"), FieldNames::default());
        names.add("struct", Some("struct"), nested.clone());
        assert_eq!(names.in_file("new"), (Cow::Borrowed("old"), FieldNames::identity()));
        assert_eq!(names.in_table("old"), (Cow::Borrowed("new"), FieldNames::identity()));
        assert_eq!(names.in_file("struct"), (Cow::Borrowed("struct"), &nested));
        assert_eq!(names.in_table("struct"), (Cow::Borrowed("struct"), &nested));
        assert_eq!(names.in_file("same").0, "same");
        assert_eq!(names.renamed.len(), 2);
    }

    #[test]
    fn a_field_of_the_same_name_may_be_another() {
        let mut swapped = FieldNames::default();
        swapped.add("a", Some("b"), FieldNames::default());
        swapped.add("b", Some("a"), FieldNames::default());
        assert_eq!((swapped.in_file("a").0, swapped.in_table("a").0), ("b".into(), "b".into()));
        let mut dropped = FieldNames::default();
        dropped.add("a", None, FieldNames::default());
        assert_ne!(dropped.in_file("a").0, "a");
        assert_ne!(dropped.in_table("a").0, "a");
    }
}
