//! HFile v3.
#![allow(missing_docs, clippy::unnecessary_wraps, unused)]
use crate::error::{Error, Result};
use crate::storage::Source;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;
pub struct HFile;
impl HFile {
    pub fn open(_s: Arc<dyn Source>) -> Result<Self> {
        Err(Error::unsupported("HFile log blocks"))
    }
    pub fn entry_count(&self) -> u64 {
        0
    }
    pub fn scan(&self) -> impl Iterator<Item = Result<Cells>> {
        std::iter::empty()
    }
    pub fn seek(&self, _k: &[&[u8]]) -> Result<Vec<Cells>> {
        Ok(vec![])
    }
    pub fn seek_prefixes(&self, _k: &[&[u8]]) -> Result<Vec<Cells>> {
        Ok(vec![])
    }
}
pub struct Cells {
    pub payload: Bytes,
    pub cells: Vec<Cell>,
}
pub struct Cell {
    pub key: Range<u32>,
    pub value: Range<u32>,
}
