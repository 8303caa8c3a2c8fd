//! Rules of the records of the metadata table, compared with what they say of rows, files and keys.
//!
//! | file | compares |
//! |---|---|
//! | `stored_values` | bounds of each type as they are stored, and read again |
//! | `file_statistics` | statistics of base files with the values in them |
//! | `unknown_statistics` | statistics of files whose footers say less |
//! | `partition_statistics` | statistics of partitions, file by file, with those of all values |
//! | `file_group_ids` | file group ids of the record index, with those that Java composes |
//! | `key_groups` | the file group of a key, with Java's hash |
//! | `clean_records` | what a clean deletes, with what commits wrote |

mod clean_records;
mod file_group_ids;
mod file_statistics;
mod key_groups;
mod partition_statistics;
mod stored_values;
mod unknown_statistics;

use mortice_write::write::ColumnValue;

/// Whether a bound is not above a value; NaN is above all numbers, and equal to itself, as in Spark.
fn is_at_most(one: &ColumnValue, other: &ColumnValue) -> bool {
    use ColumnValue::{Boolean, Bytes, Decimal, Double, Float, Int, Long, String};
    let doubles = |one: f64, other: f64| other.is_nan() || one <= other;
    match (one, other) {
        (Boolean(one), Boolean(other)) => one <= other,
        (Int(one), Int(other)) => one <= other,
        (Long(one), Long(other)) => one <= other,
        (Float(one), Float(other)) => doubles(f32::from_bits(*one).into(), f32::from_bits(*other).into()),
        (Double(one), Double(other)) => doubles(f64::from_bits(*one), f64::from_bits(*other)),
        (String(one), String(other)) => one <= other,
        (Bytes(one), Bytes(other)) => one <= other,
        (Decimal(one), Decimal(other)) => one <= other,
        _ => false,
    }
}
