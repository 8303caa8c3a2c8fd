//! Avro records as in log blocks, the same in every run: wide (25 columns, including the five meta columns of Hudi),
//! narrow (10), nested (10), and 5 of the 25.

use mortice::avro::Datum;

/// Pseudo-random numbers (xorshift), the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Records of one schema, and the projected columns (empty: all).
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) json: String,
    pub(crate) content: Vec<u8>,
    pub(crate) datums: Vec<Datum>,
    pub(crate) columns: Option<Vec<&'static str>>,
}

type Write = fn(&mut Dice, usize, &mut Vec<u8>);

fn long(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest > 127 {
        out.push((rest % 128 + 128) as u8);
        rest /= 128;
    }
    out.push(rest as u8);
}

fn text(text: &str, out: &mut Vec<u8>) {
    long(text.len() as i64, out);
    out.extend_from_slice(text.as_bytes());
}

/// A value in `["null", T]`, one in twenty of them null.
fn nullable(dice: &mut Dice, out: &mut Vec<u8>, write: impl FnOnce(&mut Dice, &mut Vec<u8>)) {
    if dice.roll(20) == 0 {
        out.push(0);
    } else {
        out.push(2);
        write(dice, out);
    }
}

fn words(dice: &mut Dice, out: &mut Vec<u8>) {
    const WORDS: [&str; 6] =
        ["amber light", "a long way home", "north", "sea", "the quick brown fox", "so be it, then"];
    let word = WORDS[dice.roll(6) as usize];
    if dice.roll(50) == 0 { text(&format!("{word} über Straße"), out) } else { text(word, out) }
}

/// Hudi's five meta columns, without nulls.
fn meta(dice: &mut Dice, row: usize, out: &mut Vec<u8>) {
    for column in 0..5 {
        out.push(2);
        match column {
            0 => text("20240101123456789", out),
            1 => text(&format!("20240101123456789_{}_{row}", dice.roll(8)), out),
            2 => text(&format!("key-{row:012}"), out),
            3 => text(&format!("2024-01-{:02}", 1 + dice.roll(28)), out),
            _ => text("afb76c00-f50a-4723-86c1-fb2f3fa843f1-0", out),
        }
    }
}

fn wide(dice: &mut Dice, row: usize, out: &mut Vec<u8>) {
    wide_later(dice, row, 0, out);
}

/// A wide record, later than the first record of its row by the given time.
fn wide_later(dice: &mut Dice, row: usize, later: usize, out: &mut Vec<u8>) {
    meta(dice, row, out);
    text(&format!("key-{row:012}"), out);
    long(1_700_000_000_000 + (row + later) as i64, out);
    for column in 0..18 {
        nullable(dice, out, |dice, out| match column % 9 {
            0 => long(dice.roll(1 << 20) as i64 - 1000, out),
            1 => long(dice.roll(1 << 45) as i64, out),
            2 => out.extend((dice.roll(1 << 30) as f64 / 7.0).to_le_bytes()),
            3 | 7 => words(dice, out),
            4 => out.push(dice.roll(2) as u8),
            5 => long(1_700_000_000_000_000 + dice.roll(1 << 40) as i64, out),
            6 => out.extend(&(dice.roll(99_999_999_999) as i64).to_be_bytes()[3..]),
            _ => long(19_000 + dice.roll(900) as i64, out),
        });
    }
}

fn wide_schema() -> String {
    let mut fields = String::new();
    for name in ["commit_time", "commit_seqno", "record_key", "partition_path", "file_name"] {
        fields += &format!(r#"{{"name":"_hoodie_{name}","type":["null","string"],"default":null}},"#);
    }
    fields += r#"{"name":"id","type":"string"},{"name":"ts","type":"long"}"#;
    for column in 0..18 {
        let ty = match column % 9 {
            0 => "\"int\"".to_owned(),
            1 => "\"long\"".to_owned(),
            2 => "\"double\"".to_owned(),
            3 | 7 => "\"string\"".to_owned(),
            4 => "\"boolean\"".to_owned(),
            5 => r#"{"type":"long","logicalType":"timestamp-micros"}"#.to_owned(),
            6 => format!(
                r#"{{"type":"fixed","name":"fixed","namespace":"t.c{column}","size":5,"logicalType":"decimal","precision":11,"scale":2}}"#
            ),
            _ => r#"{"type":"int","logicalType":"date"}"#.to_owned(),
        };
        fields += &format!(r#",{{"name":"c{column}","type":["null",{ty}],"default":null}}"#);
    }
    format!(r#"{{"type":"record","name":"wide","fields":[{fields}]}}"#)
}

fn narrow(dice: &mut Dice, row: usize, out: &mut Vec<u8>) {
    meta(dice, row, out);
    text(&format!("key-{row:012}"), out);
    nullable(dice, out, |dice, out| long(dice.roll(1 << 20) as i64, out));
    nullable(dice, out, |dice, out| out.extend((dice.roll(1 << 30) as f64 / 7.0).to_le_bytes()));
    nullable(dice, out, words);
    long(1_700_000_000_000 + row as i64, out);
}

fn narrow_schema() -> String {
    let wide = wide_schema();
    let meta = wide.split(r#"{"name":"id""#).next().unwrap_or_default().replace("\"wide\"", "\"narrow\"");
    meta + r#"{"name":"id","type":"string"},{"name":"n","type":["null","int"]},{"name":"d","type":["null","double"]},
        {"name":"s","type":["null","string"]},{"name":"ts","type":"long"}]}"#
}

fn nested(dice: &mut Dice, row: usize, out: &mut Vec<u8>) {
    meta(dice, row, out);
    text(&format!("key-{row:012}"), out);
    nullable(dice, out, |dice, out| {
        nullable(dice, out, words);
        nullable(dice, out, |dice, out| {
            nullable(dice, out, |dice, out| long(dice.roll(1 << 20) as i64, out));
            nullable(dice, out, |dice, out| out.extend((dice.roll(1 << 30) as f64).to_le_bytes()));
        });
    });
    nullable(dice, out, |dice, out| {
        let count = dice.roll(6) as i64;
        if count > 0 {
            long(count, out);
            (0..count).for_each(|_| nullable(dice, out, |dice, out| long(dice.roll(1 << 20) as i64, out)));
        }
        out.push(0);
    });
    nullable(dice, out, |dice, out| {
        let count = dice.roll(4) as i64;
        if count > 0 {
            long(count, out);
            for _ in 0..count {
                nullable(dice, out, |dice, out| {
                    nullable(dice, out, words);
                    nullable(dice, out, |dice, out| out.extend((dice.roll(1 << 30) as f64).to_le_bytes()));
                });
            }
        }
        out.push(0);
    });
    nullable(dice, out, |dice, out| {
        let count = dice.roll(4) as i64;
        if count > 0 {
            long(count, out);
            for entry in 0..count {
                text(&format!("entry{entry}"), out);
                nullable(dice, out, |dice, out| long(dice.roll(1 << 40) as i64, out));
            }
        }
        out.push(0);
    });
}

fn nested_schema() -> String {
    let wide = wide_schema();
    let meta = wide.split(r#"{"name":"id""#).next().unwrap_or_default().replace("\"wide\"", "\"nested\"");
    meta + r#"{"name":"id","type":"string"},
        {"name":"st","type":["null",{"type":"record","name":"st","fields":[{"name":"a","type":["null","string"]},
            {"name":"in","type":["null",{"type":"record","name":"in","fields":[{"name":"x","type":["null","int"]},{"name":"y","type":["null","double"]}]}]}]}]},
        {"name":"ai","type":["null",{"type":"array","items":["null","int"]}]},
        {"name":"as","type":["null",{"type":"array","items":["null",{"type":"record","name":"as_","fields":[
            {"name":"k","type":["null","string"]},{"name":"v","type":["null","double"]}]}]}]},
        {"name":"m","type":["null",{"type":"map","values":["null","long"]}]}]}"#
}

fn begin(rows: usize) -> (Dice, Vec<u8>, Vec<Datum>) {
    // The head of a content: a version and a count.
    let mut content = vec![0, 0, 0, 3];
    content.extend((rows as u32).to_be_bytes());
    (Dice(0x9e37_79b9_7f4a_7c15), content, Vec::new())
}

/// As in a log block: each datum after its length.
fn append(content: &mut Vec<u8>, datums: &mut Vec<Datum>, write: impl FnOnce(&mut Vec<u8>)) {
    content.extend([0; 4]);
    let at = content.len();
    write(content);
    let len = (content.len() - at) as u32;
    content[at - 4..at].copy_from_slice(&len.to_be_bytes());
    datums.push(Datum { at: at as u32, len });
}

fn case(rows: usize, name: &'static str, json: String, write: Write, columns: Option<Vec<&'static str>>) -> Case {
    let (mut dice, mut content, mut datums) = begin(rows);
    for row in 0..rows {
        append(&mut content, &mut datums, |out| write(&mut dice, row, out));
    }
    Case { name, json, content, datums, columns }
}

/// The cases, with the given number of records each.
pub(crate) fn cases(rows: usize) -> [Case; 4] {
    let five = Some(vec!["_hoodie_record_key", "ts", "c2", "c3", "c10"]);
    [
        case(rows, "wide", wide_schema(), wide, None),
        case(rows, "narrow", narrow_schema(), narrow, None),
        case(rows, "nested", nested_schema(), nested, None),
        case(rows, "5 of 25", wide_schema(), wide, five),
    ]
}

/// Wide records that update the given number of keys repeatedly, in no order.
pub(crate) fn updates(rows: usize, keys: usize, later: usize) -> Case {
    let (mut dice, mut content, mut datums) = begin(rows);
    for _ in 0..rows {
        let key = dice.roll(keys as u64) as usize;
        append(&mut content, &mut datums, |out| wide_later(&mut dice, key, later, out));
    }
    Case { name: "updates", json: wide_schema(), content, datums, columns: None }
}

/// Wide records of every key below `keys` once, in a fixed order that is not sorted.
pub(crate) fn every_key(keys: usize, later: usize) -> Case {
    let (mut dice, mut content, mut datums) = begin(keys);
    for row in 0..keys {
        // 7919 is a prime, so every key is returned once unless their number is a multiple of it.
        append(&mut content, &mut datums, |out| wide_later(&mut dice, row * 7919 % keys, later, out));
    }
    Case { name: "every key", json: wide_schema(), content, datums, columns: None }
}
