//! Rules of commits, compared with what their tables say, on random input, and with what goes wrong in between.
//!
//! | file | compares |
//! |---|---|
//! | `conflicting_writes` | conflicts of random timelines with the table of `conflicts` |
//! | `concurrency` | which combinations of options are taken, and as what; how long a lock is waited for |
//! | `times` | times of new instants with a calendar that counts by itself |
//! | `new_instants` | times of new instants that other writers take |
//! | `new_tables` | new tables: what is refused, two processes at once, one that is stopped |
//! | `properties_file` | changes to `hoodie.properties` that others come in between, or that are stopped |
//! | `scripted_store` | a store whose calls go wrong as a test says |
//! | `file_locks`, `storage_locks` | locks: two writers at once, expiry, lost answers |
//! | `heartbeats` | heartbeats: lost answers, clocks that differ |

mod concurrency;
mod conflicting_writes;
mod file_locks;
mod heartbeats;
mod new_instants;
mod new_tables;
mod properties_file;
mod scripted_store;
mod storage_locks;
mod times;
