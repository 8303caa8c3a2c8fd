//! One stripe: which streams it has, where they lie, and how its columns are encoded.
//!
//! | StripeFooter | |
//! |---|---|
//! | 1 for each stream, in their order in the stripe | 1 kind, 2 column, 3 length |
//! | 2 for each column | 1 encoding, 2 size of its dictionary |
//! | 3 | the writer's time zone |

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::compression::Compression;
use super::int_runs::{IntRuns, RunVersion};
use super::stream::Stream;
use super::tail::StripeInformation;
use super::zone;
use mortice_base::error::{Error, Result};
use mortice_base::protobuf::{FieldValue, fields};
use mortice_storage::FileSource;

/// The streams that are read, by their numbers.
pub(super) mod kind {
    pub(in crate::orc) const PRESENT: u64 = 0;
    pub(in crate::orc) const DATA: u64 = 1;
    pub(in crate::orc) const LENGTH: u64 = 2;
    pub(in crate::orc) const DICTIONARY: u64 = 3;
    pub(in crate::orc) const SECONDARY: u64 = 5;
}

/// How a column is encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnEncoding {
    pub(super) runs: RunVersion,
    /// The size of its dictionary, where it has one.
    pub(super) dictionary: Option<u64>,
}

/// A stripe whose footer is read.
pub(super) struct Stripe {
    source: Arc<dyn FileSource>,
    compression: Compression,
    streams: HashMap<(usize, u64), Range<u64>>,
    encodings: Vec<ColumnEncoding>,
    zone: String,
}

impl Stripe {
    /// Reads the footer of the stripe at a place.
    pub(super) fn open(
        source: &Arc<dyn FileSource>,
        compression: Compression,
        place: &StripeInformation,
    ) -> Result<Self> {
        let (Some(footer_at), Some(end)) = (place.footer_at(), place.end()) else {
            return Err(Error::invalid_table("invalid ORC file: a stripe ends after the file"));
        };
        // Which streams are read depends on the columns; near ones are fetched together.
        source.plan_reads(&[std::iter::once(place.offset..end).collect()])?;
        let footer = compression.decompressed(&source.read(footer_at..end)?)?;
        let (mut streams, mut encodings, mut zone) = (HashMap::new(), Vec::new(), String::new());
        let mut at = place.offset;
        fields(&footer, |number, value| {
            match (number, value) {
                (1, FieldValue::Bytes(message)) => {
                    let [kind, column, len] = numbers(message)?;
                    let stream_end = at.checked_add(len).filter(|end| *end <= footer_at);
                    let stream_end = stream_end
                        .ok_or_else(|| Error::invalid_table("invalid ORC file: a stream is outside its stripe"))?;
                    streams.insert((usize::try_from(column).unwrap_or(usize::MAX), kind), at..stream_end);
                    at = stream_end;
                }
                (2, FieldValue::Bytes(message)) => encodings.push(ColumnEncoding::parse(message)?),
                (3, FieldValue::Bytes(text)) => zone = String::from_utf8_lossy(text).into_owned(),
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self { source: Arc::clone(source), compression, streams, encodings, zone })
    }

    /// The encoding of a column.
    pub(super) fn encoding(&self, column: usize) -> Result<ColumnEncoding> {
        let found = self.encodings.get(column).copied();
        found.ok_or_else(|| Error::invalid_table(format!("invalid ORC file: column {column} has no encoding")))
    }

    /// A stream of a column; empty where it has none, as where all values are null.
    pub(super) fn stream(&self, column: usize, kind: u64) -> Result<Stream> {
        Ok(self.some_stream(column, kind)?.unwrap_or_default())
    }

    /// A stream of a column, if it has one.
    pub(super) fn some_stream(&self, column: usize, kind: u64) -> Result<Option<Stream>> {
        let Some(range) = self.streams.get(&(column, kind)) else { return Ok(None) };
        let packed: Bytes = if range.is_empty() { Bytes::new() } else { self.source.read(range.clone())? };
        let decompressed = self.compression.decompressed(&packed).map_err(|error| error.offset_from(range.start))?;
        Ok(Some(Stream::new(decompressed)))
    }

    /// A stream of whole numbers.
    pub(super) fn ints(&self, column: usize, kind: u64, signed: bool) -> Result<IntRuns> {
        Ok(IntRuns::new(self.stream(column, kind)?, self.encoding(column)?.runs, signed))
    }

    /// The moment that times are counted from, in seconds from 1970 in UTC.
    pub(super) fn epoch(&self) -> Result<i64> {
        zone::epoch_of(&self.zone)
    }
}

impl ColumnEncoding {
    fn parse(message: &[u8]) -> Result<Self> {
        let (mut encoding, mut size) = (0, 0);
        fields(message, |number, value| {
            match (number, value) {
                (1, FieldValue::Number(number)) => encoding = number,
                (2, FieldValue::Number(number)) => size = number,
                _ => {}
            }
            Ok(())
        })?;
        let (runs, dictionary) = match encoding {
            0 => (RunVersion::V1, None),
            1 => (RunVersion::V1, Some(size)),
            2 => (RunVersion::V2, None),
            3 => (RunVersion::V2, Some(size)),
            other => return Err(Error::unsupported(format!("unsupported ORC column encoding {other}"))),
        };
        Ok(Self { runs, dictionary })
    }
}

/// The numbers under 1, 2 and 3.
fn numbers(message: &[u8]) -> Result<[u64; 3]> {
    let mut found = [0; 3];
    fields(message, |number, value| {
        let slot = number.checked_sub(1).and_then(|at| usize::try_from(at).ok()).and_then(|at| found.get_mut(at));
        if let (Some(slot), FieldValue::Number(number)) = (slot, value) {
            *slot = number;
        }
        Ok(())
    })?;
    Ok(found)
}
