//! The header of a native log, as the metadata of its file has it (`NativeLogFooterMetadata`); [`crate::log::native`]
//! reads it.

use serde_json::{Map, Value};

use super::block_header::BlockHeader;
use crate::log::native::{NATIVE_LOG_METADATA, NATIVE_LOG_VERSION, VERSION};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;

impl BlockHeader {
    /// The key and the value in the metadata of the file of a native log that has this header.
    #[must_use]
    pub fn native_metadata(&self) -> (&'static str, String) {
        let version = (VERSION, NATIVE_LOG_VERSION.to_string());
        let entries = self.named().map(|(name, value)| (name, value.to_owned()));
        let entries = std::iter::once(version).chain(entries);
        let entries: Map<String, Value> =
            entries.map(|(name, value)| (name.to_owned(), Value::String(value))).collect();
        (NATIVE_LOG_METADATA, Value::Object(entries).to_string())
    }

    /// The header of a native log with the positions of its records, if all have one and no two have the same: two
    /// records of one row are merged by their keys.
    ///
    /// # Errors
    /// `InvalidArgument` for positions that a native log cannot have.
    pub fn with_native_positions(self, instant: Option<&RequestedTime>, positions: Option<&[u64]>) -> Result<Self> {
        let (Some(instant), Some(positions)) = (instant, positions) else { return Ok(self) };
        let mut sorted = positions.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| matches!(pair, [one, next] if one == next)) {
            return Ok(self);
        }
        self.with_position_list(instant, positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_has_the_names_of_the_header() {
        let header = BlockHeader::new(&"20240101000000000".into()).with_schema("\"string\"").partial();
        let base = RequestedTime::from("20230101000000000");
        let metadata = |header: &BlockHeader| -> Value { serde_json::from_str(&header.native_metadata().1).unwrap() };
        let expected = |more: &[(&str, &str)]| {
            let fixed = [
                ("VERSION", "2"),
                ("INSTANT_TIME", "20240101000000000"),
                ("SCHEMA", "\"string\""),
                ("IS_PARTIAL", "true"),
            ];
            let entries = fixed.iter().chain(more).map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
            Value::Object(entries.collect())
        };
        assert_eq!(metadata(&header), expected(&[]));
        let with = |positions: Option<&[u64]>| header.clone().with_native_positions(Some(&base), positions).unwrap();
        let places =
            [("RECORD_POSITIONS", "AAAAAgMB"), ("BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS", "20230101000000000")];
        assert_eq!(metadata(&with(Some(&[3, 1]))), expected(&places));
        assert_eq!(metadata(&with(Some(&[3, 3]))), expected(&[]), "two records of one row");
        assert_eq!(metadata(&with(None)), expected(&[]));
    }
}
