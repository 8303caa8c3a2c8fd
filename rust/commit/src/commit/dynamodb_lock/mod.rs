//! The lock of `DynamoDBBasedLockProvider`: an item of a table in DynamoDB, as the `AmazonDynamoDBLockClient` that Hudi
//! uses keeps it.
//!
//! | attribute | contents |
//! |---|---|
//! | `key` | the partition key: the table's name, or the hash of its base path |
//! | `ownerName` | whose it is |
//! | `leaseDuration` | how long it is valid after its last renewal, in milliseconds, as a string |
//! | `recordVersionNumber` | a UUID, which each renewal replaces |
//! | `isReleased` | if there is one, the lock is free |
//!
//! No clock is compared with that of another machine. A lock is taken over if it has had the same version for as long
//! as it is valid, by the clock of the writer that waits; its holder has given it up by then, as it counts from an
//! earlier moment.
//!
//! | file | job |
//! |---|---|
//! | `settings` | the options of the lock |
//! | `item` | the item |
//! | `table` | requests |
//! | `lock` | the lock |

mod item;
mod lock;
mod settings;
mod table;

#[cfg(test)]
mod tests;

pub(super) use lock::DynamoDbLock;
pub(super) use settings::DynamoDbSettings;
