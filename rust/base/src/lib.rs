//! What every crate of mortice uses: the error type, checked reads over bytes, names of files and instants.
//!
//! Nothing here knows a file format as a whole, a storage or a table. [`error`] has the only error type of all crates,
//! [`cursor`] the bounds-checked reads that every parser uses, and [`names`] the rules by which Hudi encodes instants
//! and file groups in file names. `trusted` contains most of the code that is marked `unsafe`; Miri runs its tests.

pub mod batch_limit;
pub mod cursor;
pub mod error;
pub mod gzip;
pub mod names;
pub mod panics;
pub mod progress;
#[cfg(any(test, feature = "testing"))]
pub mod property;
pub mod protobuf;
pub mod row_number;
pub mod time;
pub mod trusted;
pub mod zone_rules;

pub use batch_limit::BatchLimit;
pub use error::{Error, ErrorKind, Result};
pub use panics::caught;
