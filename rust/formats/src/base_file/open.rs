//! Which reader a base file needs.

use std::sync::Arc;

use super::any_case::in_any_case;
use super::hfile::HFileBase;
use super::orc::OrcBase;
use super::parquet::ParquetFile;
use super::reader::BaseFile;
use super::renamed::renamed;
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::FieldNames;
use mortice_storage::FileSource;

/// Opens a base file by its name's extension; formats that this release does not read are refused by name.
pub fn open(source: Arc<dyn FileSource>) -> Result<Box<dyn BaseFile>> {
    let path = source.path().to_owned();
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("parquet") => Ok(Box::new(ParquetFile::open(source)?)),
        Some("hfile") => Ok(Box::new(HFileBase::open(source)?)),
        Some("orc") => Ok(Box::new(OrcBase::open(source)?)),
        Some(other @ "lance") => {
            let message = format!("unsupported base file format {other} (supported: parquet, orc, hfile)");
            Err(Error::unsupported(message).in_file(path))
        }
        _ => Err(Error::invalid_table("unknown base file format (supported: parquet, orc, hfile)").in_file(path)),
    }
}

/// Opens bytes that are known to be Parquet, without looking at a name.
pub fn open_parquet(source: Arc<dyn FileSource>) -> Result<Box<dyn BaseFile>> {
    Ok(Box::new(ParquetFile::open(source)?))
}

/// Opens a file that a table was bootstrapped from: its format is known from its first bytes, not from its name.
pub fn open_source(source: Arc<dyn FileSource>) -> Result<Box<dyn BaseFile>> {
    let start = source.read(0..source.len().min(4))?;
    match start.as_ref() {
        b"PAR1" => open_parquet(source),
        start if start.starts_with(b"ORC") => Ok(Box::new(OrcBase::open(source)?)),
        _ => {
            let message = "unsupported source file of a bootstrapped table (supported: parquet, orc)";
            Err(Error::unsupported(message).in_file(source.path()))
        }
    }
}

/// Returns the file as a table declares it: its columns have the table's names, and mislabelled timestamps the table's
/// types. `names` are the names of the table's columns in the file, by their ids; where these say nothing, names may
/// differ in case.
pub fn read_as(mut file: Box<dyn BaseFile>, table: &Schema, names: &FieldNames) -> Result<Box<dyn BaseFile>> {
    if names.is_identity() {
        return in_any_case(file, table);
    }
    file.correct_types(table, names)?;
    Ok(renamed(file, names.clone().into()))
}
