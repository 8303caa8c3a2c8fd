//! Rules of commits, compared with what their tables say, on random input.
//!
//! | file | compares |
//! |---|---|
//! | `conflicting_writes` | conflicts of random timelines with the table of `conflicts` |
//! | `concurrency` | which combinations of options are taken, and as what; how long a lock is waited for |
//! | `times` | times of new instants with a calendar that counts by itself |

mod concurrency;
mod conflicting_writes;
mod times;
