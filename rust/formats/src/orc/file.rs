//! The entry point: an ORC file. Its tail is read when it is opened, stripes on request.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};

use super::column::{self, StripeColumn};
use super::statistics::ColumnStatistics;
use super::stripe::Stripe;
use super::tail::OrcTail;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_storage::FileSource;

/// An open ORC file.
pub struct OrcFile {
    source: Arc<dyn FileSource>,
    tail: Arc<OrcTail>,
}

impl OrcFile {
    /// Reads the tail of a file.
    ///
    /// # Errors
    /// `InvalidTable` where it is no ORC file, or a torn one; `Unsupported`, by name, for codecs, types and encryption
    /// that are not read.
    pub fn open(source: Arc<dyn FileSource>) -> Result<Self> {
        let tail = OrcTail::read(&source).map_err(|error| as_table_error(error).in_file(source.path()))?;
        Ok(Self { source, tail: Arc::new(tail) })
    }

    /// Rows in the file.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.tail.rows
    }

    /// The top-level columns, as they are decoded.
    #[must_use]
    pub fn schema(&self) -> Schema {
        Schema::new(self.tail.root.fields())
    }

    /// What the writer's user has put into the footer under a name.
    #[must_use]
    pub fn metadata(&self, name: &str) -> Option<&[u8]> {
        self.tail.user.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// The rows of each stripe, in order.
    #[must_use]
    pub fn stripe_rows(&self) -> Vec<u64> {
        self.tail.stripes.iter().map(|stripe| stripe.rows).collect()
    }

    /// What is said of a top-level column in each stripe; none where nothing is.
    #[must_use]
    pub fn statistics(&self, column: &str) -> Option<Vec<ColumnStatistics>> {
        let (_, kind) = self.tail.root.children.iter().find(|(name, _)| name == column)?;
        if self.tail.statistics.len() != self.tail.stripes.len() {
            return None;
        }
        self.tail.statistics.iter().map(|columns| columns.get(kind.column).cloned()).collect()
    }

    /// The rows of some stripes, in batches within a limit, with those top-level columns of the file that
    /// `wanted` says yes to, in the file's order.
    #[must_use]
    pub fn rows(&self, wanted: &dyn Fn(&str) -> bool, stripes: Vec<usize>, limit: BatchLimit) -> OrcRows {
        let columns: Vec<usize> =
            (0..).zip(&self.tail.root.children).filter(|(_, (name, _))| wanted(name)).map(|(at, _)| at).collect();
        let fields = self.tail.root.fields();
        let fields: Vec<Arc<Field>> = columns.iter().filter_map(|at| fields.get(*at).cloned()).collect();
        OrcRows {
            source: Arc::clone(&self.source),
            tail: Arc::clone(&self.tail),
            schema: Arc::new(Schema::new(fields)),
            columns,
            stripes: stripes.into_iter(),
            open: None,
            limit,
            next_row: 0,
            done: false,
        }
    }
}

/// Damage of a file that holds a table's rows is the table's.
fn as_table_error(error: Error) -> Error {
    if error.kind() == ErrorKind::CorruptLog { error.with_kind(ErrorKind::InvalidTable) } else { error }
}

/// Batches of an ORC file. After an error there is nothing more.
pub struct OrcRows {
    source: Arc<dyn FileSource>,
    tail: Arc<OrcTail>,
    schema: SchemaRef,
    columns: Vec<usize>,
    stripes: std::vec::IntoIter<usize>,
    open: Option<OpenStripe>,
    limit: BatchLimit,
    /// The number in the file of the first row of the next batch.
    next_row: u64,
    done: bool,
}

struct OpenStripe {
    columns: Vec<StripeColumn>,
    left: u64,
}

impl OpenStripe {
    /// How many of the rows that are left fit a batch.
    fn fitting(&mut self, limit: BatchLimit) -> Result<usize> {
        let bytes = self.columns.iter().map(|column| column.bytes(self.left)).fold(0, u64::saturating_add);
        let of_row = usize::try_from(bytes / self.left.max(1)).unwrap_or(usize::MAX);
        let mut rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(limit.rows_of(of_row));
        // Rows may be larger than on average.
        while rows > 1 {
            let mut sizes = self.columns.iter_mut().map(|column| column.most_bytes(rows as u64));
            let bytes = sizes.try_fold(0_u64, |sum, size| Ok::<_, Error>(sum.saturating_add(size?)))?;
            if bytes <= limit.bytes() as u64 {
                break;
            }
            rows /= 2;
        }
        Ok(rows)
    }
}

impl OrcRows {
    /// The next batch, and which rows of the file it has.
    fn step(&mut self) -> Result<Option<(RecordBatch, Range<u64>)>> {
        loop {
            if let Some(stripe) = self.open.as_mut().filter(|stripe| stripe.left > 0) {
                let count = stripe.fitting(self.limit)?;
                let columns = stripe.columns.iter_mut().map(|column| column.read(count)).collect::<Result<Vec<_>>>()?;
                stripe.left = stripe.left.saturating_sub(count as u64);
                let rows = self.next_row..self.next_row.saturating_add(count as u64);
                self.next_row = rows.end;
                let options = RecordBatchOptions::new().with_row_count(Some(count));
                let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
                    .map_err(|error| Error::invalid_table("columns of an ORC file make no batch").caused_by(error))?;
                return Ok(Some((batch, rows)));
            }
            let Some(stripe) = self.stripes.next() else { return Ok(None) };
            self.open_stripe(stripe)?;
        }
    }

    fn open_stripe(&mut self, stripe: usize) -> Result<()> {
        let places = &self.tail.stripes;
        let unknown = || Error::invalid_argument(format!("stripe {stripe} of an ORC file of {}", places.len()));
        let place = places.get(stripe).ok_or_else(unknown)?;
        self.next_row = places.iter().take(stripe).fold(0, |sum, place| sum.saturating_add(place.rows));
        let open = || -> Result<Vec<StripeColumn>> {
            let opened = Stripe::open(&self.source, self.tail.compression, place)?;
            let columns = self.columns.iter().filter_map(|at| self.tail.root.children.get(*at));
            columns.map(|(_, kind)| column::open(&opened, kind)).collect()
        };
        let columns = open().map_err(|error| error.at_offset(place.offset))?;
        self.open = Some(OpenStripe { columns, left: place.rows });
        Ok(())
    }
}

impl Iterator for OrcRows {
    type Item = Result<(RecordBatch, Range<u64>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let step = self.step().map_err(|error| as_table_error(error).in_file(self.source.path())).transpose();
        self.done = !matches!(step, Some(Ok(_)));
        step
    }
}
