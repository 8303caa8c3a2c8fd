//! Converts errors of HDFS to error kinds that a caller can handle.

use std::time::Duration;

use hdfs_native::HdfsError;

use super::object_error::Failure;
use crate::error::Kind;

/// The maximum length of a message: a `NameNode` adds its stack trace.
const LONGEST: usize = 400;

/// Converts an error of the HDFS client.
pub(super) fn failure(error: &HdfsError) -> Failure {
    let kind = kind_of(error);
    let what = match kind {
        Kind::NotFound => return Failure::new(kind, "no such file"),
        Kind::Forbidden => {
            "HDFS refused access; check the user (HADOOP_USER_NAME, a Kerberos ticket) and its permissions"
        }
        Kind::Unreachable => "HDFS cannot be reached, or did not answer",
        Kind::AlreadyExists => "there is a file of this name, or one is being created",
        Kind::Unsupported => "this is not supported on HDFS",
        Kind::InvalidArgument => "HDFS does not take this",
        _ => "HDFS failed",
    };
    Failure::new(kind, format!("{what}: {}", first_line(&error.to_string())))
}

/// Returns the error of an operation that timed out.
pub(super) fn timed_out(after: Duration) -> Failure {
    Failure::new(Kind::Unreachable, format!("HDFS did not answer within {} s, retries included", after.as_secs()))
}

/// Returns true if the same request may succeed when it is repeated.
pub(super) fn is_transient(error: &HdfsError) -> bool {
    matches!(kind_of(error), Kind::Unreachable | Kind::Io)
}

fn kind_of(error: &HdfsError) -> Kind {
    match error {
        HdfsError::FileNotFound(_) => Kind::NotFound,
        HdfsError::AlreadyExists(_) => Kind::AlreadyExists,
        HdfsError::InvalidPath(_)
        | HdfsError::InvalidArgument(_)
        | HdfsError::UrlParseError(_)
        | HdfsError::IsADirectoryError(_)
        | HdfsError::XmlParseError(_) => Kind::InvalidArgument,
        HdfsError::UnsupportedErasureCodingPolicy(_) | HdfsError::UnsupportedFeature(_) => Kind::Unsupported,
        HdfsError::SASLError(_) | HdfsError::GSSAPIError(..) | HdfsError::NoSASLMechanism => Kind::Forbidden,
        HdfsError::IOError(_) | HdfsError::DataTransferError(_) | HdfsError::BlocksNotFound(_) => Kind::Unreachable,
        HdfsError::RPCError(class, _) | HdfsError::FatalRPCError(class, _) => kind_of_class(class),
        _ => Kind::Io,
    }
}

/// Returns the kind of a Java exception of the `NameNode`.
fn kind_of_class(class: &str) -> Kind {
    match class.rsplit('.').next().unwrap_or(class) {
        "FileNotFoundException" => Kind::NotFound,
        "FileAlreadyExistsException" | "AlreadyBeingCreatedException" => Kind::AlreadyExists,
        "AccessControlException"
        | "AuthorizationException"
        | "SaslException"
        | "GSSException"
        | "SecretManager$InvalidToken" => Kind::Forbidden,
        "StandbyException" | "RetriableException" | "SafeModeException" | "ServerTooBusyException" => Kind::Unreachable,
        "InvalidPathException" | "ParentNotDirectoryException" | "FSLimitException$PathComponentTooLongException" => {
            Kind::InvalidArgument
        }
        "UnsupportedOperationException" => Kind::Unsupported,
        _ => Kind::Io,
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
            ("java.io.FileNotFoundException", Kind::NotFound),
            ("org.apache.hadoop.security.AccessControlException", Kind::Forbidden),
            ("org.apache.hadoop.hdfs.server.namenode.SafeModeException", Kind::Unreachable),
            ("org.apache.hadoop.fs.InvalidPathException", Kind::InvalidArgument),
            ("java.lang.NullPointerException", Kind::Io),
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
