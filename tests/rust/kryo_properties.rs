//! Delete blocks of Hudi 0.9 to 0.13 compared with a small writer of Kryo: its output is read, for all combinations of
//! shared objects; and random damage never makes the reader return more than the bytes can contain.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation
)]

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Timelike};
use mortice::log::content::delete;
use mortice::log::content::deleted::{DeletedKeys, StoredOrdering};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::allocations::peak_of;

/// An ordering value as a Java program has it.
#[derive(Debug, Clone)]
enum Value {
    Null,
    Boolean(bool),
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Text(String),
    Utf8 { text: String, spare: u8, asked: bool, hash: i32 },
    BigInteger(i128),
    BigDecimal(i128, i32),
    SqlDate(i32),
    Timestamp(i64),
    LocalDate(i32),
    Instant(i64),
    LocalDateTime(i64),
}

/// How `Utf8` is written: under a registered id, or by its fields.
#[derive(Debug, Clone, Copy)]
enum Utf8 {
    Registered(u64),
    Fields { hashed: bool },
}

#[derive(Debug, Clone)]
enum Element {
    Null,
    /// Ordinals of a key, a partition path and a value.
    New(Index, Index, Index),
    /// The same record once more.
    Again(Index),
}

/// What a block is made of. Strings and values are Java objects: who takes the same one shares it.
#[derive(Debug, Clone)]
struct MadeBlock {
    strings: Vec<String>,
    values: Vec<Value>,
    elements: Vec<Element>,
    utf8: Utf8,
}

/// Writes as Kryo 4 does, with references on and classes not registered.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    names: Vec<String>,
    objects: HashMap<(char, usize), u64>,
    next: u64,
}

impl Writer {
    fn unsigned(&mut self, mut value: u64) {
        // A long's ninth byte is its last and has eight bits.
        for _ in 0..8 {
            if value < 0x80 {
                break;
            }
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn int(&mut self, value: i32) {
        self.unsigned(u64::from(((value << 1) ^ (value >> 31)).cast_unsigned()));
    }

    fn class(&mut self, name: &str) {
        self.bytes.push(1);
        let known = self.names.iter().position(|known| known == name);
        self.unsigned(known.unwrap_or(self.names.len()) as u64);
        if known.is_none() {
            self.names.push(name.to_owned());
            self.text(name);
        }
    }

    /// A reference before an object; whether it is new, so that its value must follow.
    fn object(&mut self, what: (char, usize)) -> bool {
        match self.objects.get(&what) {
            Some(ordinal) => {
                self.unsigned(ordinal + 2);
                false
            }
            None => {
                self.objects.insert(what, self.next);
                self.anonymous();
                true
            }
        }
    }

    /// A new object that is never referred to.
    fn anonymous(&mut self) {
        self.bytes.push(1);
        self.next += 1;
    }

    fn text(&mut self, text: &str) {
        let units: Vec<u16> = text.encode_utf16().collect();
        if text.is_ascii() && (2..64).contains(&units.len()) {
            self.bytes.extend(text.bytes());
            *self.bytes.last_mut().unwrap() |= 0x80;
            return;
        }
        let mut left = units.len() as u32 + 1;
        self.bytes.push(left as u8 & 0x3f | if left > 0x3f { 0xc0 } else { 0x80 });
        left >>= 6;
        while left > 0 {
            self.bytes.push(left as u8 & 0x7f | if left > 0x7f { 0x80 } else { 0 });
            left >>= 7;
        }
        for unit in units {
            match unit {
                0..0x80 => self.bytes.push(unit as u8),
                0x80..0x800 => self.bytes.extend([0xc0 | (unit >> 6) as u8, 0x80 | unit as u8 & 0x3f]),
                _ => self.bytes.extend([
                    0xe0 | (unit >> 12) as u8,
                    0x80 | (unit >> 6) as u8 & 0x3f,
                    0x80 | unit as u8 & 0x3f,
                ]),
            }
        }
    }

    fn counted(&mut self, bytes: &[u8]) {
        self.unsigned(bytes.len() as u64 + 1);
        self.bytes.extend(bytes);
    }

    fn big_integer(&mut self, value: i128) {
        let all = value.to_be_bytes();
        let needed = (0..16).rev().find(|from| i128_of(&all[*from..]) == value).unwrap();
        self.counted(&all[needed..]);
    }

    fn date(&mut self, date: NaiveDate) {
        self.unsigned(date.year() as u64);
        self.bytes.extend([date.month() as u8, date.day() as u8]);
    }

    fn time(&mut self, at: NaiveDateTime) {
        let parts = [at.hour() as u8, at.minute() as u8, at.second() as u8];
        if at.nanosecond() > 0 {
            self.bytes.extend(parts);
            return self.unsigned(u64::from(at.nanosecond()));
        }
        let last = (1..3).rev().find(|part| parts[*part] > 0).unwrap_or(0);
        self.bytes.extend(&parts[..last]);
        self.bytes.push(!parts[last]);
    }

    fn value(&mut self, ordinal: usize, value: &Value, utf8: Utf8) {
        match value {
            Value::Null => self.bytes.push(0),
            Value::Int(value) => {
                self.bytes.push(2);
                self.int(*value);
            }
            Value::Float(value) => {
                self.bytes.push(4);
                self.bytes.extend(value.to_be_bytes());
            }
            Value::Boolean(value) => self.bytes.extend([5, u8::from(*value)]),
            Value::Byte(value) => self.bytes.extend([6, value.cast_unsigned()]),
            Value::Short(value) => {
                self.bytes.push(8);
                self.bytes.extend(value.to_be_bytes());
            }
            Value::Long(value) => {
                self.bytes.push(9);
                self.unsigned(((value << 1) ^ (value >> 63)).cast_unsigned());
            }
            Value::Double(value) => {
                self.bytes.push(10);
                self.bytes.extend(value.to_be_bytes());
            }
            Value::Text(text) => {
                self.bytes.push(3);
                if self.object(('v', ordinal)) {
                    self.text(text);
                }
            }
            Value::Utf8 { .. } => self.utf8(ordinal, utf8, value),
            _ => self.of_a_named_class(ordinal, value),
        }
    }

    fn utf8(&mut self, ordinal: usize, utf8: Utf8, value: &Value) {
        let Value::Utf8 { text, spare, asked, hash } = value else { unreachable!() };
        let Utf8::Fields { hashed } = utf8 else {
            let Utf8::Registered(id) = utf8 else { unreachable!() };
            self.unsigned(id + 2);
            if self.object(('v', ordinal)) {
                self.counted(text.as_bytes());
            }
            return;
        };
        self.class("org.apache.hudi.org.apache.avro.util.Utf8");
        if self.object(('v', ordinal)) {
            self.anonymous();
            self.counted(&[text.as_bytes(), &vec![b'x'; (*spare).into()]].concat());
            if hashed {
                self.int(*hash);
            }
            self.int(text.len() as i32);
            if *asked {
                self.anonymous();
                self.text(text);
            } else {
                self.bytes.push(0);
            }
        }
    }

    fn of_a_named_class(&mut self, ordinal: usize, value: &Value) {
        let day = |days: &i32| NaiveDate::from_epoch_days(*days).unwrap();
        self.class(match value {
            Value::BigInteger(_) => "java.math.BigInteger",
            Value::BigDecimal(..) => "java.math.BigDecimal",
            Value::SqlDate(_) => "java.sql.Date",
            Value::Timestamp(_) => "java.sql.Timestamp",
            Value::LocalDate(_) => "java.time.LocalDate",
            Value::Instant(_) => "java.time.Instant",
            Value::LocalDateTime(_) => "java.time.LocalDateTime",
            other => unreachable!("{other:?}"),
        });
        if !self.object(('v', ordinal)) {
            return;
        }
        match value {
            Value::BigInteger(value) => self.big_integer(*value),
            Value::BigDecimal(unscaled, scale) => {
                self.big_integer(*unscaled);
                self.int(*scale);
            }
            Value::SqlDate(days) => self.unsigned((i64::from(*days) * 86_400_000).cast_unsigned()),
            Value::Timestamp(millis) => self.unsigned(millis.cast_unsigned()),
            Value::LocalDate(days) => self.date(day(days)),
            Value::Instant(micros) => {
                self.unsigned(micros.div_euclid(1_000_000).cast_unsigned());
                self.unsigned(micros.rem_euclid(1_000_000).cast_unsigned() * 1000);
            }
            Value::LocalDateTime(micros) => {
                let at = DateTime::from_timestamp_micros(*micros).unwrap().naive_utc();
                self.date(at.date());
                self.time(at);
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn key(&mut self, made: &MadeBlock, record: usize, key: usize, partition: usize) {
        self.class("org.apache.hudi.common.model.HoodieKey");
        if self.object(('k', record)) {
            for text in [partition, key] {
                if self.object(('t', text)) {
                    self.text(&made.strings[text]);
                }
            }
        }
    }
}

impl MadeBlock {
    /// The elements, by ordinals: the record that an element is, and its key, partition path and value.
    fn records(&self) -> Vec<Option<[usize; 4]>> {
        let mut records: Vec<Option<[usize; 4]>> = Vec::new();
        for (at, element) in self.elements.iter().enumerate() {
            records.push(match element {
                Element::Null => None,
                Element::New(key, partition, value) => {
                    let strings = self.strings.len();
                    Some([at, key.index(strings), partition.index(strings), value.index(self.values.len())])
                }
                Element::Again(of) if at > 0 => records[of.index(at)],
                Element::Again(_) => None,
            });
        }
        records
    }

    fn written(&self, version: i32) -> Vec<u8> {
        let mut writer = Writer::default();
        let class = if version == 1 { "HoodieKey" } else { "DeleteRecord" };
        writer.class(&format!("[Lorg.apache.hudi.common.model.{class};"));
        writer.anonymous();
        writer.unsigned(self.elements.len() as u64 + 1);
        for record in self.records() {
            match record {
                None => writer.bytes.push(0),
                Some([record, key, partition, _]) if version == 1 => writer.key(self, record, key, partition),
                Some([record, key, partition, value]) => {
                    writer.class("org.apache.hudi.common.model.DeleteRecord");
                    if writer.object(('r', record)) {
                        writer.key(self, record, key, partition);
                        writer.value(value, &self.values[value], self.utf8);
                    }
                }
            }
        }
        let len = writer.bytes.len() as i32;
        [&version.to_be_bytes()[..], &len.to_be_bytes(), &writer.bytes].concat()
    }

    fn meant(&self, version: i32) -> Vec<(String, String, ExpectedValue)> {
        let of = |[_, key, partition, value]: [usize; 4]| {
            let value =
                if version == 1 { ExpectedValue::Value(StoredOrdering::Int(0)) } else { meant(&self.values[value]) };
            (self.strings[key].clone(), self.strings[partition].clone(), value)
        };
        self.records().into_iter().flatten().map(of).collect()
    }
}

/// An ordering value to be read.
#[derive(Debug, PartialEq)]
enum ExpectedValue {
    Text(String),
    Value(StoredOrdering),
}

fn meant(value: &Value) -> ExpectedValue {
    ExpectedValue::Value(match value {
        Value::Null => StoredOrdering::None,
        Value::Boolean(value) => StoredOrdering::Boolean(*value),
        Value::Byte(value) => StoredOrdering::Int(i32::from(*value)),
        Value::Short(value) => StoredOrdering::Int(i32::from(*value)),
        Value::Int(value) => StoredOrdering::Int(*value),
        Value::Long(value) => StoredOrdering::Long(*value),
        Value::Float(value) => StoredOrdering::Float(*value),
        Value::Double(value) => StoredOrdering::Double(*value),
        Value::Text(text) | Value::Utf8 { text, .. } => return ExpectedValue::Text(text.clone()),
        Value::BigInteger(unscaled) => StoredOrdering::Decimal { unscaled: *unscaled, scale: 0 },
        Value::BigDecimal(unscaled, scale) => StoredOrdering::Decimal { unscaled: *unscaled, scale: *scale },
        Value::SqlDate(days) | Value::LocalDate(days) => StoredOrdering::Date(*days),
        Value::Timestamp(millis) => StoredOrdering::TimestampMicros(millis * 1000),
        Value::Instant(micros) | Value::LocalDateTime(micros) => StoredOrdering::TimestampMicros(*micros),
    })
}

fn found(deletes: &DeletedKeys) -> Vec<(String, String, ExpectedValue)> {
    let text = |at: &Range<u32>| String::from_utf8(deletes.text[at.start as usize..at.end as usize].to_vec()).unwrap();
    let all = deletes.deleted.iter().map(|one| {
        let value = match &one.ordering {
            StoredOrdering::Text(at) => ExpectedValue::Text(text(at)),
            other => ExpectedValue::Value(other.clone()),
        };
        (text(one.key.as_ref().unwrap()), text(one.partition.as_ref().unwrap()), value)
    });
    all.collect()
}

fn i128_of(bytes: &[u8]) -> i128 {
    bytes.iter().fold(if bytes[0] & 0x80 == 0 { 0 } else { -1 }, |value, byte| value << 8 | i128::from(*byte))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ -~]{0,70}", 2 => any::<String>(), 1 => Just("z".repeat(9000))]
}

/// Days and microseconds of the years 1 to 9999.
const DAYS: Range<i32> = -719_162..2_932_897;
const MICROS: Range<i64> = -62_135_596_800_000_000..253_402_300_800_000_000;

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        any::<i8>().prop_map(Value::Byte),
        any::<i16>().prop_map(Value::Short),
        any::<i32>().prop_map(Value::Int),
        any::<i64>().prop_map(Value::Long),
        any::<f32>().prop_map(Value::Float),
        any::<f64>().prop_map(Value::Double),
        text().prop_map(Value::Text),
        (text(), 0..5_u8, any::<bool>(), prop_oneof![Just(0), -5..40_i32, any::<i32>()])
            .prop_map(|(text, spare, asked, hash)| Value::Utf8 { text, spare, asked, hash }),
        any::<i128>().prop_map(Value::BigInteger),
        (any::<i128>(), any::<i32>()).prop_map(|(unscaled, scale)| Value::BigDecimal(unscaled, scale)),
        DAYS.prop_map(Value::SqlDate),
        DAYS.prop_map(Value::LocalDate),
        (MICROS.start / 1000..MICROS.end / 1000).prop_map(Value::Timestamp),
        MICROS.prop_map(Value::Instant),
        MICROS.prop_map(Value::LocalDateTime),
        // Whole hours, minutes and seconds are written shorter.
        (DAYS, 0..24_i64, 0..2_i64).prop_map(|(day, hour, minute)| {
            Value::LocalDateTime(i64::from(day) * 86_400_000_000 + hour * 3_600_000_000 + minute * 60_000_000)
        }),
    ]
}

fn made() -> impl Strategy<Value = MadeBlock> {
    let utf8 =
        prop_oneof![(10..60_u64).prop_map(Utf8::Registered), any::<bool>().prop_map(|hashed| Utf8::Fields { hashed }),];
    let element = prop_oneof![
        1 => Just(Element::Null),
        8 => any::<(Index, Index, Index)>().prop_map(|(key, partition, value)| Element::New(key, partition, value)),
        1 => any::<Index>().prop_map(Element::Again),
    ];
    let parts = (
        prop::collection::vec(text(), 1..8),
        prop::collection::vec(value(), 1..8),
        prop::collection::vec(element, 0..20),
        utf8,
    );
    parts.prop_map(|(strings, values, elements, utf8)| MadeBlock { strings, values, elements, utf8 })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_kryo_writes_is_read(made in made(), version in 1..3_i32) {
        let deletes = delete::deletes(&Bytes::from(made.written(version))).unwrap();
        prop_assert_eq!(found(&deletes), made.meant(version));
    }

    #[test]
    fn changed_bytes_neither_panic_nor_grow(
        made in made(),
        version in 1..3_i32,
        changes in prop::collection::vec(any::<(Index, u8)>(), 1..6),
        cut in any::<Index>(),
    ) {
        let mut bytes = made.written(version);
        for (at, byte) in changes {
            // The numbers before the data are checked elsewhere.
            let at = 8 + at.index(bytes.len() - 8);
            bytes[at] = byte;
        }
        let keep = 8 + cut.index(2 * (bytes.len() - 8)).min(bytes.len() - 8);
        bytes.truncate(keep);
        let len = bytes.len() as i32 - 8;
        bytes[4..8].copy_from_slice(&len.to_be_bytes());
        let content = Bytes::from(bytes);
        let (read, most) = peak_of(|| delete::deletes(&content).is_ok());
        prop_assert!(most <= 128 * content.len() + 4096, "{most} bytes for {} (read: {read})", content.len());
    }
}
