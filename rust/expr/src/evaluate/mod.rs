//! The values of expressions, on Arrow's kernels: one file for each kind of operators and functions.

mod arithmetic;
mod cast;
mod choices;
mod compare;
mod from_text;
mod membership;
mod nodes;
mod rounding;
mod strings;
mod times;
mod value;

pub(crate) use cast::{as_strings, cast, exact_array, exact_cast, lossy};
pub(crate) use compare::{as_moment, decided, ordered};
pub use nodes::Batches;
pub(crate) use nodes::{as_key, evaluate, row_count};
pub(crate) use value::{Value, failed};
