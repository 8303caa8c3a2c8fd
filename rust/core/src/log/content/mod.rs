//! What is in a block, by its type. Contents are bytes in, places and values out; nothing here reads storage.

pub mod avro_data;
pub mod delete;
