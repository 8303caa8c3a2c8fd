//! Indexes: in which file groups of a table the keys of rows are (`HoodieIndex`).
//!
//! ```text
//! RowKeys ─> options ─> simple, bloom ─┐
//!                       bucket ────────┼─> Tagged: a file group for each key that is there
//!                       record_level ──┘
//! ```
//! | file | job |
//! |---|---|
//! | `options` | the index that options name, and what it is refused for |
//! | `tag` | the choice of index |
//! | `tagged` | file groups by row |
//! | `indexed_rows` | rows with their keys and locations |
//! | `incoming_keys` | the keys of rows, by hash |
//! | `stored_keys` | keys of file groups, streamed, with the numbers of their rows |
//! | `inserted_keys` | keys that two writes at the same time have inserted |
//! | `key_join` | the keys of rows joined with those of base files |
//! | `bloom` | base files that can hold a key, by their footers |
//! | `bucket` | file groups by the hash of a key |
//! | `bucket_hash` | the bucket of a key, and ids of new file groups |
//! | `record_level` | file groups by the metadata table's record index |
//! | `present_keys` | which rows' keys are in the table |
//! | `moves` | rows of global indexes that move between partitions |
//! | `stored_rows`, `merged_rows` | the stored rows of keys, and rows merged with them |
//! | `spread` | these steps for rows that are spread over processes |
//! | `layout_check` | refuses an index that the table was not written with |

mod bloom;
mod bucket;
mod bucket_hash;
mod incoming_keys;
mod indexed_rows;
mod inserted_keys;
mod key_join;
mod layout_check;
mod merged_rows;
mod moves;
mod options;
mod present_keys;
mod record_level;
mod spread;
mod stored_keys;
mod stored_rows;
mod tag;
mod tagged;

pub use bucket_hash::{bucket_of, new_bucket_prefix, new_group_prefix};
pub use incoming_keys::IncomingKeys;
pub use indexed_rows::IndexedRows;
#[cfg(test)]
pub(crate) use inserted_keys::first_common_key;
pub use inserted_keys::{CommonKey, common_key};
pub(crate) use layout_check::{are_buckets, shared_buckets};
pub use moves::{merge_moved_rows, merge_with_stored_rows, rows_to_merge};
pub use options::{BucketOptions, IndexOptions, IndexType};
pub use present_keys::present_keys;
pub use spread::{StoredKeyBatch, group_of, read_stored_keys, tag_by_buckets, tag_by_record_index, tag_by_stored_keys};
pub use stored_keys::WrittenRows;
pub use stored_rows::read_stored_rows;
pub use tag::{LookUp, check_layout, checked_view, tag, view_of_partitions};
pub use tagged::{FurtherLocation, Location, Tagged};
