//! Columns of a stripe, decoded batch by batch.
//!
//! Where a column has nulls, bits tell which rows have a value, and the other streams hold those values alone. So a
//! kind of values decodes a dense array, and `present` spreads it over the rows.
//!
//! | file | values |
//! |---|---|
//! | `values` | the trait of a kind |
//! | `scalars` | booleans, integers, floats, dates |
//! | `strings` | strings and bytes, from a dictionary or as they are |
//! | `decimals` | decimals of up to 38 digits |
//! | `timestamps` | times |
//! | `nested` | structs, lists, maps |
//! | `present` | a column: its nulls and its values |
//! | `open` | what decodes a column of which type |

mod decimals;
mod nested;
mod open;
mod present;
mod scalars;
mod strings;
mod timestamps;
mod values;

pub(super) use open::open;
pub(super) use present::StripeColumn;
