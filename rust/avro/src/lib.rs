//! Avro to Arrow: a writer's schema is compiled once, then records are decoded straight into columns. And back.
//!
//! ```text
//! Schema (writer) ─┐
//! Schema (reader) ─┼─> Program ──> Decoder ── decode(content, datums)* ── finish() ──> RecordBatch
//! columns wanted  ─┘   (shared)    (one a thread)
//! ```
//! - [`Schema`] is the parsed tree, [`arrow_schema`] what it is in Arrow;
//! - [`DecodeProgram`] resolves writer against reader by Hudi's rules, and knows what to read and what to step over;
//! - [`Decoder`] reads 64 records in lockstep, a field of each before the next field of any;
//! - [`Encoder`] writes rows of Arrow batches as records, [`hudi_schema`] is the schema that Hudi would give their
//!   columns;
//! - [`Container`] reads Avro's object container files, which hold commit metadata and plans; [`ContainerHeader`]
//!   writes them;
//! - [`Value`] is one datum as a tree, decoded and encoded by a schema: for metadata, of which a file holds one record.

mod array_text;
mod arrow_types;
mod binary;
mod columns;
mod container;
mod container_header;
mod convert;
mod decoder;
mod defaults;
mod encode;
mod java_text;
mod json;
mod lane;
mod lanes;
mod name_trees;
mod parse;
mod plan;
mod program;
mod resolve;
mod schema;
mod skip;
mod types;
mod value;
mod vector;

pub use array_text::{
    dates_of_strings, decimals_of, float_to_double, java_text_of, write_decimal, write_double, write_float,
};
pub use arrow_types::{ArrowMapping, TYPED_VALUE, arrow_schema, shredded_variant};
pub use binary::{shortest, write_bytes, write_long};
pub use container::Container;
pub use container_header::ContainerHeader;
pub use decoder::{Datum, Decoder};
pub use encode::{Encoder, check_names, check_new_columns, hudi_fields, hudi_schema};
pub use name_trees::name_trees;
pub use program::{DecodeProgram, RequestedColumn};
pub use schema::Schema;
pub use types::{Decimal, Enum, Field, Fixed, LogicalRecord, Record, Type, Vector};
pub use value::{UnknownMembers, Value, decode_value, encode_value};
pub use vector::{HUDI_TYPE, VectorElement, VectorShape, are_vectors};
