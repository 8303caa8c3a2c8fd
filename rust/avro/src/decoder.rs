//! Records to columns: sixty-four datums at a time, and of those one field after the other.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};

use super::columns::{Column, build, step_lanes};
use super::lanes::{LANES, Lanes};
use super::program::DecodeProgram;

use mortice_base::error::{Error, Result};
use mortice_base::trusted::prefetch;

/// The position of the Avro bytes of one record in a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Datum {
    /// The first byte's offset in the content.
    pub at: u32,
    /// Bytes of the record.
    pub len: u32,
}

/// Decodes records of one writer's schema into the columns of a [`DecodeProgram`].
pub struct Decoder {
    program: Arc<DecodeProgram>,
    columns: Vec<Box<dyn Column>>,
    rows: usize,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder")
            .field("schema", self.program.schema())
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// An empty decoder.
    #[must_use]
    pub fn new(program: Arc<DecodeProgram>) -> Self {
        let columns = program.columns.iter().map(build).collect();
        Self { program, columns, rows: 0 }
    }

    /// Appends a row for each datum, in the order given, which need not be that of the content.
    ///
    /// # Errors
    /// `CorruptLog`, with the offset in the content, where a datum is not what the writer's schema says, ends before
    /// its fields do or passes the end of the content (bytes left over in a datum are fine); `MemoryLimit` where a
    /// column of text or items passes 2 GiB or 2^31. After an error the decoder has to be dropped.
    pub fn decode(&mut self, content: &[u8], datums: &[Datum]) -> Result<()> {
        if u32::try_from(content.len()).is_err() {
            return Err(Error::invalid_argument("a content of more than 4 GiB"));
        }
        self.columns.iter_mut().for_each(|column| column.reserve(datums.len()));
        let mut lanes = Lanes::new(content);
        let mut ahead = datums.chunks(LANES).skip(1);
        for group in datums.chunks(LANES) {
            lanes.load(group.iter().map(|datum| (datum.at, datum.len)))?;
            let mut ahead = PrefetchedDatums::new(content, ahead.next().unwrap_or_default(), self.program.steps.len());
            for step in &self.program.steps {
                ahead.fetch_some();
                step_lanes(std::slice::from_ref(step), &mut self.columns, &mut lanes)?;
            }
            lanes.check_ends()?;
            self.rows += group.len();
        }
        Ok(())
    }

    /// Rows decoded since the last batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows so far as a batch of the program's schema; the decoder is empty afterwards and can be used again.
    ///
    /// # Errors
    /// `CorruptLog` where a string is not UTF-8.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let schema = self.program.schema();
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, field) in self.columns.iter_mut().zip(schema.fields()) {
            let named = |error: Error| Error::new(error.kind(), format!("column {}", field.name())).caused_by(error);
            arrays.push(column.finish().map_err(named)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
            .map_err(|error| Error::corrupt("decoded columns make no batch").caused_by(error))
    }
}

/// The datums of the next group, on their way from memory. In lockstep the first look at each would be a miss in
/// another place; so their cache lines are asked for while this group is decoded, a few before each of its fields.
struct PrefetchedDatums<'a> {
    content: &'a [u8],
    datums: std::slice::Iter<'a, Datum>,
    at: usize,
    end: usize,
    /// Lines before each field.
    lines: usize,
}

impl<'a> PrefetchedDatums<'a> {
    const LINE: usize = 64;

    fn new(content: &'a [u8], datums: &'a [Datum], fields: usize) -> Self {
        let bytes: usize = datums.iter().map(|datum| datum.len as usize).sum();
        let lines = (bytes / Self::LINE + datums.len()) / fields.max(1) + 1;
        Self { content, datums: datums.iter(), at: 0, end: 0, lines }
    }

    fn fetch_some(&mut self) {
        for _ in 0..self.lines {
            if self.at >= self.end {
                let Some(datum) = self.datums.next() else { return };
                // Where one ends the next begins, most often; then its first line has been asked for.
                self.at = (datum.at as usize).max(self.at.min(datum.at as usize + Self::LINE));
                self.end = datum.at as usize + datum.len as usize;
            }
            if let Some(byte) = self.content.get(self.at) {
                prefetch(byte);
            }
            self.at += Self::LINE;
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;

    use super::super::{ArrowMapping, RequestedColumn, Schema, write_bytes, write_long};
    use super::*;
    use mortice_base::error::ErrorKind;

    fn program(fields: &str, wants: &[&str]) -> Arc<DecodeProgram> {
        let schema = Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#)).unwrap();
        let wants: Vec<RequestedColumn> = wants.iter().map(|name| RequestedColumn::Value((*name).to_owned())).collect();
        Arc::new(DecodeProgram::compile(&schema, &schema, &wants, ArrowMapping::Table).unwrap())
    }

    fn decode(program: &Arc<DecodeProgram>, content: &[u8]) -> Result<RecordBatch> {
        let mut decoder = Decoder::new(Arc::clone(program));
        decoder.decode(content, &[Datum { at: 0, len: content.len() as u32 }])?;
        decoder.finish()
    }

    #[test]
    fn rows_are_counted_without_columns_and_a_decoder_is_used_again() {
        let program = program(r#"{"name":"a","type":"int"}"#, &[]);
        let mut decoder = Decoder::new(program);
        for rows in [3, 100] {
            decoder.decode(&[2; 100], &vec![Datum { at: 0, len: 1 }; rows]).unwrap();
            assert_eq!(decoder.len(), rows);
            assert_eq!(decoder.finish().unwrap().num_rows(), rows);
            assert!(decoder.is_empty());
        }
    }

    #[test]
    fn bytes_left_over_in_a_datum_are_fine() {
        let batch = decode(&program(r#"{"name":"a","type":"boolean"}"#, &["a"]), &[1, 0xff, 0xff]).unwrap();
        assert!(batch.column(0).as_boolean().value(0));
    }

    #[test]
    fn what_cannot_be_is_an_error_with_its_offset() {
        for (ty, content, offset) in [
            (r#""boolean""#, &[2, 0, 2][..], 3),
            (r#"["null","int"]"#, &[2, 0, 4], 3),
            (r#"["int","string","null"]"#, &[2, 0, 6], 3),
            (r#""string""#, &[2, 0, 1], 3),
            (r#""string""#, &[2, 0, 4, b'a'], 3),
            (r#""double""#, &[2, 0, 0, 0], 2),
            (r#"{"type":"enum","name":"e","symbols":["A"]}"#, &[2, 0, 2], 3),
            (r#"{"type":"array","items":"int"}"#, &[2, 0, 20, 0], 3),
            (r#"{"type":"map","values":"null"}"#, &[2, 0, 20, 0], 3),
            (r#""int""#, &[2, 0, 0xff, 0xff, 0xff, 0xff, 0x7f], 7),
        ] {
            let fields = format!(r#"{{"name":"before","type":"string"}},{{"name":"a","type":{ty}}}"#);
            let error = decode(&program(&fields, &["a"]), content).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptLog, "{ty}");
            assert_eq!(error.location().offset, Some(offset), "{ty}: {error}");
        }
    }

    /// Short ones are copied as they are read, others found first: what a length begins with must not be taken for all
    /// of it.
    #[test]
    fn strings_of_every_length_are_read_and_stepped_over() {
        let fields = r#"{"name":"a","type":"string"},{"name":"b","type":["null","string"]},{"name":"c","type":"int"}"#;
        let text = |length: usize| char::from(b'a' + (length % 26) as u8).to_string().repeat(length);
        let (mut content, mut datums) = (Vec::new(), Vec::new());
        for length in 0..400 {
            let at = content.len();
            write_bytes(text(length).as_bytes(), &mut content);
            content.push(2);
            write_bytes(text(length).as_bytes(), &mut content);
            write_long(length as i64, &mut content);
            datums.push(Datum { at: at as u32, len: (content.len() - at) as u32 });
        }
        content.extend([0; 100]);
        for wants in [&["a", "b", "c"][..], &["c"], &["b"]] {
            // One by one, since one that is not short decides for all that are read with it.
            for group in [1, 64] {
                let mut decoder = Decoder::new(program(fields, wants));
                datums.chunks(group).for_each(|some| decoder.decode(&content, some).unwrap());
                let batch = decoder.finish().unwrap();
                for (length, name) in (0..400).flat_map(|length| wants.iter().map(move |name| (length, *name))) {
                    let column = batch.column_by_name(name).unwrap();
                    match name {
                        "c" => assert_eq!(column.as_primitive::<Int32Type>().value(length), length as i32),
                        _ => assert_eq!(column.as_string::<i32>().value(length), text(length)),
                    }
                }
            }
        }
    }

    /// Nothing but their number bounds them.
    #[test]
    fn items_without_bytes_are_limited_by_batch() {
        let program = program(r#"{"name":"a","type":{"type":"array","items":"null"}}"#, &["a"]);
        // A block of 65536 items, and the end.
        let content = [0x80, 0x80, 0x08, 0];
        let datum = Datum { at: 0, len: 4 };
        let mut decoder = Decoder::new(program);
        decoder.decode(&content, &[datum; 16]).unwrap();
        assert_eq!(decoder.decode(&content, &[datum]).unwrap_err().kind(), ErrorKind::MemoryLimit);
    }

    #[test]
    fn text_that_is_not_utf8_is_an_error_with_column_and_row() {
        let program = program(r#"{"name":"a","type":"string"},{"name":"b","type":"string"}"#, &["a", "b"]);
        // Two halves of one character in two rows would be sound as a whole.
        let content = [2, b'x', 2, 0xc3, 2, b'x', 2, 0xa4];
        let mut decoder = Decoder::new(program);
        decoder.decode(&content, &[Datum { at: 0, len: 4 }, Datum { at: 4, len: 4 }]).unwrap();
        let error = decoder.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptLog);
        assert!(error.to_string().contains("column b") && error.to_string().contains("row 0"), "{error}");
    }

    #[test]
    fn items_without_bytes_do_not_run_away() {
        let items = r#"{"name":"a","type":{"type":"array","items":{"type":"record","name":"e","fields":[]}}}"#;
        let batch = decode(&program(items, &["a"]), &[200, 1, 0]).unwrap();
        assert_eq!(batch.column(0).as_list::<i32>().value_length(0), 100);
        let many = [0x80, 0x80, 0x80, 0x80, 0x10, 0];
        assert_eq!(decode(&program(items, &["a"]), &many).unwrap_err().kind(), ErrorKind::CorruptLog);
    }

    #[test]
    fn fields_behind_the_last_wanted_one_are_not_looked_at() {
        let program = program(r#"{"name":"a","type":"int"},{"name":"b","type":"string"}"#, &["a"]);
        assert_eq!(decode(&program, &[6, 0xff]).unwrap().num_rows(), 1);
    }
}
