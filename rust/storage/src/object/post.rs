//! Sends a request of HTTP.

use super::client::install_tls;
use crate::fetch::runtime::IoThread;
use crate::http_post::HttpPost;
use mortice_base::error::{Error, ErrorKind, Result};

/// What an attempt has ended with. The error is a string, as any number of threads may wait for it.
type Sent = std::result::Result<u16, (ErrorKind, String)>;

/// Sends a request, as [`HttpPost::send`] says.
pub(crate) fn send(request: HttpPost) -> Result<u16> {
    let url = request.url.clone();
    let io = IoThread::start()?;
    let sent: Sent = io.spawn(sent(request)).wait()?;
    sent.map_err(|(kind, message)| Error::new(kind, message).in_file(url))
}

async fn sent(request: HttpPost) -> Sent {
    install_tls();
    let HttpPost { url, headers, body, timeout } = request;
    let failed = |error: reqwest::Error| {
        let kind = if error.is_builder() { ErrorKind::InvalidArgument } else { ErrorKind::Unreachable };
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        (kind, format!("the request failed: {} {cause}", error.without_url()))
    };
    // As the clients of Hudi, which use no proxy of the environment and follow no redirect of a POST.
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    let client = client.timeout(timeout).build().map_err(failed)?;
    let mut post = client.post(url).body(body);
    for (name, value) in headers {
        post = post.header(name, value);
    }
    post.send().await.map(|answer| answer.status().as_u16()).map_err(failed)
}
