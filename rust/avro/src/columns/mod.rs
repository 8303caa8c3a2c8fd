//! One Arrow type, one file: each reads a field of many datums into the buffers of a column.
//!
//! `column` has the trait and what all share (tags of unions, null masks), `build` the choice of a column for a plan.

mod absent;
mod booleans;
mod build;
mod column;
mod decimals;
mod fixed;
mod lists;
mod numbers;
mod slots;
mod sound_text;
mod strings;
mod structs;
mod text_columns;
mod unions;
mod validity;
mod vectors;

pub(super) use build::build;
pub(super) use column::Column;
pub(super) use structs::step_lanes;
