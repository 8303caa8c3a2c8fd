//! The servers of an ensemble, as clients of ZooKeeper name them: `host:port,host:port/folder`.

use mortice_base::error::{Error, Result};

const PORT: u16 = 2181;

/// Servers, and the folder that is the root of all paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZooKeeperAddress {
    pub(super) hosts: Vec<(String, u16)>,
    /// Without `/` at its end; empty for the root.
    pub(super) folder: String,
}

impl ZooKeeperAddress {
    /// Reads a connect string.
    ///
    /// # Errors
    /// `InvalidArgument` if it has no host, or a port that is no number.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid_argument(format!(
                "the address of ZooKeeper must be host:port,host:port or host:port/folder, got {text:?}"
            ))
        };
        let (hosts, folder) = match text.trim().split_once('/') {
            Some((hosts, folder)) => (hosts, format!("/{folder}")),
            None => (text.trim(), String::new()),
        };
        let host = |one: &str| {
            // `[::1]:2181`.
            let (name, port) = match one.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((name, port)) => (name, port.strip_prefix(':')),
                None => one.rsplit_once(':').map_or((one, None), |(name, port)| (name, Some(port))),
            };
            let port = port.map_or(Ok(PORT), str::parse).map_err(|_| wrong())?;
            if name.is_empty() { Err(wrong()) } else { Ok((name.to_owned(), port)) }
        };
        let hosts = hosts.split(',').map(str::trim).map(host).collect::<Result<_>>()?;
        Ok(Self { hosts, folder: folder.trim_end_matches('/').to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_strings_have_hosts_ports_and_a_folder() {
        let parsed = |text| ZooKeeperAddress::parse(text).map(|address| (address.hosts, address.folder));
        let host = |name: &str, port| (name.to_owned(), port);
        assert_eq!(parsed("zk").unwrap(), (vec![host("zk", 2181)], String::new()));
        let several = (vec![host("a", 1), host("b", 2181)], "/x/y".to_owned());
        assert_eq!(parsed(" a:1, b/x/y/ ").unwrap(), several);
        assert_eq!(parsed("[::1]:7").unwrap().0, [host("::1", 7)]);
        for wrong in ["", ":1", "a:b", "a,,b", "a:99999"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
