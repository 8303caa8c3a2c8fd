//! What happens before this process is forked.

use super::fork_gate;

/// Waits, up to 10 s, until no other thread holds a lock that a child needs, and ends the clients that a child could
/// not use. To be called by the thread that forks.
pub fn before_fork() {
    fork_gate::before_fork();
    #[cfg(feature = "hdfs")]
    super::hdfs::handle::end_clients();
}
