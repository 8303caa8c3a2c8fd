//! Random schemas and values, written by a small encoder of the test: decoding returns the written values, the output
//! of the crate's encoder is read as the same, a projection returns the same columns, a truncated datum is an error,
//! and no damage makes the decoder panic.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use mortice::avro::{ArrowMapping, Datum, DecodeProgram, Decoder, Encoder, RequestedColumn, Schema};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Ty {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    Fixed(usize),
    Enum(usize),
    Logical(&'static str, &'static str),
    Decimal { precision: u32, scale: u32, fixed: bool },
    Array(Box<Ty>),
    Map(Box<Ty>),
    Record(Vec<Ty>),
    Nullable { null_first: bool, ty: Box<Ty> },
    Several { null_at: usize, branches: Vec<Ty> },
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Boolean(bool),
    Whole(i128),
    Float(u32),
    Double(u64),
    Bytes(Vec<u8>),
    Text(String),
    Items(Vec<Value>),
    Entries(Vec<(String, Value)>),
    Fields(Vec<Value>),
    Branch(usize, Box<Value>),
}

const LONGS: [&str; 5] =
    ["timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros", "time-micros"];

fn leaf() -> impl Strategy<Value = Ty> {
    prop_oneof![
        Just(Ty::Boolean),
        Just(Ty::Int),
        Just(Ty::Long),
        Just(Ty::Float),
        Just(Ty::Double),
        Just(Ty::Bytes),
        Just(Ty::Text),
        Just(Ty::Logical("string", "uuid")),
        Just(Ty::Logical("int", "date")),
        Just(Ty::Logical("int", "time-millis")),
        proptest::sample::select(&LONGS[..]).prop_map(|logical| Ty::Logical("long", logical)),
        (1_usize..20).prop_map(Ty::Fixed),
        (1_usize..5).prop_map(Ty::Enum),
        (1_u32..=38, any::<bool>()).prop_flat_map(|(precision, fixed)| {
            (0..=precision).prop_map(move |scale| Ty::Decimal { precision, scale, fixed })
        }),
    ]
}

fn ty() -> impl Strategy<Value = Ty> {
    let nullable = |inner: BoxedStrategy<Ty>| {
        (any::<bool>(), inner)
            .prop_map(|(null_first, ty)| match ty {
                Ty::Nullable { .. } | Ty::Several { .. } => ty,
                ty => Ty::Nullable { null_first, ty: Box::new(ty) },
            })
            .boxed()
    };
    leaf().boxed().prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            4 => nullable(inner.clone()),
            1 => inner.clone().prop_map(|ty| Ty::Array(Box::new(ty))),
            1 => inner.clone().prop_map(|ty| Ty::Map(Box::new(ty))),
            2 => proptest::collection::vec(inner.clone(), 1..4).prop_map(Ty::Record),
            1 => (0_usize..5, proptest::sample::subsequence(
                    vec![Ty::Text, Ty::Boolean, Ty::Double, Ty::Array(Box::new(Ty::Int)), Ty::Fixed(3)], 2..5))
                .prop_map(|(null_at, branches)| Ty::Several { null_at, branches }),
        ]
    })
}

fn value(ty: &Ty) -> BoxedStrategy<Value> {
    match ty {
        Ty::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        Ty::Int | Ty::Logical("int", _) => any::<i32>().prop_map(|int| Value::Whole(i128::from(int))).boxed(),
        // Within the range of milliseconds that can be converted to microseconds.
        Ty::Logical("long", _) => (-1_i64 << 53..1 << 53).prop_map(|long| Value::Whole(i128::from(long))).boxed(),
        Ty::Long => (any::<i64>(), 0..64).prop_map(|(long, shift)| Value::Whole(i128::from(long >> shift))).boxed(),
        Ty::Float => any::<u32>().prop_map(Value::Float).boxed(),
        Ty::Double => any::<u64>().prop_map(Value::Double).boxed(),
        Ty::Bytes => proptest::collection::vec(any::<u8>(), 0..100).prop_map(Value::Bytes).boxed(),
        Ty::Text | Ty::Logical(..) => ".{0,80}".prop_map(Value::Text).boxed(),
        Ty::Fixed(size) => proptest::collection::vec(any::<u8>(), *size).prop_map(Value::Bytes).boxed(),
        Ty::Enum(symbols) => (0..*symbols as i128).prop_map(Value::Whole).boxed(),
        Ty::Decimal { precision, .. } => {
            let limit = 10_i128.pow(*precision);
            (1 - limit..limit).prop_map(Value::Whole).boxed()
        }
        Ty::Array(item) => proptest::collection::vec(value(item), 0..4).prop_map(Value::Items).boxed(),
        Ty::Map(item) => proptest::collection::vec(("[a-zä]{0,9}", value(item)), 0..4).prop_map(Value::Entries).boxed(),
        Ty::Record(fields) => fields.iter().map(value).collect::<Vec<_>>().prop_map(Value::Fields).boxed(),
        Ty::Nullable { ty, .. } => prop_oneof![1 => Just(Value::Null), 3 => value(ty)].boxed(),
        Ty::Several { branches, .. } => {
            let branches = branches.iter().map(value).enumerate();
            let some = branches.map(|(index, value)| value.prop_map(move |value| Value::Branch(index, value.into())));
            let some = proptest::strategy::Union::new(some.map(Strategy::boxed));
            prop_oneof![1 => Just(Value::Null), 3 => some].boxed()
        }
    }
}

/// A schema of some fields, and some rows of it.
fn table() -> impl Strategy<Value = (Vec<Ty>, Vec<Vec<Value>>)> {
    proptest::collection::vec(ty(), 1..7).prop_flat_map(|fields| {
        let row = fields.iter().map(value).collect::<Vec<_>>();
        (Just(fields), proptest::collection::vec(row, 0..150))
    })
}

fn json(ty: &Ty, names: &mut usize) -> String {
    *names += 1;
    let name = *names;
    match ty {
        Ty::Boolean => "\"boolean\"".into(),
        Ty::Int => "\"int\"".into(),
        Ty::Long => "\"long\"".into(),
        Ty::Float => "\"float\"".into(),
        Ty::Double => "\"double\"".into(),
        Ty::Bytes => "\"bytes\"".into(),
        Ty::Text => "\"string\"".into(),
        Ty::Logical(ty, logical) => format!(r#"{{"type":"{ty}","logicalType":"{logical}"}}"#),
        Ty::Fixed(size) => format!(r#"{{"type":"fixed","name":"n{name}","size":{size}}}"#),
        Ty::Enum(symbols) => {
            let symbols: Vec<String> = (0..*symbols).map(|symbol| format!("\"S{symbol}\"")).collect();
            format!(r#"{{"type":"enum","name":"n{name}","symbols":[{}]}}"#, symbols.join(","))
        }
        Ty::Decimal { precision, scale, fixed } => {
            let of = if *fixed { format!(r#""fixed","name":"n{name}","size":17"#) } else { "\"bytes\"".into() };
            format!(r#"{{"type":{of},"logicalType":"decimal","precision":{precision},"scale":{scale}}}"#)
        }
        Ty::Array(item) => format!(r#"{{"type":"array","items":{}}}"#, json(item, names)),
        Ty::Map(item) => format!(r#"{{"type":"map","values":{}}}"#, json(item, names)),
        Ty::Record(fields) => record(&format!("n{name}"), fields, names),
        Ty::Nullable { null_first: true, ty } => format!(r#"["null",{}]"#, json(ty, names)),
        Ty::Nullable { ty, .. } => format!(r#"[{},"null"]"#, json(ty, names)),
        Ty::Several { null_at, branches } => {
            let mut all: Vec<String> = branches.iter().map(|branch| json(branch, names)).collect();
            all.insert((*null_at).min(all.len()), "\"null\"".into());
            format!("[{}]", all.join(","))
        }
    }
}

fn record(name: &str, fields: &[Ty], names: &mut usize) -> String {
    let mut text = format!(r#"{{"type":"record","name":"{name}","fields":["#);
    for (index, field) in fields.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(text, r#"{comma}{{"name":"f{index}","type":{}}}"#, json(field, names)).unwrap();
    }
    text + "]}"
}

fn long(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest > 127 {
        out.push((rest % 128 + 128) as u8);
        rest /= 128;
    }
    out.push(rest as u8);
}

fn sized(bytes: &[u8], out: &mut Vec<u8>) {
    long(bytes.len() as i64, out);
    out.extend(bytes);
}

/// Items as blocks: one with its size if their number is odd, otherwise one for each item.
fn blocks<T>(items: &[T], out: &mut Vec<u8>, mut write: impl FnMut(&T, &mut Vec<u8>)) {
    if items.len() % 2 == 1 {
        let mut block = Vec::new();
        items.iter().for_each(|item| write(item, &mut block));
        long(-(items.len() as i64), out);
        sized(&block, out);
    } else {
        for item in items {
            long(1, out);
            write(item, out);
        }
    }
    long(0, out);
}

fn encode(ty: &Ty, value: &Value, out: &mut Vec<u8>) {
    match (ty, value) {
        (Ty::Nullable { null_first, .. }, Value::Null) => out.push(if *null_first { 0 } else { 2 }),
        (Ty::Nullable { null_first, ty }, value) => {
            out.push(if *null_first { 2 } else { 0 });
            encode(ty, value, out);
        }
        (Ty::Several { null_at, branches }, Value::Null) => long((*null_at).min(branches.len()) as i64, out),
        (Ty::Several { null_at, branches }, Value::Branch(branch, value)) => {
            long((*branch + usize::from(*branch >= *null_at)) as i64, out);
            encode(&branches[*branch], value, out);
        }
        (Ty::Boolean, Value::Boolean(value)) => out.push(u8::from(*value)),
        (Ty::Decimal { fixed, .. }, Value::Whole(value)) => {
            let bytes = value.to_be_bytes();
            if *fixed {
                out.push(if *value < 0 { 0xff } else { 0 });
                out.extend(bytes);
            } else {
                // The shortest that keeps the sign.
                let same = |at: &usize| i128::from_be_bytes(bytes) == sign_extended(&bytes[*at..]);
                sized(&bytes[(0..16).rev().find(same).unwrap()..], out);
            }
        }
        (_, Value::Whole(value)) => long(*value as i64, out),
        (_, Value::Float(bits)) => out.extend(bits.to_le_bytes()),
        (_, Value::Double(bits)) => out.extend(bits.to_le_bytes()),
        (Ty::Fixed(_), Value::Bytes(bytes)) => out.extend(bytes),
        (Ty::Bytes, Value::Bytes(bytes)) => sized(bytes, out),
        (Ty::Text | Ty::Logical(..), Value::Text(text)) => sized(text.as_bytes(), out),
        (Ty::Array(item), Value::Items(items)) => blocks(items, out, |value, out| encode(item, value, out)),
        (Ty::Map(item), Value::Entries(entries)) => blocks(entries, out, |(key, value), out| {
            sized(key.as_bytes(), out);
            encode(item, value, out);
        }),
        (Ty::Record(types), Value::Fields(values)) => {
            types.iter().zip(values).for_each(|(ty, value)| encode(ty, value, out));
        }
        other => panic!("{other:?}"),
    }
}

fn sign_extended(bytes: &[u8]) -> i128 {
    let start = if bytes[0] >= 128 { -1 } else { 0 };
    bytes.iter().fold(start, |value, byte| value << 8 | i128::from(*byte))
}

/// What a cell should read back as.
fn expected(ty: &Ty, value: &Value, types: ArrowMapping) -> Value {
    match (ty, value) {
        (_, Value::Null) => Value::Null,
        (Ty::Enum(_), Value::Whole(symbol)) => Value::Text(format!("S{symbol}")),
        (Ty::Logical("long", logical), Value::Whole(value)) => {
            let scaled = types == ArrowMapping::Table && logical.ends_with("timestamp-millis");
            Value::Whole(if scaled { value * 1000 } else { *value })
        }
        (Ty::Array(item), Value::Items(items)) => {
            Value::Items(items.iter().map(|value| expected(item, value, types)).collect())
        }
        (Ty::Map(item), Value::Entries(entries)) => {
            let entry = |(key, value): &(String, Value)| (key.clone(), expected(item, value, types));
            Value::Entries(entries.iter().map(entry).collect())
        }
        (Ty::Record(fields), Value::Fields(values)) => {
            Value::Fields(fields.iter().zip(values).map(|(ty, value)| expected(ty, value, types)).collect())
        }
        (Ty::Nullable { ty, .. }, value) => expected(ty, value, types),
        (Ty::Several { branches, .. }, Value::Branch(chosen, value)) => {
            let member = |(index, ty): (usize, &Ty)| {
                if index == *chosen { expected(ty, value, types) } else { Value::Null }
            };
            Value::Fields(branches.iter().enumerate().map(member).collect())
        }
        (_, value) => value.clone(),
    }
}

fn cell(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let whole = |value: i64| Value::Whole(i128::from(value));
    match array.data_type() {
        DataType::Boolean => Value::Boolean(array.as_boolean().value(row)),
        DataType::Int32 => whole(i64::from(array.as_primitive::<Int32Type>().value(row))),
        DataType::Date32 => whole(i64::from(array.as_primitive::<Date32Type>().value(row))),
        DataType::Int64 => whole(array.as_primitive::<Int64Type>().value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            whole(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            whole(array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row).to_bits()),
        DataType::Float64 => Value::Double(array.as_primitive::<Float64Type>().value(row).to_bits()),
        DataType::Decimal128(..) => Value::Whole(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_owned()),
        DataType::FixedSizeBinary(_) => Value::Bytes(array.as_fixed_size_binary().value(row).to_owned()),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            Value::Items((0..items.len()).map(|row| cell(&items, row)).collect())
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let keys = entries.column(0).as_string::<i32>();
            let entry = |row| (keys.value(row).to_owned(), cell(entries.column(1), row));
            Value::Entries((0..entries.len()).map(entry).collect())
        }
        DataType::Struct(_) => {
            Value::Fields(array.as_struct().columns().iter().map(|child| cell(child, row)).collect())
        }
        other => panic!("{other}"),
    }
}

/// The rows one after the other, with a stray byte between them; their places.
fn content(fields: &[Ty], rows: &[Vec<Value>]) -> (Vec<u8>, Vec<Datum>) {
    let (mut content, mut datums) = (vec![0xee], Vec::new());
    for row in rows {
        let at = content.len();
        fields.iter().zip(row).for_each(|(ty, value)| encode(ty, value, &mut content));
        datums.push(Datum { at: at as u32, len: (content.len() - at) as u32 });
        content.push(0xee);
    }
    (content, datums)
}

fn schema(fields: &[Ty]) -> Schema {
    Schema::parse(&record("r", fields, &mut 0)).unwrap()
}

fn decode(program: &Arc<DecodeProgram>, content: &[u8], datums: &[Datum]) -> mortice::Result<RecordBatch> {
    let mut decoder = Decoder::new(Arc::clone(program));
    decoder.decode(content, datums)?;
    assert_eq!(decoder.len(), datums.len());
    decoder.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_decoded_is_what_was_written((fields, mut rows) in table(), file in any::<bool>()) {
        let types = if file { ArrowMapping::File } else { ArrowMapping::Table };
        let schema = schema(&fields);
        let program = Arc::new(DecodeProgram::compile_all(&schema, &schema, types).unwrap());
        let (content, mut datums) = content(&fields, &rows);
        // The order of the datums is the caller's.
        datums.reverse();
        rows.reverse();
        let batch = decode(&program, &content, &datums).unwrap();
        prop_assert_eq!(&batch.schema(), &Arc::new(mortice::avro::arrow_schema(&schema, types).unwrap()));
        prop_assert_eq!(batch.num_rows(), rows.len());
        for (index, row) in rows.iter().enumerate() {
            for ((column, ty), value) in batch.columns().iter().zip(&fields).zip(row) {
                prop_assert_eq!(cell(column, index), expected(ty, value, types));
            }
        }
    }

    /// What the encoder writes of decoded columns is read as the same columns, though the bytes may differ (Java's one
    /// block an array, and none of its size).
    #[test]
    fn what_is_encoded_is_decoded_again((fields, rows) in table(), file in any::<bool>(), from in 0_usize..100) {
        let types = if file { ArrowMapping::File } else { ArrowMapping::Table };
        let schema = schema(&fields);
        let program = Arc::new(DecodeProgram::compile_all(&schema, &schema, types).unwrap());
        let (content, datums) = content(&fields, &rows);
        let batch = decode(&program, &content, &datums).unwrap();
        // A part of it: arrays that begin within their buffers.
        let from = from.min(batch.num_rows());
        let batch = batch.slice(from, batch.num_rows() - from);
        let (mut encoded, mut ends) = (Vec::new(), Vec::new());
        let encoder = Encoder::new(&schema, &batch.schema()).unwrap();
        encoder.encode(&batch, &mut encoded, &mut ends).unwrap();
        prop_assert_eq!(ends.last().copied().unwrap_or_default(), encoded.len());
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let places: Vec<Datum> =
            starts.zip(&ends).map(|(at, end)| Datum { at: at as u32, len: (end - at) as u32 }).collect();
        let again = decode(&program, &encoded, &places).unwrap();
        prop_assert_eq!(again.num_rows(), batch.num_rows());
        for (column, before) in again.columns().iter().zip(batch.columns()) {
            for row in 0..batch.num_rows() {
                prop_assert_eq!(cell(column, row), cell(before, row));
            }
        }
    }

    #[test]
    fn a_projection_is_the_same_columns((fields, rows) in table(), picks in proptest::collection::vec(0_usize..99, 0..5)) {
        let schema = schema(&fields);
        let (content, datums) = content(&fields, &rows);
        let all = Arc::new(DecodeProgram::compile_all(&schema, &schema, ArrowMapping::Table).unwrap());
        let all = decode(&all, &content, &datums).unwrap();
        // Any order, and the same field more than once.
        let picks: Vec<usize> = picks.into_iter().map(|pick| pick % fields.len()).collect();
        let wants: Vec<RequestedColumn> = picks.iter().map(|pick| RequestedColumn::Value(format!("f{pick}"))).collect();
        let some = Arc::new(DecodeProgram::compile(&schema, &schema, &wants, ArrowMapping::Table).unwrap());
        let mut decoder = Decoder::new(some);
        // In several calls, one batch.
        for part in datums.chunks(37) {
            decoder.decode(&content, part).unwrap();
        }
        let some = decoder.finish().unwrap();
        prop_assert_eq!(some.num_rows(), rows.len());
        for (column, pick) in some.columns().iter().zip(&picks) {
            prop_assert_eq!(column, all.column(*pick));
        }
    }

    #[test]
    fn a_place_is_where_the_bytes_lie(mut rows in proptest::collection::vec((".{0,40}", proptest::option::of(any::<Vec<u8>>())), 0..100)) {
        rows.truncate(100);
        let fields = [Ty::Text, Ty::Nullable { null_first: false, ty: Box::new(Ty::Bytes) }];
        let values: Vec<Vec<Value>> = rows.iter().cloned()
            .map(|(text, bytes)| vec![Value::Text(text), bytes.map_or(Value::Null, Value::Bytes)]).collect();
        let (content, datums) = content(&fields, &values);
        let schema = schema(&fields);
        let wants = [RequestedColumn::Position("f1".into()), RequestedColumn::Position("f0".into()), RequestedColumn::Value("f0".into())];
        let program = Arc::new(DecodeProgram::compile(&schema, &schema, &wants, ArrowMapping::Table).unwrap());
        let batch = decode(&program, &content, &datums).unwrap();
        let at = |column: usize, row: usize| {
            let place = batch.column(column).as_primitive::<UInt64Type>().value(row);
            &content[(place >> 32) as usize..][..place as u32 as usize]
        };
        for (row, (text, bytes)) in rows.iter().enumerate() {
            prop_assert_eq!(at(1, row), text.as_bytes());
            prop_assert_eq!(batch.column(2).as_string::<i32>().value(row), text);
            match bytes {
                Some(bytes) => prop_assert_eq!(at(0, row), bytes.as_slice()),
                None => prop_assert!(batch.column(0).is_null(row)),
            }
        }
    }

    #[test]
    fn a_datum_cut_short_is_an_error((fields, rows) in table()) {
        let schema = schema(&fields);
        let program = Arc::new(DecodeProgram::compile_all(&schema, &schema, ArrowMapping::Table).unwrap());
        let (content, datums) = content(&fields, &rows);
        for datum in datums.iter().take(3) {
            for len in 0..datum.len {
                let cut = Datum { at: datum.at, len };
                // With bytes behind it that are not its own, and without.
                prop_assert!(decode(&program, &content, &[cut]).is_err(), "{} of {}", len, datum.len);
                let alone = &content[..(datum.at + len) as usize];
                prop_assert!(decode(&program, alone, &[cut]).is_err(), "{} of {}", len, datum.len);
            }
        }
        let beyond = Datum { at: content.len() as u32 - 1, len: 2 };
        prop_assert!(decode(&program, &content, &[beyond]).is_err());
    }

    #[test]
    fn damage_is_an_error_or_other_values((fields, rows) in table(), flips in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..20)) {
        let schema = schema(&fields);
        let (mut content, datums) = content(&fields, &rows);
        for (index, byte) in flips {
            let at = index.index(content.len());
            content[at] = byte;
        }
        let all = Arc::new(DecodeProgram::compile_all(&schema, &schema, ArrowMapping::Table).unwrap());
        if let Ok(batch) = decode(&all, &content, &datums) {
            prop_assert_eq!(batch.num_rows(), rows.len());
            batch.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
        }
        let last = RequestedColumn::Value(format!("f{}", fields.len() - 1));
        let last = Arc::new(DecodeProgram::compile(&schema, &schema, &[last], ArrowMapping::File).unwrap());
        let _ = decode(&last, &content, &datums);
    }
}
