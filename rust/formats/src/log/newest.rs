//! The newest schema of a log file, found from its end: only trailing lengths and a few headers are read.

use std::sync::Arc;

use super::backward::backward;
use super::block::BlockKind;
use super::layout::{BlockType, HeaderKey};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_storage::FileSource;

/// Returns the schema of the last data block of a valid instant, as JSON. Schemas of partial updates, which have some
/// of the columns only, and those in headers of delete blocks are skipped
/// (`TableSchemaResolver.readSchemaFromLogFile`).
pub fn newest_schema(source: Arc<dyn FileSource>, counts: impl Fn(&RequestedTime) -> bool) -> Result<Option<String>> {
    for block in backward(source) {
        let block = block?;
        let holds_rows =
            matches!(block.kind, BlockKind::Sound(BlockType::AvroData | BlockType::HfileData | BlockType::ParquetData));
        let counts = block.header.requested_time().is_some_and(|instant| counts(&instant));
        if !holds_rows || !counts || block.is_partial() {
            continue;
        }
        if let Some(schema) = block.header.get(HeaderKey::Schema) {
            return Ok(Some(schema.into_owned()));
        }
    }
    Ok(None)
}
