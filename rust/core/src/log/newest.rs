//! The newest of a log file, found from its end: nothing but trailing lengths and a few headers is read.

use std::sync::Arc;

use super::backward::backward;
use super::block::BlockKind;
use super::layout::{BlockType, HeaderKey};
use crate::error::Result;
use crate::storage::Source;

/// The schema of the last data block whose instant counts, as JSON. Schemas of partial updates, which hold some columns only,
/// and those that delete blocks carry along are passed over (`TableSchemaResolver.readSchemaFromLogFile`).
pub fn newest_schema(source: Arc<dyn Source>, counts: impl Fn(&str) -> bool) -> Result<Option<String>> {
    for block in backward(source) {
        let block = block?;
        let holds_rows =
            matches!(block.kind, BlockKind::Sound(BlockType::AvroData | BlockType::HfileData | BlockType::ParquetData));
        let counts = block.header.instant_time().is_some_and(|instant| counts(&instant));
        if !holds_rows || !counts || block.is_partial() {
            continue;
        }
        if let Some(schema) = block.header.get(HeaderKey::Schema) {
            return Ok(Some(schema.into_owned()));
        }
    }
    Ok(None)
}

/// The instant of the last block that has one.
pub fn newest_instant(source: Arc<dyn Source>) -> Result<Option<String>> {
    for block in backward(source) {
        if let Some(instant) = block?.header.instant_time() {
            return Ok(Some(instant.into_owned()));
        }
    }
    Ok(None)
}
