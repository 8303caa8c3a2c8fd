//! Avro to Arrow: a writer's schema is compiled once, then records are decoded straight into columns.
//!
//! ```text
//! Schema (writer) ─┐
//! Schema (reader) ─┼─> Program ──> Decoder ── decode(content, datums)* ── finish() ──> RecordBatch
//! columns wanted  ─┘   (shared)    (one a thread)
//! ```
//! - [`Schema`] is the parsed tree, [`arrow_schema`] what it is in Arrow;
//! - [`Program`] resolves writer against reader by Hudi's rules, and knows what to read and what to step over;
//! - [`Decoder`] reads 64 records in lockstep, a field of each before the next field of any;
//! - [`Container`] reads Avro's object container files, which hold commit metadata and plans.

mod array_text;
mod arrow_types;
mod columns;
mod container;
mod convert;
mod decoder;
mod defaults;
mod java_text;
mod json;
mod lane;
mod parse;
mod plan;
mod program;
mod resolve;
mod schema;
mod skip;
mod types;

pub use array_text::{float_to_double, java_text_of};
pub use arrow_types::{Types, arrow_schema};
pub use container::Container;
pub use decoder::{Datum, Decoder};
pub use program::{Program, Want};
pub use schema::Schema;
pub use types::{Decimal, Enum, Field, Fixed, Record, Type};
