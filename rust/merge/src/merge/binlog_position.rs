//! Positions in a MySQL binlog, `file.position`, compared as two numbers (`MySqlDebeziumAvroPayload`).

use std::cmp::Ordering;

use super::ordering::OrderingValue;

/// Compares two ordering values that are binlog positions. A string that is not one is before all that are; values of
/// other types are compared as usual.
pub(super) fn compare(one: &OrderingValue<'_>, other: &OrderingValue<'_>) -> Ordering {
    match (one, other) {
        (OrderingValue::Bytes(one), OrderingValue::Bytes(other)) => position(one).cmp(&position(other)),
        _ => one.compare(other),
    }
}

fn position(text: &[u8]) -> Option<(u64, u64)> {
    let (file, position) = std::str::from_utf8(text).ok()?.split_once('.')?;
    Some((file.parse().ok()?, position.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_compare_as_numbers() {
        let ascending = ["", "00001.5", "00001.10", "2.0", "10.0"];
        for (at, one) in ascending.iter().enumerate() {
            for (other_at, other) in ascending.iter().enumerate() {
                let (one, other) = (OrderingValue::Bytes(one.as_bytes()), OrderingValue::Bytes(other.as_bytes()));
                assert_eq!(compare(&one, &other), at.cmp(&other_at));
            }
        }
        assert_eq!(["", "1", "a.b", "1.-2", "-1.2"].map(|text| position(text.as_bytes())), [None; 5]);
        assert_eq!(compare(&OrderingValue::Default, &OrderingValue::Bytes(b"1.1")), Ordering::Less);
    }
}
