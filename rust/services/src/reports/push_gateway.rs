//! The Pushgateway of Prometheus: metrics are added to the group of the job and its labels.

use std::time::Duration;

use bytes::Bytes;

use super::gauges::Gauges;
use super::labels::{Labels, path_part};
use super::text_format::{CONTENT_TYPE, text_of};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_storage::HttpPost;

/// How long an answer may take, as in the client of Prometheus.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The port at which Hudi expects TLS.
const TLS_PORT: u16 = 443;

/// Sends the values of a table.
///
/// # Errors
/// As for [`HttpPost::send`]; `Io` for an answer that is an error.
pub(super) fn push(host: &str, port: u16, job: &str, labels: &Labels, gauges: &Gauges) -> Result<()> {
    let scheme = if port == TLS_PORT { "https" } else { "http" };
    let url = format!("{scheme}://{host}:{port}/metrics{}{}", path_part("job", job), labels.as_path());
    let post = HttpPost {
        url: url.clone(),
        headers: vec![("Content-Type".to_owned(), CONTENT_TYPE.to_owned())],
        body: Bytes::from(text_of(gauges, &Labels::default())),
        timeout: TIMEOUT,
    };
    match post.send()? {
        200..300 => Ok(()),
        status => Err(Error::new(ErrorKind::Io, format!("the Pushgateway answered HTTP {status}")).in_file(url)),
    }
}
