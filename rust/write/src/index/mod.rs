//! Indexes: in which file groups of a table the keys of rows are (`HoodieIndex`).
//!
//! ```text
//! options ─> choice ─> simple, bloom ─┐
//!                      bucket ────────┼ Index: RowKeys ─> Tagged, a file group for each key that is there
//!                      record_level ──┘
//! ```
//! | file | job |
//! |---|---|
//! | `options` | the index that options name, and what it is refused for |
//! | `choice`, `provenance` | the choice of index, also by where the rows of a write come from |
//! | `index` | what indexes differ in: the trait |
//! | `simple` | the index that reads the keys of all base files |
//! | `bloom` | the same of base files that can hold a key, by their footers |
//! | `bucket` | the index that knows file groups by the hash of a key |
//! | `record_level` | the index that asks the metadata table, and the one in its place |
//! | `tagged` | file groups by row |
//! | `indexed_rows` | rows with their keys and locations |
//! | `incoming_keys` | the keys of rows, by hash |
//! | `stored_keys` | keys of file groups, streamed, with the numbers of their rows |
//! | `inserted_keys` | keys that two writes at the same time have inserted |
//! | `key_join` | the keys of rows joined with those of base files |
//! | `bucket_hash` | the hash of a key, and ids of new file groups |
//! | `bucket_layout` | the bucket of a key, and the file group of a bucket |
//! | `partition_rules` | numbers of buckets by partition |
//! | `hash_rings`, `hash_ring`, `xx_hash` | consistent hashing: the file groups of ranges of hashes |
//! | `resized_ring` | the part of a ring that a clustering changes |
//! | `hashing_files` | the files that say so |
//! | `present_keys` | which rows' keys are in the table |
//! | `new_rows` | rows that are to be new, and whose keys are in the table |
//! | `repeated_rows` | keys that several stored rows have |
//! | `moves` | rows of global indexes that move between partitions |
//! | `stored_rows`, `merged_rows` | the stored rows of keys, and rows merged with them |
//! | `spread`, `task_look_up` | these steps for rows that are spread over processes, and which of them an index takes |
//! | `layout_check` | refuses an index that the table was not written with |

mod bloom;
mod bucket;
mod bucket_hash;
mod bucket_layout;
mod choice;
mod hash_ring;
mod hash_rings;
mod hashing_files;
mod incoming_keys;
#[expect(clippy::module_inception, reason = "the trait of the module has its name")]
mod index;
mod indexed_rows;
mod inserted_keys;
mod key_join;
mod layout_check;
mod merged_rows;
mod moves;
mod new_rows;
mod options;
mod partition_rules;
mod present_keys;
mod provenance;
mod record_level;
mod repeated_rows;
mod resized_ring;
mod simple;
mod spread;
mod stored_keys;
mod stored_rows;
mod tagged;
mod task_look_up;
mod xx_hash;

pub use bucket_hash::{new_bucket_prefix, new_group_prefix};
pub use bucket_layout::BucketLayout;
pub use choice::{choose_index, choose_index_of};
pub use hash_ring::{HashRing, NodeTag, RingNode};
pub use hash_rings::{HashRings, mark_committed, store_next};
pub use hashing_files::delete_hashing_files;
pub use incoming_keys::{IncomingKeys, partitions_of};
pub use index::Index;
pub use indexed_rows::IndexedRows;
pub use inserted_keys::{CommonKey, common_key, first_common_key};
pub use layout_check::{are_buckets, has_consistent_hashing, shared_buckets};
pub use moves::{merge_moved_rows, merge_with_stored_rows, rows_to_merge};
pub use new_rows::refuse_located_inserts;
pub use options::{BucketEngine, BucketOptions, IndexOptions, IndexType};
pub use partition_rules::PartitionExpressions;
pub use present_keys::present_keys;
pub use provenance::Provenance;
pub use repeated_rows::{check_updates, has_repeated_key};
pub use resized_ring::ResizedRing;
pub use spread::{StoredKeyBatch, group_of, read_stored_keys, tag_by_buckets, tag_by_record_index, tag_by_stored_keys};
pub use stored_keys::WrittenRows;
pub use stored_rows::read_stored_rows;
pub use tagged::{FurtherLocation, Location, Tagged};
pub use task_look_up::TaskLookUp;
