//! What is in a block, by its type. Contents are bytes in, places and values out; only parquet and HFile contents, which
//! are files in themselves, read parts of their block.

pub mod avro_data;
pub mod delete;
pub mod delete_avro;
pub mod deleted;
pub mod hfile_data;
pub mod parquet_data;

mod kryo;
