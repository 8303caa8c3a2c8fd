//! What the fields of a record are called in a file, where the table calls them otherwise: columns are told by their ids under
//! schema on read (`InternalSchemaMerger`), so that a file keeps the names it was written with.
//!
//! Only fields that differ are listed, each with what differs inside of it: in the record that it is, or that its lists and maps
//! hold.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The names of a record's fields in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FieldNames {
    changed: Vec<Changed>,
}

/// A field that differs, itself or inside.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Changed {
    table: String,
    /// None where the file does not have it.
    file: Option<String>,
    inside: FieldNames,
}

static SAME: FieldNames = FieldNames { changed: Vec::new() };

impl FieldNames {
    /// Those of a file that calls all fields as the table does.
    #[must_use]
    pub fn same() -> &'static Self {
        &SAME
    }

    /// Whether the file calls all fields as the table does.
    #[must_use]
    pub fn are_the_same(&self) -> bool {
        self.changed.is_empty()
    }

    /// Notes what a field of the table is called in the file, and what differs inside of it; `file` is none where the file does
    /// not have the field, although it may have another of that name.
    pub fn add(&mut self, table: &str, file: Option<&str>, inside: Self) {
        if file != Some(table) || !inside.are_the_same() {
            self.changed.push(Changed { table: table.to_owned(), file: file.map(str::to_owned), inside });
        }
    }

    /// What the file calls a field of the table, and the names inside of it. Of a field that it does not have: a name that no file
    /// can have.
    #[must_use]
    pub fn in_file<'a>(&'a self, table: &'a str) -> (Cow<'a, str>, &'a Self) {
        match self.changed.iter().find(|changed| changed.table == table) {
            None => (Cow::Borrowed(table), &SAME),
            Some(changed) => (changed.file.as_deref().map_or_else(|| nobodys(table), Cow::Borrowed), &changed.inside),
        }
    }

    /// What the table calls a field of the file, and the names inside of it. Of a field that the table does not have, although it
    /// has another of that name: a name that no table can have.
    #[must_use]
    pub fn in_table<'a>(&'a self, file: &'a str) -> (Cow<'a, str>, &'a Self) {
        if let Some(changed) = self.changed.iter().find(|changed| changed.file.as_deref() == Some(file)) {
            return (Cow::Borrowed(&changed.table), &changed.inside);
        }
        let is_anothers = self.changed.iter().any(|changed| changed.table == file);
        (if is_anothers { nobodys(file) } else { Cow::Borrowed(file) }, &SAME)
    }
}

/// A NUL stands in no name: neither Avro nor Spark lets it.
fn nobodys(name: &str) -> Cow<'static, str> {
    Cow::Owned(format!("{name}\0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        let mut inside = FieldNames::default();
        inside.add("y", Some("x"), FieldNames::default());
        let mut names = FieldNames::default();
        names.add("same", Some("same"), FieldNames::default());
        names.add("new", Some("old"), FieldNames::default());
        names.add("struct", Some("struct"), inside.clone());
        assert_eq!(names.in_file("new"), (Cow::Borrowed("old"), FieldNames::same()));
        assert_eq!(names.in_table("old"), (Cow::Borrowed("new"), FieldNames::same()));
        assert_eq!(names.in_file("struct"), (Cow::Borrowed("struct"), &inside));
        assert_eq!(names.in_table("struct"), (Cow::Borrowed("struct"), &inside));
        assert_eq!(names.in_file("same").0, "same");
        assert_eq!(names.changed.len(), 2);
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
