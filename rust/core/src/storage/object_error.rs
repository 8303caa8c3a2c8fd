//! Errors of object stores as kinds that a caller can act on, with messages that hold no secrets.
//!
//! A server's answer may repeat what was sent: signed URLs, headers. So of an answer only its status and the code and the
//! message that its XML names are kept, and of a failed connection the causes without a URL.

use std::error::Error as StdError;

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};

use crate::error::{Error, Kind};

/// What went wrong with a request; many may wait for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    pub(super) message: String,
    /// Whether the store has refused credentials that others may be had for.
    pub(super) is_expired: bool,
}

impl Failure {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), is_expired: false }
    }

    /// The error, at a path or URI.
    pub(super) fn at(&self, path: &str) -> Error {
        Error::new(self.kind, self.message.clone()).in_file(path)
    }
}

impl Failure {
    /// What a store's client reported; `status` is the HTTP status of the last answer, if the last request had one.
    pub(super) fn of_store(error: &StoreError, status: Option<u16>) -> Self {
        // A function that was to supply credentials.
        if let Some(own) = causes(error).find_map(|cause| cause.downcast_ref::<Error>()) {
            return Self::new(own.kind(), own.to_string());
        }
        let is_expired = has_expired(error, status);
        let kind = if is_expired { Kind::Forbidden } else { kind_of(error, status) };
        let what = match kind {
            Kind::NotFound => "no such file",
            Kind::Forbidden => "the storage refused access; check the credentials and their permissions",
            Kind::Throttled => {
                "the storage asks for fewer requests (all retries were answered so); read with fewer threads or later"
            }
            Kind::Unreachable => "the storage cannot be reached, or did not answer in time",
            Kind::FileChanged => CHANGED,
            Kind::AlreadyExists => "there is a file of this name, or one is being created",
            Kind::Unsupported => "the storage does not support this",
            _ => "the storage failed",
        };
        let message = match detail(error, status) {
            Some(detail) => format!("{what}: {detail}"),
            None => what.to_owned(),
        };
        Self { kind, message, is_expired }
    }
}

/// The message of [`Kind::FileChanged`].
pub(super) const CHANGED: &str = "the file has changed since the query was planned; plan the query again";

/// Whether an answer says that the credentials were right once. S3 answers so with 400 and 403, Azure with 403 where a shared
/// access signature has expired, Google with 401.
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

fn kind_of(error: &StoreError, status: Option<u16>) -> Kind {
    match error {
        StoreError::NotFound { .. } => return Kind::NotFound,
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => return Kind::Forbidden,
        // Older MinIO answers 304 to a stale If-Match.
        StoreError::Precondition { .. } | StoreError::NotModified { .. } => return Kind::FileChanged,
        StoreError::AlreadyExists { .. } => return Kind::AlreadyExists,
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => return Kind::Unsupported,
        _ => {}
    }
    match status {
        Some(401 | 403) => return Kind::Forbidden,
        // Of a listing: there is no such bucket.
        Some(404) => return Kind::NotFound,
        Some(429 | 503) => return Kind::Throttled,
        // The range begins behind the end: the file is shorter than it was.
        Some(416) => return Kind::FileChanged,
        Some(408 | 504) => return Kind::Unreachable,
        Some(300..) => return Kind::Io,
        // The answer was good, and its body broke off; or there was none.
        Some(_) | None => {}
    }
    let http = causes(error).find_map(|cause| cause.downcast_ref::<HttpError>().map(HttpError::kind));
    match http {
        Some(HttpErrorKind::Connect | HttpErrorKind::Timeout | HttpErrorKind::Request | HttpErrorKind::Interrupted) => {
            Kind::Unreachable
        }
        // A body that is cut off ends so, after retries.
        Some(HttpErrorKind::Decode) => Kind::Unreachable,
        _ => Kind::Io,
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

/// Status, code and message of an answer, which the text of the error repeats.
fn answer(status: u16, text: &str) -> String {
    let parts = ["Code", "Message"].into_iter().filter_map(|name| element(text, name));
    let parts = parts.map(|text| without_queries(&text));
    std::iter::once(format!("HTTP {status}")).chain(parts).collect::<Vec<_>>().join(" ")
}

/// The text of the first element of a name, of at most some hundred characters.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once("</")?;
    // Azure puts details behind the first line, the request's own headers among them.
    Some(text.lines().next().unwrap_or_default().chars().take(300).collect())
}

/// The last cause: "connection refused" rather than "error sending request".
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let last = std::iter::successors(Some(error), |error: &&(dyn StdError + 'static)| (*error).source()).last();
    without_queries(&last.unwrap_or(error).to_string())
}

/// Without what follows a `?` in a URL: signatures stand there.
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
        let source = || "told".into();
        let path = || "a".to_owned();
        for (error, kind) in [
            (StoreError::NotFound { path: path(), source: source() }, Kind::NotFound),
            (StoreError::PermissionDenied { path: path(), source: source() }, Kind::Forbidden),
            (StoreError::Unauthenticated { path: path(), source: source() }, Kind::Forbidden),
            (StoreError::Precondition { path: path(), source: source() }, Kind::FileChanged),
            (StoreError::Generic { store: "S3", source: source() }, Kind::Io),
        ] {
            assert_eq!(Failure::of_store(&error, None).kind, kind);
        }
        let generic = StoreError::Generic { store: "S3", source: source() };
        for (status, kind) in [
            (200, Kind::Io),
            (301, Kind::Io),
            (403, Kind::Forbidden),
            (404, Kind::NotFound),
            (416, Kind::FileChanged),
            (500, Kind::Io),
            (503, Kind::Throttled),
            (504, Kind::Unreachable),
        ] {
            assert_eq!(Failure::of_store(&generic, Some(status)).kind, kind, "{status}");
        }
        let refused = HttpError::new(HttpErrorKind::Connect, std::io::Error::other("connection refused"));
        let refused = Failure::of_store(&StoreError::Generic { store: "S3", source: Box::new(refused) }, None);
        assert_eq!(refused.kind, Kind::Unreachable);
        assert!(refused.message.ends_with("connection refused"), "{}", refused.message);
    }
}
