//! Converts errors of HDFS to error kinds that a caller can handle.

use std::time::Duration;

use hdfs_native::HdfsError;

use crate::fetch::failure::StoreFailure;
use mortice_base::error::ErrorKind;

/// The maximum length of a message: a `NameNode` adds its stack trace.
const LONGEST: usize = 400;

/// Converts an error of the HDFS client.
pub(crate) fn failure(error: &HdfsError) -> StoreFailure {
    let kind = kind_of(error);
    let what = match kind {
        ErrorKind::NotFound => return StoreFailure::new(kind, "no such file"),
        ErrorKind::Forbidden => {
            "HDFS refused access; check the user (HADOOP_USER_NAME, a Kerberos ticket) and its permissions"
        }
        ErrorKind::Unreachable => "HDFS cannot be reached, or did not answer (check the address and the network)",
        ErrorKind::AlreadyExists => "the file exists already, or is being created",
        ErrorKind::Unsupported => "HDFS does not support the request",
        ErrorKind::InvalidArgument => "HDFS rejected the request",
        _ => "HDFS failed",
    };
    StoreFailure::new(kind, format!("{what}: {}", first_line(&error.to_string())))
}

/// Returns the error of an operation that timed out.
pub(crate) fn timed_out(after: Duration) -> StoreFailure {
    StoreFailure::new(
        ErrorKind::Unreachable,
        format!("HDFS did not answer within {} s, retries included", after.as_secs()),
    )
}

/// Returns true if the same request may succeed when it is repeated.
pub(crate) fn is_transient(error: &HdfsError) -> bool {
    matches!(kind_of(error), ErrorKind::Unreachable | ErrorKind::Io)
}

fn kind_of(error: &HdfsError) -> ErrorKind {
    match error {
        HdfsError::FileNotFound(_) => ErrorKind::NotFound,
        HdfsError::AlreadyExists(_) => ErrorKind::AlreadyExists,
        HdfsError::InvalidPath(_)
        | HdfsError::InvalidArgument(_)
        | HdfsError::UrlParseError(_)
        | HdfsError::IsADirectoryError(_)
        | HdfsError::XmlParseError(_) => ErrorKind::InvalidArgument,
        HdfsError::UnsupportedErasureCodingPolicy(_) | HdfsError::UnsupportedFeature(_) => ErrorKind::Unsupported,
        HdfsError::SASLError(_) | HdfsError::GSSAPIError(..) | HdfsError::NoSASLMechanism => ErrorKind::Forbidden,
        HdfsError::IOError(_) | HdfsError::DataTransferError(_) | HdfsError::BlocksNotFound(_) => {
            ErrorKind::Unreachable
        }
        HdfsError::RPCError(class, _) | HdfsError::FatalRPCError(class, _) => kind_of_class(class),
        _ => ErrorKind::Io,
    }
}

/// Returns the kind of a Java exception of the `NameNode`.
fn kind_of_class(class: &str) -> ErrorKind {
    match class.rsplit('.').next().unwrap_or(class) {
        "FileNotFoundException" => ErrorKind::NotFound,
        "FileAlreadyExistsException" | "AlreadyBeingCreatedException" => ErrorKind::AlreadyExists,
        "AccessControlException"
        | "AuthorizationException"
        | "SaslException"
        | "GSSException"
        | "SecretManager$InvalidToken" => ErrorKind::Forbidden,
        "StandbyException" | "RetriableException" | "SafeModeException" | "ServerTooBusyException" => {
            ErrorKind::Unreachable
        }
        "InvalidPathException" | "ParentNotDirectoryException" | "FSLimitException$PathComponentTooLongException" => {
            ErrorKind::InvalidArgument
        }
        "UnsupportedOperationException" => ErrorKind::Unsupported,
        _ => ErrorKind::Io,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_of_a_name_node_have_kinds() {
        let rpc = |class: &str| HdfsError::RPCError(class.to_owned(), "said\n\tat org.apache.X".to_owned());
        for (class, kind) in [
            ("java.io.FileNotFoundException", ErrorKind::NotFound),
            ("org.apache.hadoop.security.AccessControlException", ErrorKind::Forbidden),
            ("org.apache.hadoop.hdfs.server.namenode.SafeModeException", ErrorKind::Unreachable),
            ("org.apache.hadoop.fs.InvalidPathException", ErrorKind::InvalidArgument),
            ("java.lang.NullPointerException", ErrorKind::Io),
        ] {
            let failure = failure(&rpc(class));
            assert_eq!(failure.kind, kind, "{class}");
            assert!(!failure.message.contains("at org"), "{}", failure.message);
        }
        let refused = HdfsError::IOError(std::io::Error::other("connection refused"));
        assert!(is_transient(&refused) && !is_transient(&HdfsError::FileNotFound("a".to_owned())));
        assert!(failure(&refused).message.ends_with("connection refused"));
    }
}
