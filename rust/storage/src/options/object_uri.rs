//! URIs of object stores: the type of store, the bucket or container, and the path in it.
//!
//! | store | URIs |
//! |---|---|
//! | S3 | `s3://BUCKET/PATH`, also `s3a`, `s3n` |
//! | GCS | `gs://BUCKET/PATH`, also `gcs` |
//! | Azure | `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH`, also `abfs`, `wasb`, `wasbs`; `az://CONTAINER/PATH`, also `abfs`, `abfss`, `adl`, `azure`, with the option `account_name` |
//! | HTTP | `https://HOST/PATH`, `http://HOST/PATH`: a `WebDAV` server |
//!
//! Paths are not percent-decoded, as in Hadoop's `Path`.

use mortice_base::error::{Error, Result};

/// A type of object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectStoreType {
    /// Amazon S3 and compatible stores.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage, and Data Lake Storage with its Blob interface.
    Azure,
    /// A `WebDAV` server.
    Http,
}

impl ObjectStoreType {
    /// Returns the store of a lower-case URI scheme; `None` if it is not an object store's.
    #[must_use]
    pub fn from_scheme(scheme: &str) -> Option<Self> {
        Some(match scheme {
            "s3" | "s3a" | "s3n" => Self::S3,
            "gs" | "gcs" => Self::Gcs,
            "abfs" | "abfss" | "az" | "azure" | "adl" | "wasb" | "wasbs" => Self::Azure,
            "http" | "https" => Self::Http,
            _ => return None,
        })
    }

    /// Returns the store's name, for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::S3 => "S3",
            Self::Gcs => "GCS",
            Self::Azure => "Azure",
            Self::Http => "HTTP",
        }
    }
}

/// The parts of a URI of an object store. It has no credentials.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectUri {
    /// The scheme, in lower case.
    pub scheme: String,
    /// The type of store.
    pub service: ObjectStoreType,
    /// The bucket; the container on Azure; the URL of the server for HTTP, such as `https://host:8443`.
    pub bucket: String,
    /// For Azure: the account, if the URI has it, and the domain after it, such as `dfs.core.windows.net`.
    pub account: Option<(String, String)>,
    /// The key of the root, without leading and trailing slashes; `""` for the whole bucket.
    pub key: String,
}

impl ObjectUri {
    /// Parses a URI; `None` if its scheme is not one of an object store.
    ///
    /// # Errors
    /// [`mortice_base::ErrorKind::InvalidArgument`] if it has no bucket, an invalid key, or credentials, which the
    /// message omits.
    pub fn parse(uri: &str) -> Result<Option<Self>> {
        let Some((scheme, rest)) = uri.split_once("://") else { return Ok(None) };
        let scheme = scheme.to_ascii_lowercase();
        let Some(service) = ObjectStoreType::from_scheme(&scheme) else { return Ok(None) };
        let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
        let parsed = refuse_credentials(service, authority, key).and_then(|()| match service {
            ObjectStoreType::Azure => azure(&scheme, authority),
            ObjectStoreType::Http => server(&scheme, authority).map(|url| (url, None)),
            ObjectStoreType::S3 | ObjectStoreType::Gcs => Ok((authority.to_owned(), None)),
        });
        let (bucket, account) = parsed.map_err(|error| error.in_file(redacted(uri)))?;
        let key = key.trim_matches('/').to_owned();
        let invalid = |message: &str| Err(Error::invalid_argument(message).in_file(redacted(uri)));
        if bucket.is_empty() {
            return invalid("the URI names no bucket or container");
        }
        if key.split('/').any(|part| part == "." || part == "..") || key.contains("//") {
            return invalid("a key of an object store cannot have the parts '', '.' or '..'");
        }
        Ok(Some(Self { scheme, service, bucket, account, key }))
    }
}

/// Returns a container, and the account with its domain if the URI has one.
fn azure(scheme: &str, authority: &str) -> Result<(String, Option<(String, String)>)> {
    let Some((container, host)) = authority.split_once('@') else {
        if authority.contains('.') {
            return Err(Error::invalid_argument(format!(
                "an Azure URI must be {scheme}://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH, or {scheme}://CONTAINER/PATH \
                 with the storage option account_name"
            )));
        }
        return Ok((authority.to_owned(), None));
    };
    let host = host.to_ascii_lowercase();
    let (account, domain) = host.split_once('.').unwrap_or((&host, ""));
    if account.is_empty() {
        return Err(Error::invalid_argument("the URI names no storage account"));
    }
    Ok((container.to_owned(), Some((account.to_owned(), domain.to_owned()))))
}

/// Returns the URL of a `WebDAV` server.
fn server(scheme: &str, host: &str) -> Result<String> {
    let name = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
    let better = if name.ends_with(".amazonaws.com") || name.ends_with(".r2.cloudflarestorage.com") {
        "s3://BUCKET/PATH"
    } else if name.ends_with(".core.windows.net") || name.ends_with(".fabric.microsoft.com") {
        "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
    } else if name == "storage.googleapis.com" {
        "gs://BUCKET/PATH"
    } else if name.is_empty() {
        return Ok(String::new());
    } else {
        return Ok(format!("{scheme}://{host}"));
    };
    Err(Error::invalid_argument(format!("{scheme}:// is for WebDAV servers; write the table's URI as {better}")))
}

/// Credentials in a URI would be printed in every message with the table's URI.
fn refuse_credentials(service: ObjectStoreType, authority: &str, path: &str) -> Result<()> {
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let in_authority = if service == ObjectStoreType::Azure { user.contains(':') } else { !user.is_empty() };
    let in_query = matches!(service, ObjectStoreType::Azure | ObjectStoreType::Http)
        && path.split_once('?').is_some_and(|(_, query)| query.split('&').any(|pair| pair.starts_with("sig=")));
    if in_authority || in_query {
        let message = "credentials in the URI are not supported; give them as storage options";
        return Err(Error::invalid_argument(message));
    }
    Ok(())
}

/// Returns `uri` without user names, passwords and queries, for messages.
#[must_use]
pub(crate) fn redacted(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else { return uri.to_owned() };
    let (authority, path) = rest.split_once('/').map_or((rest, None), |(authority, path)| (authority, Some(path)));
    let host = match authority.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => format!("***@{host}"),
        _ => authority.to_owned(),
    };
    let signed = |path: &str| path.split_once('?').is_some_and(|(_, query)| query.contains("sig="));
    match path {
        Some(path) if signed(path) => format!("{scheme}://{host}/{}?***", path.split('?').next().unwrap_or(path)),
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_accounts_and_keys() {
        for (uri, service, bucket, key) in [
            ("s3://b/a/t", ObjectStoreType::S3, "b", "a/t"),
            ("s3a://b/a b/t=1%20/", ObjectStoreType::S3, "b", "a b/t=1%20"),
            ("S3N://b", ObjectStoreType::S3, "b", ""),
            ("gs://b_1.x/t", ObjectStoreType::Gcs, "b_1.x", "t"),
            ("az://c/t?x", ObjectStoreType::Azure, "c", "t?x"),
            ("abfss://c/t", ObjectStoreType::Azure, "c", "t"),
            ("https://h:8443/dav/t/", ObjectStoreType::Http, "https://h:8443", "dav/t"),
        ] {
            let parsed = ObjectUri::parse(uri).unwrap().unwrap();
            assert_eq!((parsed.service, parsed.bucket.as_str(), parsed.key.as_str()), (service, bucket, key), "{uri}");
        }
        let parsed = ObjectUri::parse("abfss://c@Acc.dfs.core.windows.net/t").unwrap().unwrap();
        assert_eq!(parsed.account, Some(("acc".to_owned(), "dfs.core.windows.net".to_owned())));
        for other in ["/a/b", "file:///a", "hdfs://n/a", "a:b"] {
            assert_eq!(ObjectUri::parse(other).unwrap(), None, "{other}");
        }
    }

    #[test]
    fn wrong_uris_are_refused() {
        for (uri, part) in [
            ("s3://", "names no bucket"),
            ("abfss:///t", "names no bucket or container"),
            ("s3://b/a//c", "parts ''"),
            ("s3://b/../c", "'..'"),
            ("https:///t", "names no bucket"),
            ("abfss://c@.dfs.core.windows.net/t", "no storage account"),
            ("abfss://acc.dfs.core.windows.net/t", "CONTAINER@ACCOUNT"),
            ("https://s3.eu-west-1.amazonaws.com/b/t", "s3://BUCKET/PATH"),
            ("https://acc.blob.core.windows.net/c/t", "abfss://CONTAINER@ACCOUNT"),
        ] {
            let error = ObjectUri::parse(uri).unwrap_err().to_string();
            assert!(error.contains(part), "{uri}: {error}");
        }
    }

    #[test]
    fn credentials_in_a_uri_are_refused_and_not_repeated() {
        for uri in [
            "s3://AKIAX:hunter2@b/t",
            "http://me:hunter2@h/t",
            "az://c/t?sv=2020&sig=hunter2",
            "abfss://c:hunter2@a.dfs.core.windows.net/t",
        ] {
            let error = ObjectUri::parse(uri).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
            assert!(!redacted(uri).contains("hunter2"), "{uri}");
        }
    }
}
