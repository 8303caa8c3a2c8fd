//! `storage_options` of HDFS: Hadoop settings, which take precedence over those in Hadoop's configuration files, and
//! some options of mortice.
//!
//! The configuration files are `core-site.xml` and `hdfs-site.xml` in the folder of the option `conf_dir`, otherwise in
//! `HADOOP_CONF_DIR`, otherwise in `HADOOP_HOME/etc/hadoop`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::client_settings::ClientSettings;
use super::hadoop_options::is_hadoop_setting;
use super::object_keys::hint;
use mortice_base::error::{Error, Result};

/// The names of mortice's options.
const KNOWN: [&str; 5] = ["conf_dir", "max_requests", "read_timeout", "timeout", "user"];
/// The prefixes of Hadoop settings that a client of HDFS reads.
const SETTINGS: [&str; 8] = [
    "dfs.client.",
    "dfs.data.transfer.protection",
    "dfs.ha.namenodes.",
    "dfs.namenode.rpc-address.",
    "dfs.user.home.dir.prefix",
    "fs.defaultfs",
    "fs.viewfs.mounttable.",
    "hadoop.security.authentication",
];
/// The default timeout of an operation, including retries.
const DEADLINE: Duration = Duration::from_secs(180);

/// The options of HDFS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HdfsOptions {
    /// Hadoop settings.
    pub settings: BTreeMap<String, String>,
    /// The folder of Hadoop's configuration files, if not that of the environment.
    pub conf_dir: Option<String>,
    /// The user, if not that of the environment.
    pub user: Option<String>,
    /// The timeout of an operation, including retries.
    pub timeout: Duration,
    /// The maximum number of concurrent requests.
    pub max_requests: usize,
}

impl HdfsOptions {
    /// Validates options. Settings of other file systems are ignored.
    ///
    /// # Errors
    /// [`mortice_base::ErrorKind::InvalidArgument`] for invalid names and values.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Self> {
        let mut client = ClientSettings { timeout: DEADLINE, ..ClientSettings::default() };
        let (mut settings, mut conf_dir, mut user) = (BTreeMap::new(), None, None);
        for (given, value) in options {
            if is_hadoop_setting(given) {
                if is_needed(given) {
                    settings.insert(spelt(given), value.trim().to_owned());
                }
                continue;
            }
            let name = given.trim().to_ascii_lowercase();
            match name.as_str() {
                "conf_dir" => conf_dir = Some(value.trim().to_owned()).filter(|folder| !folder.is_empty()),
                "user" => user = Some(value.trim().to_owned()).filter(|user| !user.is_empty()),
                "timeout" | "max_requests" => {
                    client.set(&name, value)?;
                }
                "read_timeout" => {
                    client.set(&name, value)?;
                    settings.insert(READ_TIMEOUT.to_owned(), client.read_timeout.as_millis().to_string());
                }
                _ => {
                    return Err(Error::invalid_argument(format!(
                        "unknown storage option {name:?} for HDFS (known: {}, and Hadoop settings such as \
                         dfs.ha.namenodes.NAMESERVICE){}",
                        KNOWN.join(", "),
                        hint(&name)
                    )));
                }
            }
        }
        Ok(Self { settings, conf_dir, user, timeout: client.timeout, max_requests: client.max_requests })
    }
}

/// The read timeout of a `DataNode` in milliseconds.
const READ_TIMEOUT: &str = "dfs.client.socket-timeout";

/// Returns true if a client of HDFS reads the Hadoop setting `name`.
#[must_use]
pub(crate) fn is_needed(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SETTINGS.iter().any(|prefix| name.starts_with(prefix))
}

/// Restores the case of a name: options of a Spark data source are lower-cased.
fn spelt(name: &str) -> String {
    match name.eq_ignore_ascii_case("fs.defaultFS") {
        true => "fs.defaultFS".to_owned(),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(options: &[(&str, &str)]) -> Result<HdfsOptions> {
        HdfsOptions::parse(&options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn settings_of_hdfs_are_kept_and_those_of_other_stores_are_not() {
        let options = parsed(&[
            ("fs.defaultfs", " hdfs://ns1 "),
            ("dfs.ha.namenodes.ns1", "a,b"),
            ("dfs.namenode.rpc-address.ns1.a", "h1:8020"),
            ("fs.s3a.secret.key", "hunter2"),
            ("fs.viewfs.mounttable.c.linkFallback", "hdfs://h/x"),
            ("dfs.datanode.data.dir", "/d"),
            ("User", "me"),
            ("read_timeout", "2s"),
        ])
        .unwrap();
        let names: Vec<&str> = options.settings.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "dfs.client.socket-timeout",
                "dfs.ha.namenodes.ns1",
                "dfs.namenode.rpc-address.ns1.a",
                "fs.defaultFS",
                "fs.viewfs.mounttable.c.linkFallback"
            ]
        );
        assert_eq!((options.user.as_deref(), options.settings["fs.defaultFS"].as_str()), (Some("me"), "hdfs://ns1"));
        assert_eq!((options.timeout, options.max_requests), (DEADLINE, 32));
    }

    #[test]
    fn an_option_of_another_store_is_refused_by_name() {
        let error = parsed(&[("access_key_id", "hunter2")]).unwrap_err().to_string();
        assert!(error.contains("\"access_key_id\" for HDFS") && !error.contains("hunter2"), "{error}");
        assert!(parsed(&[("timeout", "soon")]).is_err());
    }
}
