//! URIs of object stores: which service, which bucket or container, and the key of the root.
//!
//! | URI | service |
//! |---|---|
//! | `s3://BUCKET/KEY`, `s3a`, `s3n` | S3 |
//! | `gs://BUCKET/KEY` | Google Cloud Storage |
//! | `abfs[s]://CONTAINER@ACCOUNT.HOST/KEY`, `wasb[s]` likewise | Azure |
//! | `az://CONTAINER/KEY`, also `abfs`, with the account in the options | Azure |
//! | `http[s]://HOST/KEY` | WebDAV |

use crate::error::{Error, Result};

/// A service that stores objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Service {
    S3,
    Gcs,
    Azure,
    Http,
}

/// What a URI of an object store names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectUri {
    pub(super) scheme: String,
    pub(super) service: Service,
    /// The bucket or container; the URL of the server for HTTP.
    pub(super) bucket: String,
    /// The account and the domain that follows it.
    pub(super) account: Option<(String, String)>,
    /// The key of the root, without slashes at its ends.
    pub(super) key: String,
}

impl ObjectUri {
    /// Parses a URI; none if its scheme is not one of an object store.
    ///
    /// # Errors
    /// `InvalidArgument` if it names no bucket, or its key cannot be one.
    pub(super) fn parse(uri: &str) -> Result<Option<Self>> {
        let Some((scheme, rest)) = uri.split_once("://") else { return Ok(None) };
        let scheme = scheme.to_ascii_lowercase();
        let service = match scheme.as_str() {
            "s3" | "s3a" | "s3n" => Service::S3,
            "gs" => Service::Gcs,
            "abfs" | "abfss" | "az" | "azure" | "wasb" | "wasbs" => Service::Azure,
            "http" | "https" => Service::Http,
            _ => return Ok(None),
        };
        let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
        let invalid = |message: &str| Err(Error::invalid_argument(message).in_file(uri));
        let (bucket, account) = match (service, authority.split_once('@')) {
            (Service::Azure, Some((container, host))) => match host.split_once('.') {
                Some((account, domain)) => (container.to_owned(), Some((account.to_owned(), domain.to_owned()))),
                None => (container.to_owned(), Some((host.to_owned(), String::new()))),
            },
            // The URI may then hold a password.
            (_, Some(_)) => {
                let message = format!("a {scheme} URI with credentials; pass them as storage options");
                return Err(Error::invalid_argument(message));
            }
            (Service::Http, None) => (format!("{scheme}://{authority}"), None),
            (_, None) => (authority.to_owned(), None),
        };
        if authority.is_empty() || bucket.is_empty() {
            return invalid("a URI of an object store without a bucket or container");
        }
        let key = key.trim_matches('/').to_owned();
        if key.split('/').any(|part| part == "." || part == "..") || key.contains("//") {
            return invalid("a key of an object store cannot have the parts '', '.' or '..'");
        }
        Ok(Some(Self { scheme, service, bucket, account, key }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_accounts_and_keys() {
        let parse = |uri: &str| ObjectUri::parse(uri).unwrap().unwrap();
        let s3 = parse("s3a://b/a b/ü%20/");
        assert_eq!((s3.service, s3.bucket.as_str(), s3.key.as_str()), (Service::S3, "b", "a b/ü%20"));
        assert_eq!((parse("gs://b").service, parse("gs://b/").key), (Service::Gcs, String::new()));
        let azure = parse("abfss://c@acc.dfs.core.windows.net/t");
        assert_eq!((azure.bucket.as_str(), azure.key.as_str()), ("c", "t"));
        assert_eq!(azure.account, Some(("acc".to_owned(), "dfs.core.windows.net".to_owned())));
        assert_eq!((parse("az://c/t").account, parse("az://c/t").bucket.as_str()), (None, "c"));
        assert_eq!(parse("https://h:8080/dav/t").bucket, "https://h:8080");
    }

    #[test]
    fn what_is_no_store_and_what_is_wrong() {
        for none in ["/a/b", "file:///a", "hdfs://n/a", "a:b"] {
            assert_eq!(ObjectUri::parse(none).unwrap(), None, "{none}");
        }
        for wrong in ["s3://", "s3:///t", "s3://b/a//c", "s3://b/../c", "abfs://@acc.host/t"] {
            assert!(ObjectUri::parse(wrong).is_err(), "{wrong}");
        }
        let error = ObjectUri::parse("s3://key:hunter2@bucket/t").unwrap_err().to_string();
        assert!(error.contains("storage options") && !error.contains("hunter2"), "{error}");
    }
}
