//! Finds the fields of a table in a file whose names differ from the table's in case only. Spark resolves names in
//! either case, and so does Hudi on Spark: `State`, when a file was written, and `state` now are one column.
//!
//! | the file has | the field of the table is |
//! |---|---|
//! | the name itself | that one, also if the file has others |
//! | one name that differs in case, which no other field of the table has itself | that one |
//! | several such names, or one for several fields of the table | ambiguous: an error where the column is read |
//! | none | not in the file |
//!
//! Fields of records, of list items and of map values are found in the same way.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::field_names::FieldNames;
use crate::error::{Error, Result};

/// A field and the fields in it: of the record that it is, or that its list items or map values are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameTree<'a> {
    /// The name of the field.
    pub name: &'a str,
    /// The fields in it.
    pub fields: Vec<NameTree<'a>>,
}

/// The names of a table's fields in a file, in either case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseNames {
    names: FieldNames,
    ambiguous: Vec<AmbiguousName>,
}

/// A column that cannot be found, or that has such a field.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AmbiguousName {
    column: String,
    field: String,
    in_table: Vec<String>,
    in_file: Vec<String>,
}

/// Names that are all known: none is ambiguous.
impl From<FieldNames> for CaseNames {
    fn from(names: FieldNames) -> Self {
        Self { names, ambiguous: Vec::new() }
    }
}

impl CaseNames {
    /// Finds the fields of a table in a file.
    #[must_use]
    pub fn new(table: &[NameTree<'_>], file: &[NameTree<'_>]) -> Self {
        let mut ambiguous = Vec::new();
        let names = matched(table, file, "", &mut ambiguous);
        Self { names, ambiguous }
    }

    /// Returns true if every field that the file has is in it under the table's name.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.names.is_identity() && self.ambiguous.is_empty()
    }

    /// Returns the names of the fields that are not ambiguous.
    #[must_use]
    pub fn names(&self) -> &FieldNames {
        &self.names
    }

    /// Returns true if a column, or a field in it, is ambiguous.
    #[must_use]
    pub fn is_ambiguous(&self, column: &str) -> bool {
        self.ambiguous.iter().any(|ambiguous| ambiguous.column == column)
    }

    /// Makes sure that none of some columns is ambiguous.
    ///
    /// # Errors
    /// `Unsupported`, with the names of the fields.
    pub fn check<'a>(&self, columns: impl IntoIterator<Item = &'a str>) -> Result<()> {
        if self.ambiguous.is_empty() {
            return Ok(());
        }
        let found = columns.into_iter().find_map(|name| self.ambiguous.iter().find(|other| other.column == name));
        match found {
            None => Ok(()),
            Some(AmbiguousName { field, in_table, in_file, .. }) => Err(Error::unsupported(format!(
                "ambiguous column {field}: the table has {} and the file has {}, which differ in case only; rename one of them",
                in_table.join(" and "),
                in_file.join(" and ")
            ))),
        }
    }
}

fn matched(
    table: &[NameTree<'_>],
    file: &[NameTree<'_>],
    path: &str,
    ambiguous: &mut Vec<AmbiguousName>,
) -> FieldNames {
    let mut names = FieldNames::default();
    let in_file = Lookup::new(file);
    let in_table = Lookup::new(table);
    for (at, field) in table.iter().enumerate() {
        let whole = if path.is_empty() { field.name.to_owned() } else { format!("{path}.{}", field.name) };
        let found = match in_file.exact(field.name, at) {
            Some(found) => found,
            None => {
                let candidates = in_file.others(field.name, &in_table);
                let rivals = in_table.others(field.name, &in_file);
                match (candidates.as_slice(), rivals.len()) {
                    ([], _) => continue,
                    ([one], 1) => *one,
                    _ => {
                        let listed = |fields: &[&NameTree<'_>]| fields.iter().map(|one| one.name.to_owned()).collect();
                        ambiguous.push(AmbiguousName {
                            column: whole.split('.').next().unwrap_or_default().to_owned(),
                            field: whole,
                            in_table: listed(&rivals),
                            in_file: listed(&candidates),
                        });
                        continue;
                    }
                }
            }
        };
        names.add(field.name, Some(found.name), matched(&field.fields, &found.fields, &whole, ambiguous));
    }
    names
}

/// Fields by their names.
struct Lookup<'f, 'a> {
    fields: &'f [NameTree<'a>],
    by_name: OnceCell<HashMap<&'a str, usize>>,
    by_lower: OnceCell<HashMap<String, Vec<usize>>>,
}

impl<'f, 'a> Lookup<'f, 'a> {
    fn new(fields: &'f [NameTree<'a>]) -> Self {
        Self { fields, by_name: OnceCell::new(), by_lower: OnceCell::new() }
    }

    /// The field of that name. Usually table and file have the same fields at the same places.
    fn exact(&self, name: &str, at: usize) -> Option<&'f NameTree<'a>> {
        if let Some(found) = self.fields.get(at).filter(|field| field.name == name) {
            return Some(found);
        }
        let names = || self.fields.iter().enumerate().map(|(at, field)| (field.name, at)).collect();
        self.by_name.get_or_init(names).get(name).and_then(|at| self.fields.get(*at))
    }

    /// The fields whose names differ from a name in case at most, and which the other side does not have.
    fn others(&self, name: &str, other: &Lookup<'_, '_>) -> Vec<&'f NameTree<'a>> {
        let by_lower = self.by_lower.get_or_init(|| {
            let mut found: HashMap<String, Vec<usize>> = HashMap::new();
            for (at, field) in self.fields.iter().enumerate() {
                found.entry(field.name.to_lowercase()).or_default().push(at);
            }
            found
        });
        let alike = by_lower.get(&name.to_lowercase()).into_iter().flatten();
        let fields = alike.filter_map(|at| Some((*at, self.fields.get(*at)?)));
        fields.filter(|(at, field)| other.exact(field.name, *at).is_none()).map(|(_, field)| field).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of a text such as `a,s(x,y)`.
    fn fields(text: &str) -> Vec<NameTree<'_>> {
        let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
        let whole = text.char_indices().chain([(text.len(), ',')]);
        for (at, letter) in whole {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => {
                    let one = &text[start..at];
                    let (name, inside) = one.split_once('(').unwrap_or((one, ")"));
                    let inside = &inside[..inside.len() - 1];
                    let inside = if inside.is_empty() { Vec::new() } else { fields(inside) };
                    found.push(NameTree { name, fields: inside });
                    start = at + 1;
                }
                _ => {}
            }
        }
        found
    }

    fn names(table: &str, file: &str) -> CaseNames {
        CaseNames::new(&fields(table), &fields(file))
    }

    #[test]
    fn the_name_itself_comes_first() {
        assert!(names("id,state", "id,state").is_identity());
        assert!(names("id,state", "State,state,id").is_identity());
        assert!(names("State,state", "State").is_identity(), "the file was written before the other was added");
        assert!(names("id,added", "id").is_identity());
    }

    #[test]
    fn a_name_in_another_case_is_found() {
        let found = names("id,state", "State,id");
        assert_eq!(found.names().in_file("state").0, "State");
        assert_eq!(found.names().in_table("State").0, "state");
        assert_eq!(names("größe", "GRÖSSE,Größe").names().in_file("größe").0, "Größe");
        let both = names("state,City", "City,STATE,city");
        assert_eq!((both.names().in_file("state").0, both.names().in_file("City").0), ("STATE".into(), "City".into()));
    }

    #[test]
    fn fields_in_fields_are_found() {
        let found = names("s(a,b(c))", "S(A,b(C))");
        let (name, inside) = found.names().in_file("s");
        assert_eq!((name, inside.in_file("a").0), ("S".into(), "A".into()));
        assert_eq!(inside.in_file("b").1.in_file("c").0, "C");
    }

    #[test]
    fn an_ambiguity_names_both() {
        let found = names("id,state", "id,State,STATE");
        assert!(found.is_ambiguous("state") && !found.is_ambiguous("id"));
        assert!(found.check(["id"]).is_ok());
        let error = found.check(["id", "state"]).unwrap_err().to_string();
        assert!(error.contains("State and STATE"), "{error}");
        let error = names("Id,state,State", "Id,STATE").check(["State"]).unwrap_err().to_string();
        assert!(error.contains("state and State") && error.contains("STATE"), "{error}");
        let error = names("s(a)", "s(A,Aa,x(y))").check(["s"]);
        assert!(error.is_ok());
        let error = names("s(x(ab))", "S(x(Ab,aB))").check(["s"]).unwrap_err().to_string();
        assert!(error.contains("s.x.ab"), "{error}");
    }
}
