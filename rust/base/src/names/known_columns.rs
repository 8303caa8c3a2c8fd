//! What an error says of the names that a table has, where a name is not one of them.

use strsim::{normalized_levenshtein, osa_distance};

use super::meta_columns;

/// More names than these are not listed.
const LISTED: usize = 20;
const NEAREST: usize = 3;
/// How similar a name must be to be suggested, from 0 to 1.
const LEAST_SIMILAR: f64 = 0.6;

/// Returns the name that was probably meant by one that does not exist: in another case, or else the most similar one.
#[must_use]
pub fn nearest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for other in known {
        if other.to_lowercase() == lower {
            return Some(other);
        }
        let similarity = normalized_levenshtein(name, other);
        if similarity >= best.map_or(LEAST_SIMILAR, |(most, _)| most) {
            best = Some((similarity, other));
        }
    }
    best.map(|(_, other)| other)
}

/// Describes the columns that a table has: the one that was probably meant, then all of them, or the names nearest to
/// `name` if there are many. Meta columns are named only where one of them was probably meant.
#[must_use]
pub fn known_columns<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let (meta, mut known): (Vec<&str>, Vec<&str>) =
        known.partition(|one| meta_columns::ALL.contains(one) || *one == meta_columns::OPERATION);
    let near = nearest_name(name, known.iter().chain(&meta).copied());
    let meant = near.map_or_else(String::new, |near| format!("did you mean {near:?}? "));
    if known.len() <= LISTED {
        let and_meta = if meta.is_empty() { "" } else { ", and Hudi's meta columns" };
        return format!("{meant}the table has: {}{and_meta}", known.join(", "));
    }
    let (count, lower) = (known.len(), name.to_lowercase());
    known.sort_by_cached_key(|one| (osa_distance(&lower, &one.to_lowercase()), *one));
    known.truncate(NEAREST);
    format!("{meant}the table has {count} columns, of which the nearest names are: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_names_are_listed_and_of_many_the_nearest() {
        assert_eq!(known_columns("c", ["b", "a"].into_iter()), "the table has: b, a");
        let many: Vec<String> = (0..2_000).map(|number| format!("Column_{number}")).collect();
        let text = known_columns("colum_77", many.iter().map(String::as_str));
        let nearest = "the table has 2000 columns, of which the nearest names are: Column_77, ";
        assert!(text.starts_with(&format!("did you mean \"Column_77\"? {nearest}")), "{text}");
        assert!(text.len() < 150, "{text}");
    }

    #[test]
    fn the_name_that_was_meant_is_suggested() {
        let names = ["_hoodie_commit_time", "city", "fare", "FARES"];
        let said = |name: &str| known_columns(name, names.into_iter());
        assert_eq!(said("Fare"), "did you mean \"fare\"? the table has: city, fare, FARES, and Hudi's meta columns");
        assert!(said("faire").starts_with("did you mean \"fare\"? "));
        assert!(said("fares").starts_with("did you mean \"FARES\"? "));
        assert!(said("_hoodie_comit_time").starts_with("did you mean \"_hoodie_commit_time\"? "));
        assert!(said("rider").starts_with("the table has: city, "));
    }
}
