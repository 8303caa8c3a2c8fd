//! The indexes of the metadata table, as queries use them: each leaves out file slices that it proves to be irrelevant.
//! An index that cannot be used leaves out none.
//!
//! | file | contents |
//! |---|---|
//! | `uses` | what indexes did for a query, for display, and warnings of damaged ones |
//! | `exact_values` | the record keys and values that a filter names |
//! | `lookups` | the record index, secondary indexes, and Bloom filters of record keys |
//! | `statistics` | the statistics of columns in partitions and in files |
//!
//! | index | in queries of |
//! |---|---|
//! | of files: statistics, Bloom filters | any state of the table |
//! | of the latest state: record index, secondary index, statistics of partitions | the merged rows of the latest commit |

mod exact_values;
mod lookups;
mod statistics;
mod uses;

pub(super) use lookups::KeyLookup;
pub(super) use statistics::FileStatistics;
pub(super) use uses::IndexUses;
