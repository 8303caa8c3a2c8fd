//! What tasks do next, as the driver has decided.

/// What tasks do next. Stages are serialised.
#[derive(Debug, Clone)]
pub enum NextStep {
    /// The user's rows are prepared.
    Prepare {
        /// The stage.
        stage: Vec<u8>,
    },
    /// Prepared rows are tagged.
    Tag(TagPlan),
    /// Tagged rows are merged with the stored rows of their keys.
    Move(MovePlan),
    /// Placed rows are written.
    Write(WritePlan),
    /// Rows that were distributed by a user-defined partitioner are written by the tasks that have them.
    Insert {
        /// The stage.
        stage: Vec<u8>,
    },
    /// Nothing: the write can be committed.
    Commit,
}

/// How rows are tagged.
#[derive(Debug, Clone)]
pub struct TagPlan {
    /// Partitions of the data frames.
    pub partitions: u32,
    /// The stage that distributes prepared rows.
    pub split: Vec<u8>,
    /// The stage that reads keys of base files, if that is needed, and the number of its tasks.
    pub read_keys: Option<(Vec<u8>, u32)>,
    /// The stage that tags what both have distributed.
    pub tag: Vec<u8>,
}

/// How tagged rows are merged with stored ones.
#[derive(Debug, Clone)]
pub struct MovePlan {
    /// Partitions of the data frames.
    pub partitions: u32,
    /// The stage that reads stored rows of the wanted keys.
    pub read_rows: Vec<u8>,
    /// The stage that merges them with the tagged rows.
    pub merge: Vec<u8>,
}

/// How placed rows are written.
#[derive(Debug, Clone)]
pub struct WritePlan {
    /// Partitions of the data frame.
    pub partitions: u32,
    /// The stage that distributes the rows to tasks.
    pub route: Vec<u8>,
    /// The stage that writes them.
    pub write: Vec<u8>,
}
