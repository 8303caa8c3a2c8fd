//! Which reader a base file needs.

use std::sync::Arc;

use super::parquet::ParquetFile;
use super::reader::BaseFile;
use crate::error::{Error, Result};
use crate::storage::Source;

/// Opens a base file by its name's extension; formats other than parquet are refused by name.
pub fn open(source: Arc<dyn Source>) -> Result<Box<dyn BaseFile>> {
    let path = source.path().to_owned();
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("parquet") => Ok(Box::new(ParquetFile::open(source)?)),
        Some(other @ ("orc" | "hfile" | "lance")) => {
            Err(Error::unsupported(format!("a base file of format {other}; this release reads parquet")).in_file(path))
        }
        _ => Err(Error::invalid_table("a base file of an unknown format").in_file(path)),
    }
}

/// Opens bytes that are known to be parquet, whatever their name.
pub fn open_parquet(source: Arc<dyn Source>) -> Result<Box<dyn BaseFile>> {
    Ok(Box::new(ParquetFile::open(source)?))
}
