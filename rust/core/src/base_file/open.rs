//! Which reader a base file needs.

use std::sync::Arc;

use super::hfile::HFileBase;
use super::parquet::ParquetFile;
use super::reader::BaseFile;
use crate::error::{Error, Result};
use crate::storage::Source;

/// Opens a base file by its name's extension; formats that this release does not read are refused by name.
pub fn open(source: Arc<dyn Source>) -> Result<Box<dyn BaseFile>> {
    let path = source.path().to_owned();
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("parquet") => Ok(Box::new(ParquetFile::open(source)?)),
        Some("hfile") => Ok(Box::new(HFileBase::open(source)?)),
        Some(other @ ("orc" | "lance")) => {
            let message = format!("a base file of format {other}; this release reads parquet and hfile");
            Err(Error::unsupported(message).in_file(path))
        }
        _ => Err(Error::invalid_table("a base file of an unknown format").in_file(path)),
    }
}

/// Opens bytes that are known to be parquet, whatever their name.
pub fn open_parquet(source: Arc<dyn Source>) -> Result<Box<dyn BaseFile>> {
    Ok(Box::new(ParquetFile::open(source)?))
}
