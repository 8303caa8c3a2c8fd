//! Converts errors of object stores to error kinds that a caller can handle, with messages without secrets.
//!
//! A server's response may repeat the request: signed URLs, headers. So only the status of a response and the code and
//! message in its XML are kept, and of a failed connection the causes without a URL.

use std::error::Error as StdError;

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};

use mortice_base::error::{Error, ErrorKind};

/// An error of a request; several threads may wait for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreFailure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    /// Whether the store has rejected credentials that can be renewed.
    pub(crate) is_expired: bool,
}

impl StoreFailure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), is_expired: false }
    }

    /// Returns the error with a path or URI.
    pub(crate) fn at(&self, path: &str) -> Error {
        Error::new(self.kind, self.message.clone()).in_file(path)
    }
}

impl StoreFailure {
    /// Converts an error of a store's client; `status` is the HTTP status of the last response, if there was one.
    pub(crate) fn from_store(error: &StoreError, status: Option<u16>) -> Self {
        // An error of a function that supplies credentials.
        if let Some(own) = causes(error).find_map(|cause| cause.downcast_ref::<Error>()) {
            return Self::new(own.kind(), own.to_string());
        }
        let is_expired = has_expired(error, status);
        let kind = if is_expired { ErrorKind::Forbidden } else { kind_of(error, status) };
        let what = match kind {
            ErrorKind::NotFound => "no such file",
            ErrorKind::Forbidden => "the storage refused access; check the credentials and their permissions",
            ErrorKind::Throttled => {
                "the storage throttles requests, and rejected all retries; use fewer threads, or try again later"
            }
            ErrorKind::Unreachable => {
                "the storage cannot be reached, or did not answer in time (check endpoint, network and proxies)"
            }
            ErrorKind::FileChanged => CHANGED,
            ErrorKind::AlreadyExists => "the file exists already, or is being created",
            ErrorKind::Unsupported => "the storage does not support the request",
            _ => "the storage request failed",
        };
        let message = match detail(error, status) {
            Some(detail) => format!("{what}: {detail}"),
            None => what.to_owned(),
        };
        Self { kind, message, is_expired }
    }
}

/// The message of [`ErrorKind::FileChanged`].
pub(crate) const CHANGED: &str = "the file has changed since the query was planned; plan the query again";

/// Returns true if a response shows that the credentials have expired. S3 responds with 400 and 403, Azure with 403 for
/// an expired shared access signature, Google with 401.
fn has_expired(error: &StoreError, status: Option<u16>) -> bool {
    const CODES: [&str; 6] = [
        "ExpiredToken",
        "ExpiredTokenException",
        "TokenRefreshRequired",
        "InvalidToken",
        "InvalidAccessKeyId",
        "AuthenticationFailed",
    ];
    match status {
        Some(401) => true,
        Some(400 | 403) => element(&error.to_string(), "Code").is_some_and(|code| CODES.contains(&code.as_str())),
        _ => false,
    }
}

fn kind_of(error: &StoreError, status: Option<u16>) -> ErrorKind {
    match error {
        StoreError::NotFound { .. } => return ErrorKind::NotFound,
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => return ErrorKind::Forbidden,
        // Older MinIO responds with 304 to a stale If-Match.
        StoreError::Precondition { .. } | StoreError::NotModified { .. } => return ErrorKind::FileChanged,
        StoreError::AlreadyExists { .. } => return ErrorKind::AlreadyExists,
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => return ErrorKind::Unsupported,
        _ => {}
    }
    match status {
        Some(401 | 403) => return ErrorKind::Forbidden,
        // For a listing: the bucket does not exist.
        Some(404) => return ErrorKind::NotFound,
        Some(429 | 503) => return ErrorKind::Throttled,
        // The range begins after the end: the file is shorter than before.
        Some(416) => return ErrorKind::FileChanged,
        Some(408 | 504) => return ErrorKind::Unreachable,
        Some(300..) => return ErrorKind::Io,
        // The response was valid but its body incomplete; or there was none.
        Some(_) | None => {}
    }
    let http = causes(error).find_map(|cause| cause.downcast_ref::<HttpError>().map(HttpError::kind));
    match http {
        Some(HttpErrorKind::Connect | HttpErrorKind::Timeout | HttpErrorKind::Request | HttpErrorKind::Interrupted) => {
            ErrorKind::Unreachable
        }
        // The error of an incomplete body, after retries.
        Some(HttpErrorKind::Decode) => ErrorKind::Unreachable,
        _ => ErrorKind::Io,
    }
}

fn causes(error: &StoreError) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let first: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |error: &&(dyn StdError + 'static)| (*error).source())
}

fn detail(error: &StoreError, status: Option<u16>) -> Option<String> {
    match status {
        Some(status @ 300..400) => {
            return Some(format!("HTTP {status}; if the bucket is in another region, name it with the option region"));
        }
        Some(status @ 400..) => return Some(answer(status, &error.to_string())),
        Some(_) | None => {}
    }
    if let Some(error) = causes(error).find_map(|cause| cause.downcast_ref::<HttpError>()) {
        return Some(innermost(error));
    }
    match error {
        StoreError::NotFound { .. } => None,
        StoreError::Generic { source, .. } => Some(without_queries(&source.to_string())),
        other => Some(without_queries(&other.to_string())),
    }
}

/// Returns status, code and message of a response, which the error's message contains.
fn answer(status: u16, text: &str) -> String {
    let parts = ["Code", "Message"].into_iter().filter_map(|name| element(text, name));
    let parts = parts.map(|text| without_queries(&text));
    std::iter::once(format!("HTTP {status}")).chain(parts).collect::<Vec<_>>().join(" ")
}

/// Returns the text of the first element with a name, cut to some hundred characters.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once("</")?;
    // Azure adds details after the first line, including headers of the request.
    Some(text.lines().next().unwrap_or_default().chars().take(300).collect())
}

/// Returns the last cause: "connection refused" rather than "error sending request".
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let last = std::iter::successors(Some(error), |error: &&(dyn StdError + 'static)| (*error).source()).last();
    without_queries(&last.unwrap_or(error).to_string())
}

/// Removes the query after `?` of a URL: it may have signatures.
fn without_queries(text: &str) -> String {
    let clean = |word: &str| match word.split_once('?') {
        Some((url, query)) if url.contains("://") || query.contains('=') => format!("{url}?…"),
        _ => word.to_owned(),
    };
    text.split(' ').map(clean).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_shortened_to_what_is_safe() {
        let body = "<Error><Code>AccessDenied</Code><Message>no ?sig=hunter2&a=b\nsecret</Message></Error>";
        assert_eq!(element(body, "Code").as_deref(), Some("AccessDenied"));
        assert_eq!(without_queries(&element(body, "Message").unwrap()), "no ?…");
        assert_eq!(without_queries("get https://h/a?sv=1&sig=hunter2 failed?"), "get https://h/a?… failed?");
    }

    #[test]
    fn kinds_of_errors() {
        let source = || "described".into();
        let path = || "a".to_owned();
        for (error, kind) in [
            (StoreError::NotFound { path: path(), source: source() }, ErrorKind::NotFound),
            (StoreError::PermissionDenied { path: path(), source: source() }, ErrorKind::Forbidden),
            (StoreError::Unauthenticated { path: path(), source: source() }, ErrorKind::Forbidden),
            (StoreError::Precondition { path: path(), source: source() }, ErrorKind::FileChanged),
            (StoreError::Generic { store: "S3", source: source() }, ErrorKind::Io),
        ] {
            assert_eq!(StoreFailure::from_store(&error, None).kind, kind);
        }
        let generic = StoreError::Generic { store: "S3", source: source() };
        for (status, kind) in [
            (200, ErrorKind::Io),
            (301, ErrorKind::Io),
            (403, ErrorKind::Forbidden),
            (404, ErrorKind::NotFound),
            (416, ErrorKind::FileChanged),
            (500, ErrorKind::Io),
            (503, ErrorKind::Throttled),
            (504, ErrorKind::Unreachable),
        ] {
            assert_eq!(StoreFailure::from_store(&generic, Some(status)).kind, kind, "{status}");
        }
        let refused = HttpError::new(HttpErrorKind::Connect, std::io::Error::other("connection refused"));
        let refused = StoreFailure::from_store(&StoreError::Generic { store: "S3", source: Box::new(refused) }, None);
        assert_eq!(refused.kind, ErrorKind::Unreachable);
        assert!(refused.message.ends_with("connection refused"), "{}", refused.message);
    }
}
