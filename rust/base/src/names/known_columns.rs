//! What an error says of the names that a table has, where a name is not one of them.

use strsim::osa_distance;

/// More names than these are not listed.
const LISTED: usize = 20;
const NEAREST: usize = 3;

/// Describes the columns that a table has: all of them, or the names nearest to `name` if there are many.
#[must_use]
pub fn known_columns<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.collect();
    if known.len() <= LISTED {
        return format!("the table has: {}", known.join(", "));
    }
    let (count, lower) = (known.len(), name.to_lowercase());
    known.sort_by_cached_key(|one| (osa_distance(&lower, &one.to_lowercase()), *one));
    known.truncate(NEAREST);
    format!("the table has {count} columns, of which the nearest names are: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_names_are_listed_and_of_many_the_nearest() {
        assert_eq!(known_columns("c", ["b", "a"].into_iter()), "the table has: b, a");
        let many: Vec<String> = (0..2_000).map(|number| format!("Column_{number}")).collect();
        let text = known_columns("colum_77", many.iter().map(String::as_str));
        assert!(text.starts_with("the table has 2000 columns, of which the nearest names are: Column_77, "), "{text}");
        assert!(text.len() < 120, "{text}");
    }
}
