//! Opens the storage of a URI.

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(feature = "hdfs")]
use super::HdfsStorage;
#[cfg(not(feature = "hdfs"))]
use super::HdfsUri;
#[cfg(feature = "object")]
use super::ObjectStorage;
use super::options::object_keys::hint;
#[cfg(not(feature = "object"))]
use super::options::object_uri::ObjectUri;
use super::{FileSource, FileStore, LocalStorage, RequestCounters, Storage, WritableStorage, counted};
use mortice_base::error::{Error, Result};

/// Options of an object store, by name. Local files have none.
pub type StorageOptions = BTreeMap<String, String>;

/// A storage that is read and written: all are.
trait FullStorage: FileStore + WritableStorage {}

impl<T: FileStore + WritableStorage> FullStorage for T {}

/// Opens the storage at `uri`: a plain path, a `file:` URI, or one of an object store. With `mmap`, large
/// files on local disks are mapped into memory.
///
/// # Errors
/// `Unsupported` for other schemes, `InvalidArgument` for options that the storage does not support.
pub fn open(uri: &str, options: &StorageOptions, mmap: bool) -> Result<Arc<dyn Storage>> {
    Ok(open_full(uri, options, mmap)?)
}

fn open_full(uri: &str, options: &StorageOptions, mmap: bool) -> Result<Arc<dyn FullStorage>> {
    #[cfg(feature = "object")]
    if let Some(storage) = ObjectStorage::open(uri, options)? {
        return Ok(Arc::new(storage));
    }
    #[cfg(feature = "hdfs")]
    if let Some(storage) = HdfsStorage::open(uri, options)? {
        return Ok(Arc::new(storage));
    }
    Ok(Arc::new(LocalStorage::new(&local_root(uri, options)?, mmap)))
}

/// Opens the storage at `uri` and counts its requests in `requests`.
///
/// # Errors
/// As for [`open`].
pub fn open_counted(
    uri: &str,
    options: &StorageOptions,
    mmap: bool,
    requests: &Arc<RequestCounters>,
) -> Result<Arc<dyn Storage>> {
    Ok(counted(open(uri, options, mmap)?, requests))
}

/// Opens the storage at `uri`. Its requests are counted with those of `other`, if those are counted.
///
/// # Errors
/// As for [`open`].
pub fn open_beside(other: &dyn Storage, uri: &str, options: &StorageOptions, mmap: bool) -> Result<Arc<dyn Storage>> {
    // Options of an object store do not apply to local files.
    let is_other = other.is_remote() && local_path(uri).is_ok();
    let none = StorageOptions::new();
    let options = if is_other { &none } else { options };
    match other.requests() {
        Some(requests) => open_counted(uri, options, mmap, requests),
        None => open(uri, options, mmap),
    }
}

/// Opens one file: a local one by its path, or one of an object store.
///
/// # Errors
/// As for [`open`]; `NotFound` if the file does not exist.
pub fn open_file(uri: &str, options: &StorageOptions, mmap: bool) -> Result<Arc<dyn FileSource>> {
    #[cfg(feature = "object")]
    if let Some((folder, name)) = uri.rsplit_once('/')
        && let Some(storage) = ObjectStorage::open(folder, options)?
    {
        return storage.open(name);
    }
    #[cfg(feature = "hdfs")]
    if let Some((folder, name)) = uri.rsplit_once('/')
        && let Some(storage) = HdfsStorage::open(folder, options)?
    {
        return storage.open(name);
    }
    LocalStorage::open_file(std::path::Path::new(&local_root(uri, options)?), mmap)
}

/// Opens the storage at `uri` for writing, with the same URIs as [`open`].
///
/// # Errors
/// As for [`open`].
pub fn open_writable(uri: &str, options: &StorageOptions) -> Result<Arc<dyn WritableStorage>> {
    Ok(open_full(uri, options, false)?)
}

/// Opens the storage at `uri` for writing whole files, with the same URIs as [`open`].
///
/// # Errors
/// As for [`open`].
pub fn open_file_store(uri: &str, options: &StorageOptions) -> Result<Arc<dyn FileStore>> {
    Ok(open_full(uri, options, false)?)
}

/// Returns the local path of a URI. [`mortice_base::ErrorKind::InvalidArgument`] if options are given.
fn local_root(uri: &str, options: &StorageOptions) -> Result<String> {
    let path = local_path(uri)?;
    match options.keys().next() {
        None => Ok(path),
        Some(name) => {
            let message = format!("unknown storage option {name:?}: local files have no storage options{}", hint(name));
            Err(Error::invalid_argument(message).in_file(uri))
        }
    }
}

/// Returns the local path of a URI.
fn local_path(uri: &str) -> Result<String> {
    if uri.is_empty() {
        return Err(Error::invalid_argument("an empty path"));
    }
    let Some((scheme, rest)) = uri.split_once(':') else { return Ok(trimmed(uri)) };
    let is_scheme = scheme.len() > 1 && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    match (is_scheme, scheme) {
        (true, "file") if rest.starts_with("///") => Ok(trimmed(rest.get(2..).unwrap_or(rest))),
        (true, "file") if rest.starts_with("//") => {
            Err(Error::invalid_argument("a file URI names a host; write file:///path").in_file(uri))
        }
        (true, "file") => Ok(trimmed(rest)),
        #[cfg(not(feature = "hdfs"))]
        (true, _) if HdfsUri::parse(uri)?.is_some() => Err(Error::unsupported(
            "this build of mortice has no client of HDFS: build it from source with `maturin build --profile dist \
             --features hdfs`, or copy the table to a local path or an object store",
        )
        .in_file(uri)),
        #[cfg(not(feature = "object"))]
        (true, _) if ObjectUri::parse(uri)?.is_some() => Err(Error::unsupported(
            "this build of mortice has no clients of object stores, as that of `make demo`: `make build` compiles them",
        )
        .in_file(without_credentials(uri))),
        (true, _) if rest.starts_with("//") => Err(Error::unsupported(format!(
            "storage {scheme}:// is not supported here (supported: local paths, s3://, gs://, abfss://, az://, https://)"
        ))
        .in_file(without_credentials(uri))),
        _ => Ok(trimmed(uri)),
    }
}

/// Returns a URI without the part before `@` in its authority, which may be a password.
fn without_credentials(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else { return uri.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

fn trimmed(path: &str) -> String {
    let short = path.trim_end_matches('/');
    if short.is_empty() { "/".to_owned() } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_and_paths() {
        for (uri, path) in [
            ("/a b/ü/", "/a b/ü"),
            ("a/b", "a/b"),
            ("file:///a", "/a"),
            ("file:/a/", "/a"),
            ("/", "/"),
            ("/a:b", "/a:b"),
            ("a:b", "a:b"),
        ] {
            assert_eq!(local_path(uri).unwrap(), path, "{uri}");
        }
        assert_eq!(local_path("hdfs://b/t").unwrap_err().kind(), mortice_base::ErrorKind::Unsupported);
        let error = local_path("oss://key:secret@b/t@1").unwrap_err().to_string();
        assert!(error.contains("oss://b/t@1") && !error.contains("secret"), "{error}");
        assert!(local_path("").is_err());
        assert!(local_path("file://host/a").is_err());
    }
}
