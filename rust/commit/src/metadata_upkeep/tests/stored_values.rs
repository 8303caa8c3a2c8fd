//! Bounds of each type, as they are stored and read again.

use proptest::prelude::*;

use crate::metadata_upkeep::records::column_kind::{ColumnKind, IndexVersion};
use crate::metadata_upkeep::records::record_bytes::{WrappedValue, Wrapper};
use mortice_avro::Schema;
use mortice_base::property::check;
use mortice_write::write::ColumnValue;

const VERSIONS: [IndexVersion; 2] = [IndexVersion::V1, IndexVersion::V2];

fn kind(ty: &str, version: IndexVersion) -> Option<ColumnKind> {
    ColumnKind::of_type(Schema::parse(ty).unwrap().root(), version)
}

fn decimal(precision: u32, scale: u32) -> String {
    format!(r#"{{"type":"bytes","logicalType":"decimal","precision":{precision},"scale":{scale}}}"#)
}

/// The table of Hudi's types: wrappers of both versions, and the ordinal of the value type (`ValueType`).
#[test]
fn each_type_has_its_wrapper() {
    let logical = |ty: &str, name: &str| format!(r#"{{"type":"{ty}","logicalType":"{name}"}}"#);
    for (ty, [first, second], ordinal) in [
        (r#""boolean""#.to_owned(), [Wrapper::Boolean; 2], 2),
        (r#""int""#.to_owned(), [Wrapper::Int; 2], 3),
        (r#"["null","long"]"#.to_owned(), [Wrapper::Long; 2], 4),
        (r#""float""#.to_owned(), [Wrapper::Float; 2], 5),
        (r#""double""#.to_owned(), [Wrapper::Double; 2], 6),
        (r#""string""#.to_owned(), [Wrapper::String; 2], 7),
        (r#""bytes""#.to_owned(), [Wrapper::Bytes; 2], 8),
        (r#"{"type":"fixed","name":"f","size":3}"#.to_owned(), [Wrapper::Bytes; 2], 9),
        (decimal(10, 2), [Wrapper::Decimal, Wrapper::Bytes], 10),
        (logical("string", "uuid"), [Wrapper::String; 2], 11),
        (logical("int", "date"), [Wrapper::Date, Wrapper::Int], 12),
        (logical("int", "time-millis"), [Wrapper::Int; 2], 13),
        (logical("long", "time-micros"), [Wrapper::Long; 2], 14),
        (logical("long", "timestamp-millis"), [Wrapper::Long; 2], 15),
        (logical("long", "timestamp-micros"), [Wrapper::Long; 2], 16),
        (logical("long", "local-timestamp-millis"), [Wrapper::Long; 2], 18),
        (logical("long", "local-timestamp-micros"), [Wrapper::Long; 2], 19),
    ] {
        for (version, wrapper) in VERSIONS.into_iter().zip([first, second]) {
            let kind = kind(&ty, version).unwrap();
            assert_eq!(kind.wrapper(version), wrapper, "{ty}");
            let found = kind.value_type(version, true);
            assert_eq!(found.map(|(ordinal, _)| ordinal), (version == IndexVersion::V2).then_some(ordinal), "{ty}");
            let more = found.and_then(|(_, more)| more);
            assert_eq!(more, (ordinal == 10 && version == IndexVersion::V2).then_some("10,2"), "{ty}");
            // A log of nothing but deletes has the type null.
            let empty = kind.value_type(version, false);
            assert_eq!(empty, (version == IndexVersion::V2).then_some((1, None)), "{ty}");
        }
    }
}

/// Values with the type of a column that has them.
fn values() -> impl Strategy<Value = (String, ColumnValue)> {
    let of = |ty: &'static str| move |value: ColumnValue| (format!("{ty:?}"), value);
    let date = r#"{"type":"int","logicalType":"date"}"#;
    let micros = r#"{"type":"long","logicalType":"timestamp-micros"}"#;
    let decimals =
        (1_u32..39).prop_flat_map(|precision| (Just(precision), 0..=precision)).prop_flat_map(|(precision, scale)| {
            let greatest = 10_i128.pow(precision) - 1;
            (Just(decimal(precision, scale)), (-greatest..=greatest).prop_map(ColumnValue::Decimal))
        });
    prop_oneof![
        any::<bool>().prop_map(ColumnValue::Boolean).prop_map(of("boolean")),
        any::<i32>().prop_map(ColumnValue::Int).prop_map(of("int")),
        any::<i32>().prop_map(move |value| (date.to_owned(), ColumnValue::Int(value))),
        any::<i64>().prop_map(ColumnValue::Long).prop_map(of("long")),
        any::<i64>().prop_map(move |value| (micros.to_owned(), ColumnValue::Long(value))),
        any::<u32>().prop_map(|bits| ColumnValue::from_f32(f32::from_bits(bits))).prop_map(of("float")),
        any::<u64>().prop_map(|bits| ColumnValue::from_f64(f64::from_bits(bits))).prop_map(of("double")),
        "\\PC{0,9}".prop_map(ColumnValue::String).prop_map(of("string")),
        proptest::collection::vec(any::<u8>(), 0..9).prop_map(ColumnValue::Bytes).prop_map(of("bytes")),
        decimals,
    ]
}

#[test]
fn bounds_are_read_as_they_were() {
    check(2000, &values(), |(ty, value)| {
        for version in VERSIONS {
            // Version 1 has no statistics of decimals that its wrapper cannot hold.
            let Some(kind) = kind(&ty, version) else {
                prop_assert_eq!(version, IndexVersion::V1);
                prop_assert!(matches!(value, ColumnValue::Decimal(_)));
                continue;
            };
            let stored = kind.wrapped(&value, version);
            prop_assert!(stored.is_some(), "{} {:?}", ty, value);
            let read = stored.and_then(|stored| kind.unwrapped(&stored, kind.wrapper(version)));
            prop_assert_eq!(read, Some(value.clone()), "{} {:?}", ty, version);
        }
        Ok(())
    });
}

/// A decimal as Java's `BigDecimal` has it: the wrapper of version 1 has 15 digits after the point, that of version 2
/// the column's.
#[test]
fn decimals_are_stored_at_the_scale_of_their_wrapper() {
    let input = (0_u32..16, any::<i64>());
    check(500, &input, |(scale, value)| {
        let value = i128::from(value) % 10_i128.pow(15);
        let bytes = |number: i128| {
            // `BigInteger.toByteArray`: the fewest bytes that have the number with its sign.
            let len = (1..=16).find(|len| *len == 16 || (number << (128 - 8 * len)) >> (128 - 8 * len) == number);
            number.to_be_bytes()[16 - len.unwrap()..].to_vec()
        };
        let ty = decimal(15, scale);
        let ty = if scale == 0 { decimal(15, 0) } else { ty };
        let stored = |version| kind(&ty, version)?.wrapped(&ColumnValue::Decimal(value), version);
        let wide = value * 10_i128.pow(15 - scale);
        prop_assert_eq!(stored(IndexVersion::V1), Some(WrappedValue::Bytes(bytes(wide))));
        prop_assert_eq!(stored(IndexVersion::V2), Some(WrappedValue::Bytes(bytes(value))));
        Ok(())
    });
}
