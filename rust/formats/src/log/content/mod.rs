//! The contents of blocks, by type. Functions take bytes and return positions and values; only Parquet and HFile
//! contents, which are complete files, are read in parts.

pub mod avro_data;
pub mod delete;
pub mod delete_avro;
pub mod deleted;
pub mod hfile_data;
pub mod parquet_data;

mod kryo;
