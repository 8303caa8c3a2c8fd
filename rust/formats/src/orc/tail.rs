//! The end of an ORC file: postscript, footer, and the statistics of its stripes.
//!
//! ```text
//! metadata (compressed) · footer (compressed) · postscript (not compressed) · length of the postscript, one byte
//! ```
//! Messages and their fields: `orc_proto.proto`.

use std::sync::Arc;

use bytes::Bytes;

use super::compression::Compression;
use super::statistics::ColumnStatistics;
use super::types::{FooterType, OrcType};
use mortice_base::error::{Error, Result};
use mortice_base::protobuf::{FieldValue, fields};
use mortice_storage::FileSource;

const MAGIC: &[u8] = b"ORC";
/// As long as a postscript can be, its length included.
const LONGEST_POSTSCRIPT: u64 = 256;
/// Bytes read at first from the end: most footers are within.
const FIRST_READ: u64 = 16 << 10;
/// Earlier writers wrote wrong bounds of strings (HIVE-8732).
const SOUND_TEXT_BOUNDS: u64 = 1;

/// Field numbers of `PostScript`.
mod postscript_field {
    pub(super) const FOOTER_LENGTH: u64 = 1;
    pub(super) const COMPRESSION: u64 = 2;
    pub(super) const COMPRESSION_BLOCK_SIZE: u64 = 3;
    pub(super) const METADATA_LENGTH: u64 = 5;
    pub(super) const WRITER_VERSION: u64 = 6;
    pub(super) const MAGIC: u64 = 8000;
}

/// Field numbers of `Footer`.
mod footer_field {
    pub(super) const STRIPES: u64 = 3;
    pub(super) const TYPES: u64 = 4;
    pub(super) const USER_METADATA: u64 = 5;
    pub(super) const NUMBER_OF_ROWS: u64 = 6;
    pub(super) const ENCRYPTION: u64 = 10;
}

/// Field numbers of `StripeInformation`.
mod stripe_field {
    pub(super) const OFFSET: u64 = 1;
    pub(super) const INDEX_LENGTH: u64 = 2;
    pub(super) const DATA_LENGTH: u64 = 3;
    pub(super) const FOOTER_LENGTH: u64 = 4;
    pub(super) const NUMBER_OF_ROWS: u64 = 5;
}

/// Field numbers of `UserMetadataItem`.
mod user_field {
    pub(super) const NAME: u64 = 1;
    pub(super) const VALUE: u64 = 2;
}

/// The field of `Metadata` with a message for each stripe.
const STRIPE_STATISTICS: u64 = 1;
/// The field of `StripeStatistics` with a message for each column.
const COLUMN_STATISTICS: u64 = 1;

/// Offset and lengths of a stripe.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StripeInformation {
    pub(super) offset: u64,
    pub(super) index_len: u64,
    pub(super) data_len: u64,
    pub(super) footer_len: u64,
    pub(super) rows: u64,
}

/// The contents of the end of a file.
#[derive(Debug)]
pub(super) struct OrcTail {
    pub(super) compression: Compression,
    pub(super) stripes: Vec<StripeInformation>,
    pub(super) root: OrcType,
    pub(super) user: Vec<(String, Bytes)>,
    pub(super) rows: u64,
    /// By stripe, then by column; empty where there are none that can be trusted.
    pub(super) statistics: Vec<Vec<ColumnStatistics>>,
}

#[derive(Default)]
struct PostScript {
    footer_len: u64,
    metadata_len: u64,
    codec: u64,
    block: u64,
    writer: u64,
    magic: bool,
}

impl OrcTail {
    /// Reads the end of a file.
    pub(super) fn read(source: &Arc<dyn FileSource>) -> Result<Self> {
        let len = source.len();
        let end = source.read(len.saturating_sub(FIRST_READ)..len)?;
        let (postscript, postscript_len) = PostScript::at_end_of(&end)?;
        let compression = Compression::from_postscript(postscript.codec, postscript.block)?;
        let footer_end = len.saturating_sub(postscript_len);
        let part = |end: u64, part_len: u64| {
            let start = end.checked_sub(part_len);
            let start =
                start.ok_or_else(|| Error::invalid_table("invalid ORC file: the footer is longer than the file"))?;
            compression.decompressed(&source.read(start..end)?)
        };
        let footer = part(footer_end, postscript.footer_len)?;
        let mut tail = Self::from_footer(&footer, compression)?;
        let metadata = part(footer_end.saturating_sub(postscript.footer_len), postscript.metadata_len)?;
        if postscript.writer >= SOUND_TEXT_BOUNDS {
            tail.statistics = statistics(&metadata)?;
        }
        tail.check(footer_end)?;
        Ok(tail)
    }

    fn from_footer(footer: &[u8], compression: Compression) -> Result<Self> {
        let (mut stripes, mut types, mut user, mut rows) = (Vec::new(), Vec::new(), Vec::new(), 0);
        fields(footer, |number, value| {
            match (number, value) {
                (footer_field::STRIPES, FieldValue::Bytes(message)) => stripes.push(StripeInformation::parse(message)?),
                (footer_field::TYPES, FieldValue::Bytes(message)) => types.push(FooterType::parse(message)?),
                (footer_field::USER_METADATA, FieldValue::Bytes(message)) => user.extend(user_item(message)?),
                (footer_field::NUMBER_OF_ROWS, FieldValue::Number(number)) => rows = number,
                (footer_field::ENCRYPTION, _) => {
                    return Err(Error::unsupported("unsupported ORC file: it has encrypted columns"));
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self { compression, stripes, root: OrcType::tree(&types)?, user, rows, statistics: Vec::new() })
    }

    /// Checks that the stripes are in the file and contain its rows.
    fn check(&self, end: u64) -> Result<()> {
        let mut rows = 0_u64;
        for stripe in &self.stripes {
            let within = stripe.end().is_some_and(|stripe_end| stripe_end <= end);
            let sum = rows.checked_add(stripe.rows);
            rows = sum.filter(|_| within).ok_or_else(|| {
                Error::invalid_table("invalid ORC file: a stripe is outside the file").at_offset(stripe.offset)
            })?;
        }
        if rows == self.rows {
            return Ok(());
        }
        Err(Error::invalid_table(format!("invalid ORC file: its footer has {} rows, its stripes {rows}", self.rows)))
    }
}

impl PostScript {
    /// The postscript, and its length with the byte that contains it.
    fn at_end_of(bytes: &[u8]) -> Result<(Self, u64)> {
        let torn = || Error::invalid_table("invalid ORC file: it does not end with a postscript");
        let (len, before) = bytes.split_last().ok_or_else(torn)?;
        let start = before.len().checked_sub(usize::from(*len)).ok_or_else(torn)?;
        let mut found = Self::default();
        fields(before.get(start..).unwrap_or_default(), |number, value| {
            match (number, value) {
                (postscript_field::FOOTER_LENGTH, FieldValue::Number(len)) => found.footer_len = len,
                (postscript_field::COMPRESSION, FieldValue::Number(codec)) => found.codec = codec,
                (postscript_field::COMPRESSION_BLOCK_SIZE, FieldValue::Number(block)) => found.block = block,
                (postscript_field::METADATA_LENGTH, FieldValue::Number(len)) => found.metadata_len = len,
                (postscript_field::WRITER_VERSION, FieldValue::Number(writer)) => found.writer = writer,
                (postscript_field::MAGIC, FieldValue::Bytes(magic)) => found.magic = magic == MAGIC,
                _ => {}
            }
            Ok(())
        })
        .map_err(|error| torn().caused_by(error))?;
        if found.magic { Ok((found, (u64::from(*len) + 1).min(LONGEST_POSTSCRIPT))) } else { Err(torn()) }
    }
}

impl StripeInformation {
    fn parse(message: &[u8]) -> Result<Self> {
        let mut stripe = Self::default();
        fields(message, |number, value| {
            match (number, value) {
                (stripe_field::OFFSET, FieldValue::Number(offset)) => stripe.offset = offset,
                (stripe_field::INDEX_LENGTH, FieldValue::Number(len)) => stripe.index_len = len,
                (stripe_field::DATA_LENGTH, FieldValue::Number(len)) => stripe.data_len = len,
                (stripe_field::FOOTER_LENGTH, FieldValue::Number(len)) => stripe.footer_len = len,
                (stripe_field::NUMBER_OF_ROWS, FieldValue::Number(rows)) => stripe.rows = rows,
                _ => {}
            }
            Ok(())
        })?;
        Ok(stripe)
    }

    /// Where its footer begins.
    pub(super) fn footer_at(&self) -> Option<u64> {
        self.offset.checked_add(self.index_len)?.checked_add(self.data_len)
    }

    pub(super) fn end(&self) -> Option<u64> {
        self.footer_at()?.checked_add(self.footer_len)
    }
}

fn user_item(message: &[u8]) -> Result<Option<(String, Bytes)>> {
    let (mut name, mut held) = (None, Bytes::new());
    fields(message, |number, value| {
        match (number, value) {
            (user_field::NAME, FieldValue::Bytes(text)) => name = Some(String::from_utf8_lossy(text).into_owned()),
            (user_field::VALUE, FieldValue::Bytes(bytes)) => held = Bytes::copy_from_slice(bytes),
            _ => {}
        }
        Ok(())
    })?;
    Ok(name.map(|name| (name, held)))
}

fn statistics(metadata: &[u8]) -> Result<Vec<Vec<ColumnStatistics>>> {
    let mut stripes = Vec::new();
    fields(metadata, |number, value| {
        if let (STRIPE_STATISTICS, FieldValue::Bytes(message)) = (number, value) {
            let mut columns = Vec::new();
            fields(message, |number, value| {
                if let (COLUMN_STATISTICS, FieldValue::Bytes(message)) = (number, value) {
                    columns.push(ColumnStatistics::parse(message)?);
                }
                Ok(())
            })?;
            stripes.push(columns);
        }
        Ok(())
    })?;
    Ok(stripes)
}
