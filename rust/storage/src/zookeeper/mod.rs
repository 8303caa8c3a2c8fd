//! A client of ZooKeeper, for locks: a session and the few requests of its nodes that a lock needs, over one connection
//! without encryption, as Hudi's.
//!
//! | file | contents |
//! |---|---|
//! | `address` | servers and the folder of a connect string |
//! | `wire` | values of requests and responses |
//! | `connection` | a connection to one server |
//! | `session` | a session, which outlives its connections |
//! | `scripted_server` | for tests: a server in memory |

mod address;
mod connection;
#[cfg(any(test, feature = "testing"))]
pub mod scripted_server;
mod session;
mod wire;

pub use address::ZooKeeperAddress;
pub use session::{SessionTimeouts, ZooKeeperSession};
