//! Converts settings of Hadoop's file systems, one file per file system.
//!
//! | file | contents |
//! |---|---|
//! | `conf` | a Hadoop configuration: values trimmed, durations, secrets in keystores |
//! | `profile` | keys of a profile in an AWS credentials file |
//! | `s3a_providers` | the classes of `fs.s3a.aws.credentials.provider` |
//! | `s3a` | `fs.s3a.*` |
//! | `abfs` | `fs.azure.*` |
//! | `gs` | `fs.gs.*` |

pub(crate) mod abfs;
pub(crate) mod conf;
pub(crate) mod gs;
mod profile;
pub(crate) mod s3a;
mod s3a_providers;

pub(crate) use profile::keys_of_profile;
