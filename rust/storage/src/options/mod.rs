//! Where a table is and how its storage is reached: URIs and options, without any I/O.
//!
//! | file | contents |
//! |---|---|
//! | `object_uri` | URIs of object stores |
//! | `object_keys` | the names of their options |
//! | `object_options` | their options: explicit, from Hadoop settings, from the environment |
//! | `role_settings` | roles of AWS for which keys are exchanged |
//! | `hdfs_uri`, `hdfs_options` | URIs of HDFS, its options and Hadoop settings |
//! | `hadoop_options`, `hadoop/` | converts Hadoop settings to options |
//! | `client_settings` | timeouts and retries |
//! | `environment` | environment variables |
//! | `supplier` | the function of an application that supplies credentials |
//! | `secret` | values that are not printed |

pub(crate) mod client_settings;
pub(crate) mod environment;
pub(crate) mod hadoop;
pub(crate) mod hadoop_options;
pub(crate) mod hdfs_options;
pub(crate) mod hdfs_uri;
pub(crate) mod object_keys;
pub(crate) mod object_options;
pub(crate) mod object_uri;
pub(crate) mod role_settings;
pub(crate) mod secret;
pub(crate) mod supplier;
