//! Object stores: S3, Google Cloud Storage, Azure, HTTP.
//!
//! | file | contents |
//! |---|---|
//! | `storage` | a folder of an object store |
//! | `file` | fetches ranges of an object |
//! | `create` | files created exclusively and written in parts |
//! | `put` | whole files |
//! | `handle` | the client and the I/O thread of a store, shared by all storages in it |
//! | `client` | creates the client from URI and options; counts its requests |
//! | `limit` | limits concurrent requests |
//! | `assume_role` | exchanges keys for those of a role of AWS |
//! | `aws_service` | a service of AWS that takes JSON |
//! | `post` | a request that reports what was done to a table |
//! | `supplied_credentials` | credentials that a function of the application supplies |

pub(crate) mod assume_role;
pub(crate) mod aws_service;
pub(crate) mod client;
pub(crate) mod create;
pub(crate) mod file;
pub(crate) mod handle;
pub(crate) mod limit;
pub(crate) mod post;
pub(crate) mod put;
pub(crate) mod storage;
pub(crate) mod supplied_credentials;
