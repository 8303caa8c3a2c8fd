//! Fetches ranges of remote files, and keeps what was fetched.
//!
//! | file | contents |
//! |---|---|
//! | `fetcher` | the trait of a file whose ranges can be fetched |
//! | `source` | an open remote file: plans and caches its requests |
//! | `ranges` | merges and splits ranges of a file into requests |
//! | `shared_sources` | open remote files, shared by their readers |
//! | `runtime` | the I/O thread of a store, and pending results |
//! | `handle_registry` | the handles of stores in use |
//! | `failure` | errors of remote stores, by kind, without secrets |

pub(crate) mod failure;
pub(crate) mod fetcher;
pub(crate) mod handle_registry;
pub(crate) mod ranges;
pub(crate) mod runtime;
pub(crate) mod shared_sources;
pub(crate) mod source;
