//! The values of expressions, on Arrow's kernels: one file for each kind of operators and functions.

mod cast;
mod compare;
mod from_text;
mod rounding;
mod value;

pub(crate) use cast::{as_strings, cast, exact_array, exact_cast, lossy};
pub(crate) use compare::{as_moment, decided, ordered};
pub(crate) use value::{Value, failed};
