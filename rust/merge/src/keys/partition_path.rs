//! Parses the values of partition columns from a partition path (`HoodieSparkUtils.parsePartitionColumnValues`).
//!
//! | segments | values |
//! |---|---|
//! | as many as columns | one each, without the prefix `column=` if it has one; decoded if `decode` is set |
//! | more, one column | the whole path, not decoded |
//! | more, hive style | each from `column=` to the next column, not decoded |
//! | any other number | unknown |
//!
//! `__HIVE_DEFAULT_PARTITION__` is null.

use mortice_base::names::decode_percent_codes;

/// The segment for a value that is null or empty.
pub const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Returns the values of the columns in a partition path, in the order of `columns`; `None` if they are unknown.
#[must_use]
pub fn values(columns: &[String], partition: &str, decode: bool) -> Option<Vec<Option<String>>> {
    let fragments: Vec<&str> = partition.split('/').collect();
    let strings: Vec<String> = match columns {
        _ if fragments.len() == columns.len() => {
            let values = columns.iter().zip(&fragments).map(|(column, fragment)| value_of(column, fragment));
            values.map(|value| if decode { decode_percent_codes(value) } else { value.to_owned() }).collect()
        }
        [only] => vec![value_of(only, partition).to_owned()],
        _ => over_slashes(columns, &fragments)?,
    };
    Some(strings.into_iter().map(|text| Some(text).filter(|text| text != NULL)).collect())
}

/// Returns the value of a segment, without the name of its column.
fn value_of<'a>(column: &str, fragment: &'a str) -> &'a str {
    fragment.strip_prefix(column).and_then(|rest| rest.strip_prefix('=')).unwrap_or(fragment)
}

/// Parses values that contain slashes: a value ends where the next column's name begins.
fn over_slashes(columns: &[String], fragments: &[&str]) -> Option<Vec<String>> {
    let mut values: Vec<String> = Vec::new();
    for fragment in fragments {
        let next = columns.get(values.len()).and_then(|column| {
            let rest = fragment.strip_prefix(column.as_str())?;
            rest.strip_prefix('=')
        });
        match (next, values.last_mut()) {
            (Some(value), _) => values.push(value.to_owned()),
            (None, Some(value)) => {
                value.push('/');
                value.push_str(fragment);
            }
            (None, None) => return None,
        }
    }
    (values.len() == columns.len()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(columns: &[&str], partition: &str) -> Option<Vec<Option<String>>> {
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        values(&columns, partition, true)
    }

    fn known(values: &[&str]) -> Option<Vec<Option<String>>> {
        Some(values.iter().map(|value| Some((*value).to_owned())).collect())
    }

    #[test]
    fn paths_tell_values() {
        assert_eq!(parse(&["city"], "oslo"), known(&["oslo"]));
        assert_eq!(parse(&["city", "day"], "city=os%2Flo/day=7"), known(&["os/lo", "7"]));
        assert_eq!(parse(&["city", "day"], "os%2Flo/7"), known(&["os/lo", "7"]));
        assert_eq!(parse(&["city"], "city=__HIVE_DEFAULT_PARTITION__"), Some(vec![None]));
        assert_eq!(values(&["a".to_owned()], "a=b%2Fc", false), known(&["b%2Fc"]));
        assert_eq!(parse(&["a"], "b=1"), known(&["b=1"]), "another name is part of the value");
    }

    #[test]
    fn values_may_hold_slashes() {
        assert_eq!(parse(&["day"], "2024/01/02"), known(&["2024/01/02"]));
        assert_eq!(parse(&["day"], "day=2024/01%2F/02"), known(&["2024/01%2F/02"]));
        assert_eq!(parse(&["day", "city"], "day=2024/01/city=oslo"), known(&["2024/01", "oslo"]));
        assert_eq!(parse(&["day", "city"], "2024/01/oslo"), None);
        assert_eq!(parse(&["day", "city"], "day=2024"), None);
        assert_eq!(parse(&["day", "city"], ""), None);
    }
}
