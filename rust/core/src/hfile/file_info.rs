//! The file's own key-value pairs: `PBUF`, then a delimited message of (key, value) messages.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::protobuf::{self, Value};
use crate::error::{Error, Result};

const MAGIC: &[u8; 4] = b"PBUF";

/// The pairs of a file info block's payload.
pub(super) fn parse(payload: &[u8]) -> Result<BTreeMap<Bytes, Bytes>> {
    let Some(message) = payload.strip_prefix(MAGIC) else {
        return Err(Error::corrupt("the file info of an HFile, PBUF, was expected"));
    };
    let (message, _) = protobuf::delimited(message)?;
    let mut pairs = BTreeMap::new();
    for (field, pair) in protobuf::fields(message)? {
        let (1, Value::Bytes(pair)) = (field, pair) else { continue };
        let (mut key, mut value) = (Bytes::new(), Bytes::new());
        for (field, part) in protobuf::fields(pair)? {
            match (field, part) {
                (1, Value::Bytes(bytes)) => key = Bytes::copy_from_slice(bytes),
                (2, Value::Bytes(bytes)) => value = Bytes::copy_from_slice(bytes),
                _ => {}
            }
        }
        pairs.insert(key, value);
    }
    Ok(pairs)
}
