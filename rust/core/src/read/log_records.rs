//! The only meeting of log and merge: keys of all blocks go into a merger, and the rows that win are decoded from where
//! they lie, each once, only the columns that are carried.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::BooleanArray;
use bytes::Bytes;

use super::log_blocks::LogBlocks;
use super::log_keys::KeyColumns;
use super::report::SharedReport;
use crate::avro::{self, Datum, Decoder, Program, Types, Want};
use crate::error::{Error, Result};
use crate::log::content::{avro_data, delete};
use crate::log::{BlockKind, BlockRef, BlockType, HeaderKey};
use crate::merge::{Fetched, LogBatch, LogKind, Merger, RowRef, Winners};

/// Records whose keys are decoded at a time.
const KEYS_AT_ONCE: usize = 16 * 1024;

/// The blocks of a slice, their records ready to be fetched.
pub(super) struct LogRecords {
    sources: Vec<Source>,
    programs: Vec<Arc<Program>>,
    report: SharedReport,
}

/// A block's content, and how its records are decoded. Delete blocks have no program: nothing of them is fetched.
struct Source {
    content: Bytes,
    program: Option<usize>,
    place: BlockPlace,
}

/// For messages.
#[derive(Clone)]
struct BlockPlace {
    path: String,
    content_at: u64,
    index: u64,
    instant: Option<String>,
}

impl BlockPlace {
    fn mark(&self, error: Error) -> Error {
        let error = error.offset_from(self.content_at).in_block(self.index).in_file(&self.path);
        match &self.instant {
            Some(instant) => error.at_instant(instant),
            None => error,
        }
    }
}

/// Programs compiled for one writer schema: the keys', and the carried columns'.
struct Compiled {
    keys: Arc<Program>,
    carried: usize,
}

/// Feeds a merger with blocks, oldest first.
pub(super) struct LogLoader<'a> {
    pub(super) table: &'a avro::Schema,
    pub(super) keys: &'a KeyColumns,
    /// The columns to fetch of rows that win.
    pub(super) carried: Vec<Want>,
    pub(super) report: SharedReport,
}

impl LogLoader<'_> {
    /// Reads the keys of all blocks.
    pub(super) fn load(&self, blocks: LogBlocks, merger: &mut Merger) -> Result<LogRecords> {
        let mut records = LogRecords { sources: Vec::new(), programs: Vec::new(), report: self.report.clone() };
        let mut compiled: HashMap<Bytes, Compiled> = HashMap::new();
        for found in &blocks.blocks {
            let Some(file) = blocks.files.get(found.file) else { continue };
            let place = BlockPlace {
                path: file.path().to_owned(),
                content_at: found.block.content.start,
                index: found.block.index,
                instant: found.block.header.instant_time().map(|instant| instant.into_owned()),
            };
            let content = file.read(found.block.content.clone())?;
            let ordinal = merger.add_source(content.clone())?;
            let read = self.load_block(found, ordinal, &content, merger, &mut records.programs, &mut compiled);
            let (program, read) = read.map_err(|error| place.mark(error))?;
            self.report.edit().records_read += read as u64;
            records.sources.push(Source { content, program, place });
        }
        Ok(records)
    }

    /// The ordinal of the block's program, and how many records it has.
    fn load_block(
        &self,
        found: &BlockRef,
        ordinal: u32,
        content: &Bytes,
        merger: &mut Merger,
        programs: &mut Vec<Arc<Program>>,
        compiled: &mut HashMap<Bytes, Compiled>,
    ) -> Result<(Option<usize>, usize)> {
        match &found.block.kind {
            BlockKind::Sound(BlockType::Delete) => {
                self.load_deletes(ordinal, content, merger).map(|count| (None, count))
            }
            BlockKind::Sound(BlockType::AvroData) if found.block.is_partial() => Err(Error::unsupported(
                "a log block of a partial update (IS_PARTIAL, written by MERGE INTO or UPDATE); this release merges whole rows",
            )),
            BlockKind::Sound(BlockType::AvroData) if content.is_empty() => Ok((None, 0)),
            BlockKind::Sound(BlockType::AvroData) => {
                let Some(text) = found.block.header.bytes(HeaderKey::Schema) else {
                    return Err(Error::corrupt("an Avro data block without SCHEMA in its header"));
                };
                if !compiled.contains_key(text) {
                    compiled.insert(text.clone(), self.compile(text, programs)?);
                }
                let Some(compiled) = compiled.get(text) else { return Ok((None, 0)) };
                let count = self.load_keys(ordinal, content, &compiled.keys, merger)?;
                Ok((Some(compiled.carried), count))
            }
            _ => Err(Error::unsupported(format!(
                "a log block of type {}; this release merges Avro and delete blocks",
                found.block.type_name()
            ))),
        }
    }

    fn compile(&self, text: &Bytes, programs: &mut Vec<Arc<Program>>) -> Result<Compiled> {
        let text = std::str::from_utf8(text)
            .map_err(|error| Error::corrupt("the SCHEMA of a block's header is not UTF-8").caused_by(error))?;
        let writer = avro::Schema::parse(text)?;
        let keys = Program::compile(&writer, self.table, &self.keys.wants(), Types::Table)?;
        programs.push(Arc::new(Program::compile(&writer, self.table, &self.carried, Types::Table)?));
        Ok(Compiled { keys: Arc::new(keys), carried: programs.len() - 1 })
    }

    fn load_keys(&self, source: u32, content: &Bytes, program: &Arc<Program>, merger: &mut Merger) -> Result<usize> {
        let datums: Vec<Datum> =
            avro_data::records(content)?.datums.into_iter().map(|(at, len)| Datum { at, len }).collect();
        for some in datums.chunks(KEYS_AT_ONCE) {
            let mut decoder = Decoder::new(Arc::clone(program));
            decoder.decode(content, some)?;
            let batch = self.keys.batch(&decoder.finish()?)?;
            let places: Vec<u32> = some.iter().map(|datum| datum.at).collect();
            let deleted = batch.markers.deleted()?;
            merger.add(
                source,
                &LogBatch {
                    kind: LogKind::Data,
                    keys: &batch.keys,
                    ordering: &batch.ordering,
                    deleted: deleted.as_ref(),
                    places: &places,
                },
            )?;
        }
        Ok(datums.len())
    }

    fn load_deletes(&self, source: u32, content: &Bytes, merger: &mut Merger) -> Result<usize> {
        let deleted = delete::deleted(content)?;
        merger.add(
            source,
            &LogBatch {
                kind: LogKind::Delete,
                keys: &self.keys.deleted_keys(&deleted),
                ordering: &self.keys.deleted_ordering(&deleted, content)?,
                deleted: Some(&BooleanArray::from(vec![true; deleted.len()])),
                places: &vec![0; deleted.len()],
            },
        )?;
        Ok(deleted.len())
    }
}

impl Winners for LogRecords {
    fn fetch(&mut self, rows: &[RowRef]) -> Result<Fetched> {
        // Rows of one block are decoded together, whatever order they are wanted in.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|index| rows.get(*index));
        let mut picks = vec![(0, 0); rows.len()];
        let mut decoders: Vec<(usize, Decoder)> = Vec::new();
        let same_source =
            |one: &usize, two: &usize| rows.get(*one).map(|row| row.source) == rows.get(*two).map(|row| row.source);
        for some in order.chunk_by(same_source) {
            let Some(source) =
                some.first().and_then(|first| rows.get(*first)).and_then(|row| self.sources.get(row.source as usize))
            else {
                return Err(Error::invalid_argument("a row of a log block that was not read"));
            };
            let (batch, first) = self
                .decode(source, some.iter().filter_map(|index| rows.get(*index)), &mut decoders)
                .map_err(|error| source.place.mark(error))?;
            for (offset, index) in some.iter().enumerate() {
                if let Some(pick) = picks.get_mut(*index) {
                    *pick = (batch, first + offset);
                }
            }
        }
        self.report.edit().records_won += rows.len() as u64;
        let batches = decoders.into_iter().map(|(_, mut decoder)| decoder.finish()).collect::<Result<Vec<_>>>()?;
        Ok(Fetched { batches, picks })
    }
}

impl LogRecords {
    /// Decodes rows of one block: the ordinal of the batch they go to, and the first one's row there.
    fn decode<'a>(
        &self,
        source: &Source,
        rows: impl Iterator<Item = &'a RowRef>,
        decoders: &mut Vec<(usize, Decoder)>,
    ) -> Result<(usize, usize)> {
        let datums = rows.map(|row| datum(&source.content, row.at)).collect::<Result<Vec<_>>>()?;
        let Some((ordinal, program)) = source.program.and_then(|at| Some((at, self.programs.get(at)?))) else {
            return Err(Error::invalid_argument("a row of a block that has none"));
        };
        let batch = match decoders.iter().position(|(of, _)| *of == ordinal) {
            Some(batch) => batch,
            None => {
                decoders.push((ordinal, Decoder::new(Arc::clone(program))));
                decoders.len() - 1
            }
        };
        let Some((_, decoder)) = decoders.get_mut(batch) else { return Ok((batch, 0)) };
        let first = decoder.len();
        decoder.decode(&source.content, &datums)?;
        Ok((batch, first))
    }
}

/// The datum that begins at `at`; its length stands before it.
fn datum(content: &[u8], at: u32) -> Result<Datum> {
    let (at, len) = avro_data::datum_at(content, (at as usize).saturating_sub(4))?;
    Ok(Datum { at, len })
}
