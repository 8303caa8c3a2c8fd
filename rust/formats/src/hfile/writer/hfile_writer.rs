//! The entry point: an HFile that cells are added to. Its bytes are taken as they are complete, or all at the end.

use super::block::{DATA, FILE_INFO, META, ROOT_INDEX, append_block};
use super::data_block::{append_cell, cell_len, stored_key};
use super::protobuf_fields::{append_bytes, append_number, append_varint};
use mortice_base::error::{Error, Result};
use mortice_base::gzip::GzipCompressor;

/// Bytes of a data block before it is compressed; a larger cell has a block of its own.
const BLOCK: usize = 64 * 1024;
const TRAILER: usize = 4096;
const TRAILER_MAGIC: &[u8; 8] = b"TRABLK\"$";
const MAJOR_VERSION: u32 = 3;
const GZ: u64 = 1;
const COMPARATOR: &str = "org.apache.hudi.io.storage.HoodieHBaseKVComparator";

/// Where the first data block is in a file without any: -1.
const NO_BLOCK: u64 = u64::MAX;

/// Writes an HFile: cells in the order of their keys, each key once.
pub struct HFileWriter {
    /// Bytes that are complete and were not taken.
    bytes: Vec<u8>,
    /// Bytes that were taken before them.
    taken: u64,
    compressor: GzipCompressor,
    block: Vec<u8>,
    first_key: Vec<u8>,
    last_key: Option<Vec<u8>>,
    last_block: Option<u64>,
    index: Vec<u8>,
    blocks: u64,
    cells: u64,
    key_bytes: u64,
    value_bytes: u64,
    data_bytes: u64,
    info: Vec<(String, Vec<u8>)>,
    meta_blocks: Vec<(String, Vec<u8>)>,
}

impl HFileWriter {
    /// An empty file. `schema` is the Avro schema of the values, as JSON; `created_ms` the time of creation.
    #[must_use]
    pub fn new(schema: &str, created_ms: i64) -> Self {
        let info =
            [("schema", schema.as_bytes().to_vec()), ("hfile.CREATE_TIME_TS", created_ms.to_be_bytes().to_vec())];
        Self {
            bytes: Vec::new(),
            taken: 0,
            compressor: GzipCompressor::new(),
            block: Vec::new(),
            first_key: Vec::new(),
            last_key: None,
            last_block: None,
            index: Vec::new(),
            blocks: 0,
            cells: 0,
            key_bytes: 0,
            value_bytes: 0,
            data_bytes: 0,
            info: info.map(|(key, value)| (key.to_owned(), value)).into(),
            meta_blocks: Vec::new(),
        }
    }

    /// Adds an entry to the file info.
    pub fn add_info(&mut self, key: &str, value: &[u8]) {
        self.info.push((key.to_owned(), value.to_vec()));
    }

    /// Adds a meta block, such as `bloomFilter`.
    pub fn add_meta_block(&mut self, name: &str, content: &[u8]) {
        self.meta_blocks.push((name.to_owned(), content.to_vec()));
    }

    /// Adds a cell.
    ///
    /// # Errors
    /// `Internal` for a key that does not follow the one before, by unsigned bytes; `InvalidArgument` for a key of more
    /// than 32,767 bytes or a file of 2 GiB, which a log block cannot hold.
    pub fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.last_key.as_deref().is_some_and(|last| last >= key) {
            return Err(Error::internal(format!(
                "the key {:?} of an HFile is out of order",
                key.escape_ascii().to_string()
            )));
        }
        if !self.block.is_empty() && self.block.len().saturating_add(cell_len(key, value)) > BLOCK {
            self.end_block()?;
        }
        if self.block.is_empty() {
            key.clone_into(&mut self.first_key);
        }
        append_cell(&mut self.block, key, value)?;
        let last = self.last_key.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        self.cells += 1;
        self.key_bytes = self.key_bytes.saturating_add(key.len() as u64);
        self.value_bytes = self.value_bytes.saturating_add(value.len() as u64);
        Ok(())
    }

    /// Takes the bytes that are complete: those of the data blocks that were ended since the last call. They come
    /// before the bytes that [`Self::finish`] returns.
    pub fn take_complete(&mut self) -> Vec<u8> {
        self.taken = self.position();
        std::mem::take(&mut self.bytes)
    }

    /// Ends the file and returns its bytes that were not taken.
    ///
    /// # Errors
    /// `InvalidArgument` as for [`Self::append`].
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.end_block()?;
        // Of a file without cells Hudi stores empty bytes instead of a key.
        let last_key = self.last_key.take().map_or(Ok(Vec::new()), |key| stored_key(&key))?;
        let mut meta_index = Vec::new();
        let mut meta_blocks = std::mem::take(&mut self.meta_blocks);
        meta_blocks.sort();
        for (name, content) in &meta_blocks {
            let offset = self.position();
            let length = append_block(&mut self.bytes, &mut self.compressor, META, content, None)?;
            append_index_entry(&mut meta_index, offset, length, name.as_bytes())?;
        }
        let load_on_open = self.position();
        append_block(&mut self.bytes, &mut self.compressor, ROOT_INDEX, &self.index, None)?;
        append_block(&mut self.bytes, &mut self.compressor, ROOT_INDEX, &meta_index, None)?;
        let file_info = self.position();
        let info = self.file_info(&last_key);
        append_block(&mut self.bytes, &mut self.compressor, FILE_INFO, &info, None)?;
        let trailer = self.trailer(file_info, load_on_open, meta_blocks.len() as u64);
        self.bytes.extend(trailer?);
        Ok(self.bytes)
    }

    /// Where in the file the next byte is.
    fn position(&self) -> u64 {
        self.taken.saturating_add(self.bytes.len() as u64)
    }

    fn end_block(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let offset = self.position();
        let length = append_block(&mut self.bytes, &mut self.compressor, DATA, &self.block, self.last_block)?;
        append_index_entry(&mut self.index, offset, length, &stored_key(&self.first_key)?)?;
        self.last_block = Some(offset);
        self.blocks += 1;
        self.data_bytes = self.data_bytes.saturating_add(self.block.len() as u64);
        self.block.clear();
        Ok(())
    }

    /// `last_key` in its stored form.
    fn file_info(&mut self, last_key: &[u8]) -> Vec<u8> {
        let average = |sum: u64| {
            let average = u32::try_from(sum.checked_div(self.cells).unwrap_or_default()).unwrap_or(u32::MAX);
            average.to_be_bytes().to_vec()
        };
        let mut entries = std::mem::take(&mut self.info);
        entries.extend([
            ("hfile.LASTKEY".to_owned(), last_key.to_vec()),
            ("hfile.AVG_KEY_LEN".to_owned(), average(self.key_bytes)),
            ("hfile.AVG_VALUE_LEN".to_owned(), average(self.value_bytes)),
            ("KEY_VALUE_VERSION".to_owned(), 1_i32.to_be_bytes().to_vec()),
            ("MAX_MEMSTORE_TS_KEY".to_owned(), 0_i64.to_be_bytes().to_vec()),
        ]);
        let mut message = Vec::new();
        for (key, value) in &entries {
            let mut entry = Vec::new();
            append_bytes(1, key.as_bytes(), &mut entry);
            append_bytes(2, value, &mut entry);
            append_bytes(1, &entry, &mut message);
        }
        let mut payload = b"PBUF".to_vec();
        append_varint(message.len() as u64, &mut payload);
        payload.extend(message);
        payload
    }

    fn trailer(&self, file_info: u64, load_on_open: u64, meta_blocks: u64) -> Result<Vec<u8>> {
        let mut message = Vec::new();
        // By field: 1 file info offset, 2 load-on-open offset, 3 bytes of data before compression (as Hudi has it), 5
        // and 6 index entries, 7 cells, 8 index levels, 9 and 10 first and last data block.
        let first_block = if self.blocks == 0 { NO_BLOCK } else { 0 };
        let numbers = [
            (1, file_info),
            (2, load_on_open),
            (3, self.data_bytes),
            (5, self.blocks),
            (6, meta_blocks),
            (7, self.cells),
            (8, 1),
            (9, first_block),
            (10, self.last_block.unwrap_or_default()),
        ];
        numbers.iter().for_each(|(field, number)| append_number(*field, *number, &mut message));
        append_bytes(11, COMPARATOR.as_bytes(), &mut message);
        append_number(12, GZ, &mut message);
        let mut trailer = TRAILER_MAGIC.to_vec();
        append_varint(message.len() as u64, &mut trailer);
        trailer.extend(message);
        if trailer.len() > TRAILER - 4 {
            return Err(Error::internal("an HFile trailer of more than 4096 bytes"));
        }
        trailer.resize(TRAILER - 4, 0);
        trailer.extend(MAJOR_VERSION.to_be_bytes());
        Ok(trailer)
    }
}

/// Appends an entry of a root index: where a block is, and its key behind its length as Hadoop's `WritableUtils` writes
/// it.
fn append_index_entry(index: &mut Vec<u8>, offset: u64, length: usize, key: &[u8]) -> Result<()> {
    let too_large = || Error::invalid_argument("an HFile of 2 GiB or more");
    let offset = i64::try_from(offset).map_err(|_| too_large())?;
    let length = i32::try_from(length).map_err(|_| too_large())?;
    index.extend(offset.to_be_bytes());
    index.extend(length.to_be_bytes());
    append_hadoop_length(key.len(), index);
    index.extend_from_slice(key);
    Ok(())
}

/// One byte up to 127; else minus 112 minus the number of bytes, and these, the highest first.
fn append_hadoop_length(len: usize, out: &mut Vec<u8>) {
    if let Ok(small @ 0..=127) = u8::try_from(len) {
        out.push(small);
        return;
    }
    let bytes = (len as u64).to_be_bytes();
    let significant = bytes.iter().skip_while(|byte| **byte == 0);
    let count = i8::try_from(significant.clone().count()).unwrap_or(8);
    out.extend((-112_i8).wrapping_sub(count).to_be_bytes());
    out.extend(significant);
}
