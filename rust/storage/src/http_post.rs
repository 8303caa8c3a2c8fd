//! Requests that report what was done to a table: callbacks of commits, and metrics.

use std::time::Duration;

use bytes::Bytes;

#[cfg(not(feature = "object"))]
use mortice_base::error::Error;
use mortice_base::error::Result;

/// A request with the method POST.
#[derive(Debug, Clone)]
pub struct HttpPost {
    /// Where it goes: a URL of the scheme `http` or `https`.
    pub url: String,
    /// Headers, by name.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Bytes,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl HttpPost {
    /// Sends the request once, and not by a proxy. Returns the status of the answer, whose body is left unread.
    ///
    /// # Errors
    /// `InvalidArgument` for a URL or a header that is none; `Unreachable` if there is no answer in time; `Unsupported`
    /// in a build without object stores.
    pub fn send(self) -> Result<u16> {
        #[cfg(feature = "object")]
        return super::object::post::send(self);
        #[cfg(not(feature = "object"))]
        Err(Error::unsupported("this build of mortice has no client of HTTP").in_file(self.url))
    }
}
