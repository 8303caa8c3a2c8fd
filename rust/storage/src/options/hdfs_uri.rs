//! URIs of HDFS: `hdfs://NAMENODE[:PORT]/PATH`, `hdfs://NAMESERVICE/PATH`, `hdfs:///PATH` of the default file system,
//! and `viewfs://MOUNTTABLE/PATH`.
//!
//! Paths are not percent-decoded, as in Hadoop's `Path`.

use mortice_base::error::{Error, Result};

/// The parts of a URI of HDFS.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HdfsUri {
    /// `hdfs` or `viewfs`.
    pub scheme: String,
    /// The `NameNode` with its port, the name service or the mount table; `""` for the default file system.
    pub authority: String,
    /// The absolute path, without a trailing slash; `"/"` for the root.
    pub path: String,
}

impl HdfsUri {
    /// Parses a URI; `None` for another scheme.
    ///
    /// # Errors
    /// [`mortice_base::ErrorKind::InvalidArgument`] if the path is invalid in HDFS, or if the URI has a user.
    pub fn parse(uri: &str) -> Result<Option<Self>> {
        let Some((scheme, rest)) = uri.split_once(':') else { return Ok(None) };
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "hdfs" | "viewfs") || !rest.starts_with('/') {
            return Ok(None);
        }
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None => ("", rest),
        };
        if authority.contains('@') {
            let host = authority.rsplit_once('@').map_or("", |(_, host)| host);
            return Err(Error::invalid_argument(
                "a user in the URI is not supported; give it as the storage option user, or as HADOOP_USER_NAME",
            )
            .in_file(format!("{scheme}://{host}/{path}")));
        }
        let path = path.trim_matches('/');
        if !path.is_empty() && path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(Error::invalid_argument("a path of HDFS cannot have the parts '', '.' or '..'").in_file(uri));
        }
        Ok(Some(Self { scheme, authority: authority.to_owned(), path: format!("/{path}") }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_and_paths() {
        for (uri, scheme, authority, path) in [
            ("hdfs://nn:8020/a/t/", "hdfs", "nn:8020", "/a/t"),
            ("hdfs://ns1/a b/p=1%20", "hdfs", "ns1", "/a b/p=1%20"),
            ("HDFS:///t", "hdfs", "", "/t"),
            ("hdfs:/t", "hdfs", "", "/t"),
            ("hdfs://nn", "hdfs", "nn", "/"),
            ("viewfs://c/t", "viewfs", "c", "/t"),
        ] {
            let parsed = HdfsUri::parse(uri).unwrap().unwrap();
            let parts = (parsed.scheme.as_str(), parsed.authority.as_str(), parsed.path.as_str());
            assert_eq!(parts, (scheme, authority, path), "{uri}");
        }
        for other in ["/hdfs://x", "s3://b/t", "file:///a", "hdfs", "a/hdfs:b"] {
            assert_eq!(HdfsUri::parse(other).unwrap(), None, "{other}");
        }
    }

    #[test]
    fn wrong_uris_are_refused() {
        for uri in ["hdfs://nn/a//b", "hdfs://nn/../b", "hdfs://me:hunter2@nn/t"] {
            let error = HdfsUri::parse(uri).unwrap_err();
            assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidArgument);
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
