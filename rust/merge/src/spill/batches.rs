//! Record batches in a file, as an Arrow IPC stream. Buffers that are read are in the mapped file, unless compressed.

use std::fs::File;
use std::io::BufWriter;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Schema};

use super::folder::SpillFolder;
use super::row_bytes::row_bytes;
use mortice_base::error::{Error, Result};

/// Writes batches of one schema.
pub struct BatchWriter {
    folder: SpillFolder,
    writer: StreamWriter<BufWriter<File>>,
}

impl BatchWriter {
    /// A new file; with `compressed`, LZ4 inside.
    ///
    /// # Errors
    /// `Io` where the folder cannot be written to.
    pub fn new(folder: &SpillFolder, schema: &Schema, compressed: bool) -> Result<Self> {
        let file = BufWriter::new(folder.file()?);
        let options = IpcWriteOptions::default()
            .try_with_compression(compressed.then_some(CompressionType::LZ4_FRAME))
            .map_err(|error| failed(folder, error))?;
        let writer =
            StreamWriter::try_new_with_options(file, schema, options).map_err(|error| failed(folder, error))?;
        Ok(Self { folder: folder.clone(), writer })
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// `Io` where the folder is full.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|error| failed(&self.folder, error))
    }

    /// The batches that were written.
    ///
    /// # Errors
    /// `Io` where the folder is full, or the file cannot be mapped.
    pub fn finish(self) -> Result<BatchReader> {
        let folder = self.folder;
        let file = self.writer.into_inner().map_err(|error| failed(&folder, error))?;
        let file = file.into_inner().map_err(|error| folder.failed(error.into_error()))?;
        let bytes = Buffer::from(folder.mapped(&file)?);
        Ok(BatchReader { folder, bytes, decoder: StreamDecoder::new() })
    }
}

/// Reads batches, in the order in which they were written.
pub struct BatchReader {
    folder: SpillFolder,
    bytes: Buffer,
    decoder: StreamDecoder,
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.decoder.decode(&mut self.bytes).map_err(|error| failed(&self.folder, error)).transpose();
        if let Some(Ok(batch)) = &batch {
            self.folder.pages.touch(row_bytes(batch));
        }
        batch
    }
}

fn failed(folder: &SpillFolder, error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => folder.failed(error),
        other => Error::internal("record batches that were spilled").caused_by(other),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    #[test]
    fn batches_come_back_in_their_order() {
        let batch = |from: i64| {
            let numbers: ArrayRef = Arc::new((from..from + 1000).collect::<Int64Array>());
            let strings: ArrayRef =
                Arc::new((from..from + 1000).map(|at| (at % 3 > 0).then(|| at.to_string())).collect::<StringArray>());
            RecordBatch::try_from_iter([("number", numbers), ("text", strings)]).unwrap()
        };
        for compressed in [false, true] {
            let mut writer = BatchWriter::new(&SpillFolder::new(None), batch(0).schema().as_ref(), compressed).unwrap();
            (0..3).for_each(|at| writer.write(&batch(at)).unwrap());
            let read: Vec<_> = writer.finish().unwrap().map(Result::unwrap).collect();
            assert_eq!(read, (0..3).map(batch).collect::<Vec<_>>());
        }
    }

    #[test]
    fn without_batches_there_is_none() {
        let writer = BatchWriter::new(&SpillFolder::new(None), &Schema::empty(), true).unwrap();
        assert_eq!(writer.finish().unwrap().count(), 0);
    }
}
