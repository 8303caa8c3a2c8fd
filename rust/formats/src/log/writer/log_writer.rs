//! Writes log files of one file slice, for one task (`HoodieLogFormatWriter`).
//!
//! | rule | from |
//! |---|---|
//! | a file is created exclusively; if its name exists, the next version is tried | Hudi 1.x |
//! | with `append`, the slice's latest file is appended to if the storage can and its end is valid; otherwise the next version is created. On an object store `append` is an error | Hudi 0.x, tables up to version 6 |
//! | when a file exceeds the size limit, the next version is created | all |
//!
//! A file is created with its first block, so a writer that fails before leaves no file. Each append is one write.
//! Written blocks survive a crash of the machine once [`LogWriter::finish`] has returned.
//!
//! On an object store, a file is visible once it is finished: when the next version is created, or by
//! [`LogWriter::finish`]. If that or a write fails, the blocks of the file are lost, and all further calls fail.

use std::borrow::{Borrow, Cow};
use std::sync::Arc;

use super::block_bytes::BlockBytes;
use crate::log::layout::MAGIC;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_storage::{Appendable, FileSink, FileSource, FolderEntry, WritableStorage};

/// Hudi's default size limit of a log file (`HoodieLogFormat.DEFAULT_SIZE_THRESHOLD`).
const DEFAULT_MAX_FILE_BYTES: u64 = 512 * 1024 * 1024;
/// The write token of a writer without a task (`HoodieLogFormat.UNKNOWN_WRITE_TOKEN`).
const UNKNOWN_WRITE_TOKEN: &str = "1-0-1";

/// The files to write, and their size limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogWriterOptions {
    /// The id of the file group.
    pub file_id: String,
    /// The instant in file names: the slice's base instant up to table version 7, the writing delta commit from 8.
    pub instant: RequestedTime,
    /// The first version to try. `None`: the one after the latest version of this file group and instant in the folder;
    /// with `append` the latest one itself.
    pub version: Option<i64>,
    /// The write token `task-stage-attempt`. `None`: that of the file that is appended to, otherwise `1-0-1`.
    pub write_token: Option<String>,
    /// Files with more bytes than this are not appended to.
    pub max_file_bytes: u64,
    /// Whether an existing file may be appended to. Only tables up to version 6 have several instants in a file.
    pub append: bool,
}

impl LogWriterOptions {
    /// Creates options for new files of a slice, with Hudi's defaults.
    #[must_use]
    pub fn new(file_id: &str, instant: &RequestedTime) -> Self {
        Self {
            file_id: file_id.to_owned(),
            instant: instant.clone(),
            version: None,
            write_token: None,
            max_file_bytes: DEFAULT_MAX_FILE_BYTES,
            append: false,
        }
    }
}

/// The location of a written block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenBlock {
    /// The full path or URI of the file.
    pub path: String,
    /// The offset of its magic.
    pub offset: u64,
    /// The number of bytes from the magic to the next block.
    pub len: u64,
}

/// A writer of log blocks.
pub struct LogWriter {
    storage: Arc<dyn WritableStorage>,
    options: LogWriterOptions,
    next: NextFile,
    sink: Option<Box<dyn FileSink>>,
    paths: Vec<String>,
    finished: bool,
    /// A file whose earlier blocks were lost when a write failed.
    lost: Option<String>,
}

/// The file to try when one is needed.
struct NextFile {
    version: i64,
    write_token: String,
    append: bool,
}

impl LogWriter {
    /// Creates a writer to the root folder of `storage`: the partition of the slice. No file is created yet.
    ///
    /// # Errors
    /// `InvalidArgument` for values that no log file name can have; `NotFound` if the folder does not exist;
    /// `Unsupported` for `append` on an object store.
    pub fn new(storage: Arc<dyn WritableStorage>, options: LogWriterOptions) -> Result<Self> {
        if options.max_file_bytes == 0 {
            return Err(Error::invalid_argument("the maximum size of a log file must be at least 1 byte, got 0"));
        }
        if options.append && storage.is_object_store() {
            let message = "an object store cannot append to a file: leave append out, and a new version of the log file is written";
            return Err(Error::unsupported(message).in_file(storage.root()));
        }
        let next = next_of(storage.as_ref(), &options)?;
        LogFileName::compose(&options.file_id, &options.instant, next.version, &next.write_token)?;
        Ok(Self { storage, options, next, sink: None, paths: Vec::new(), finished: false, lost: None })
    }

    /// Appends blocks in one write to one file, and returns their locations.
    ///
    /// # Errors
    /// `Io` if the storage failed: none of the blocks is considered written, and later ones are written to the next
    /// version. On an object store earlier blocks of the file are lost as well, and all further calls fail.
    /// `InvalidArgument` for a writer that is finished.
    pub fn append<B: Borrow<BlockBytes>>(&mut self, blocks: &[B]) -> Result<Vec<WrittenBlock>> {
        if self.finished {
            return Err(Error::invalid_argument("the log writer is closed"));
        }
        self.check_lost()?;
        let bytes = match blocks {
            [] => return Ok(Vec::new()),
            [only] => Cow::Borrowed(only.borrow().bytes()),
            several => several.iter().map(|block| block.borrow().bytes()).collect::<Vec<_>>().concat().into(),
        };
        let mut sink = match self.sink.take() {
            Some(sink) => sink,
            None => self.open()?,
        };
        let mut offset = sink.position();
        // The sink is not used after an error: the end of its file is unknown.
        let written = sink.write(&bytes);
        self.checked(sink.as_ref(), written)?;
        let written = blocks.iter().map(|block| {
            let len = block.borrow().bytes().len() as u64;
            let at = offset;
            offset += len;
            WrittenBlock { path: sink.path().to_owned(), offset: at, len }
        });
        let written = written.collect();
        if sink.position() > self.options.max_file_bytes {
            let synced = sink.sync();
            self.checked(sink.as_ref(), synced)?;
        } else {
            self.sink = Some(sink);
        }
        Ok(written)
    }

    /// Returns the files written so far, in order.
    #[must_use]
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns the instant in file names.
    #[must_use]
    pub fn instant(&self) -> &RequestedTime {
        &self.options.instant
    }

    /// Closes the writer after making all blocks durable. A second call does nothing.
    ///
    /// # Errors
    /// `Io` if the storage failed.
    pub fn finish(&mut self) -> Result<()> {
        self.finished = true;
        self.check_lost()?;
        let Some(mut sink) = self.sink.take() else { return Ok(()) };
        let synced = sink.sync();
        self.checked(sink.as_ref(), synced)
    }

    /// Records that the earlier blocks of a file are lost, if an operation failed and they are.
    fn checked(&mut self, sink: &dyn FileSink, done: Result<()>) -> Result<()> {
        if done.is_err() && !sink.keeps_earlier_writes() && sink.position() > 0 {
            self.lost = Some(sink.path().to_owned());
        }
        done
    }

    fn check_lost(&self) -> Result<()> {
        let Some(path) = &self.lost else { return Ok(()) };
        let message = "the blocks of this log file are lost, as a write to the object store failed; write them again with a new writer";
        Err(Error::new(ErrorKind::Io, message).in_file(path))
    }

    /// Opens the file for the next block: one to append to, or the first free version.
    fn open(&mut self) -> Result<Box<dyn FileSink>> {
        loop {
            let NextFile { version, write_token, append } = &self.next;
            let name = LogFileName::compose(&self.options.file_id, &self.options.instant, *version, write_token)?.name;
            let opened = if *append { self.open_to_append(&name)? } else { None };
            let opened = match opened {
                Some(sink) => Some(sink),
                None => self.storage.create_new(&name)?,
            };
            self.next.version += 1;
            self.next.append = false;
            if let Some(sink) = opened {
                self.paths.push(sink.path().to_owned());
                return Ok(sink);
            }
        }
    }

    /// Opens the existing file if it can be appended to.
    fn open_to_append(&self, name: &str) -> Result<Option<Box<dyn FileSink>>> {
        let Appendable::Opened(sink) = self.storage.append_to(name)? else { return Ok(None) };
        if sink.position() > self.options.max_file_bytes || !ends_soundly(self.storage.open(name)?.as_ref())? {
            return Ok(None);
        }
        Ok(Some(sink))
    }
}

/// Returns the first file to try, depending on the slice's files in the folder.
fn next_of(storage: &dyn WritableStorage, options: &LogWriterOptions) -> Result<NextFile> {
    let entries = match storage.list("")? {
        Some(entries) => entries,
        None if storage.is_object_store() => Vec::new(),
        None => {
            return Err(
                Error::not_found("the directory to write to does not exist; create it first").in_file(storage.root())
            );
        }
    };
    let of_slice = |entry: &FolderEntry| match entry {
        FolderEntry::File(file) => LogFileName::parse(&file.name).filter(|name| {
            name.file_id == options.file_id
                && name.instant == options.instant
                && !name.cdc
                && !name.is_native()
                && options.version.is_none_or(|version| name.version == version)
        }),
        FolderEntry::Folder(_) => None,
    };
    let latest = entries.iter().filter_map(of_slice).max_by(LogFileName::slice_order);
    // A file with another token belongs to another task.
    let ours = |token: &String| options.write_token.as_ref().is_none_or(|own| own == token);
    let (version, token) = match latest {
        Some(latest) => match latest.write_token.filter(|token| options.append && ours(token)) {
            Some(token) => (latest.version, Some(token)),
            None => (latest.version.saturating_add(1), None),
        },
        None => (1, None),
    };
    let append = token.is_some();
    let write_token = options.write_token.clone().or(token).unwrap_or_else(|| UNKNOWN_WRITE_TOKEN.to_owned());
    Ok(NextFile { version: options.version.unwrap_or(version), write_token, append })
}

/// Returns true if a file ends with a complete block, so that another may follow. After other bytes (left by a writer
/// that crashed) a magic could be read as part of them, or up to five stray bytes would make the previous block
/// corrupt.
fn ends_soundly(source: &dyn FileSource) -> Result<bool> {
    let len = source.len();
    if len == 0 {
        return Ok(true);
    }
    let Some(trailing_at) = len.checked_sub(8) else { return Ok(false) };
    let trailing = Cursor::new(&source.read(trailing_at..len)?).i64_be()?;
    let Some(start) = u64::try_from(trailing).ok().and_then(|trailing| trailing_at.checked_sub(trailing)) else {
        return Ok(false);
    };
    let head = source.read(start..len.min(start.saturating_add(14)))?;
    let mut head = Cursor::new(&head);
    let magic = head.take(MAGIC.len()).unwrap_or_default();
    Ok(magic == MAGIC && head.i64_be().is_ok_and(|size| size.checked_add(6) == Some(trailing)))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::rollback_block;
    use super::*;
    use crate::log::{BlockKind, BlockType, LogFile};
    use mortice_storage::{LocalStorage, Storage, StorageOptions};

    struct LogFolder(PathBuf);

    impl LogFolder {
        fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("mortice log writer {count} {}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn storage(&self) -> Arc<LocalStorage> {
            Arc::new(LocalStorage::new(&self.0.to_string_lossy(), true))
        }

        fn writer(&self, change: impl FnOnce(&mut LogWriterOptions)) -> LogWriter {
            let mut options = LogWriterOptions::new("f-0", &"001".into());
            change(&mut options);
            LogWriter::new(self.storage(), options).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<String> = std::fs::read_dir(&self.0)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }

        /// Returns the instants of a file's blocks, `?` for a corrupt one; checks that they are the same backwards.
        fn instants(&self, name: &str) -> String {
            let file = LogFile::open(&self.0.join(name).to_string_lossy(), &StorageOptions::new(), true).unwrap();
            let read = |reverse| {
                file.blocks(reverse).map(|block| {
                    let block = block.unwrap();
                    match block.kind {
                        BlockKind::Sound(BlockType::Command) => block.header.instant_time().unwrap().into_owned(),
                        _ => "?".to_owned(),
                    }
                })
            };
            let forward: Vec<String> = read(false).collect();
            let mut backward: Vec<String> = read(true).collect();
            backward.reverse();
            assert_eq!(backward, forward);
            forward.join(" ")
        }
    }

    impl Drop for LogFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn block(instant: &str) -> BlockBytes {
        rollback_block(&instant.into(), &"000".into()).unwrap()
    }

    #[test]
    fn a_file_comes_with_its_first_block() {
        let folder = LogFolder::new();
        let mut writer = folder.writer(|_| {});
        assert!(writer.append::<BlockBytes>(&[]).unwrap().is_empty());
        assert_eq!(folder.names(), [""; 0]);
        let first = writer.append(&[block("1")]).unwrap();
        let more = writer.append(&[block("2"), block("3")]).unwrap();
        writer.finish().unwrap();
        assert_eq!(folder.names(), [".f-0_001.log.1_1-0-1"]);
        assert_eq!(folder.instants(".f-0_001.log.1_1-0-1"), "1 2 3");
        let len = block("1").bytes().len() as u64;
        assert_eq!((first[0].offset, more[0].offset, more[1].offset, more[1].len), (0, len, 2 * len, len));
        assert_eq!(writer.paths(), [first[0].path.clone()]);
        writer.finish().unwrap();
        assert_eq!(writer.append(&[block("4")]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let folder = LogFolder::new();
        let mut one = folder.writer(|options| options.version = Some(1));
        let mut other = folder.writer(|options| options.version = Some(1));
        one.append(&[block("1")]).unwrap();
        other.append(&[block("2")]).unwrap();
        one.append(&[block("3")]).unwrap();
        assert_eq!(folder.instants(".f-0_001.log.1_1-0-1"), "1 3");
        assert_eq!(folder.instants(".f-0_001.log.2_1-0-1"), "2");
        // The next writer begins after the latest version, for all tokens.
        let mut third = folder.writer(|options| options.write_token = Some("7-8-9".into()));
        third.append(&[block("4")]).unwrap();
        assert_eq!(folder.instants(".f-0_001.log.3_7-8-9"), "4");
    }

    #[test]
    fn a_file_beyond_its_limit_is_followed_by_the_next() {
        let folder = LogFolder::new();
        let len = block("1").bytes().len() as u64;
        let mut writer = folder.writer(|options| options.max_file_bytes = 2 * len);
        for instant in ["1", "2", "3", "4"] {
            writer.append(&[block(instant)]).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(folder.instants(".f-0_001.log.1_1-0-1"), "1 2 3");
        assert_eq!(folder.instants(".f-0_001.log.2_1-0-1"), "4");
        assert_eq!(writer.paths().len(), 2);
    }

    #[test]
    fn appending_goes_on_with_the_latest_file() {
        let folder = LogFolder::new();
        let append = |options: &mut LogWriterOptions| options.append = true;
        folder.writer(|options| options.write_token = Some("0-1-2".into())).append(&[block("1")]).unwrap();
        folder.writer(append).append(&[block("2")]).unwrap();
        assert_eq!(folder.names(), [".f-0_001.log.1_0-1-2"]);
        assert_eq!(folder.instants(".f-0_001.log.1_0-1-2"), "1 2");
        // Another task's file, and one beyond the limit, are not appended to.
        let mut other = folder.writer(|options| {
            append(options);
            options.write_token = Some("5-5-5".into());
        });
        other.append(&[block("3")]).unwrap();
        let mut full = folder.writer(|options| {
            append(options);
            options.max_file_bytes = 10;
        });
        full.append(&[block("4")]).unwrap();
        assert_eq!(folder.names()[1..], [".f-0_001.log.2_5-5-5", ".f-0_001.log.3_5-5-5"]);
        // A writer without `append` never appends.
        folder.writer(|_| {}).append(&[block("5")]).unwrap();
        assert_eq!(folder.instants(".f-0_001.log.4_1-0-1"), "5");
    }

    /// After a tail of a few bytes, another block would make the previous block corrupt.
    #[test]
    fn a_torn_end_is_not_written_on() {
        let whole = block("1").bytes().to_vec();
        for tail in [&b"#HU"[..], b"#HUDI#", &whole[..50], &[0; 20]] {
            let folder = LogFolder::new();
            let name = ".f-0_001.log.1_1-0-1";
            std::fs::write(folder.0.join(name), [&whole[..], tail].concat()).unwrap();
            folder.writer(|options| options.append = true).append(&[block("2")]).unwrap();
            assert_eq!(std::fs::read(folder.0.join(name)).unwrap().len(), whole.len() + tail.len());
            assert_eq!(folder.instants(".f-0_001.log.2_1-0-1"), "2");
        }
        let folder = LogFolder::new();
        std::fs::write(folder.0.join(".f-0_001.log.1_1-0-1"), b"").unwrap();
        folder.writer(|options| options.append = true).append(&[block("2")]).unwrap();
        assert_eq!(folder.instants(".f-0_001.log.1_1-0-1"), "2");
    }

    #[test]
    fn other_slices_and_change_logs_do_not_count() {
        let folder = LogFolder::new();
        for name in
            [".f-0_002.log.7_1-0-1", ".f-1_001.log.7_1-0-1", ".f-0_001.log.7_1-0-1.cdc", ".f-0_001.archive.7_1-0-1"]
        {
            std::fs::write(folder.0.join(name), b"").unwrap();
        }
        folder.writer(|_| {}).append(&[block("1")]).unwrap();
        assert_eq!(folder.instants(".f-0_001.log.1_1-0-1"), "1");
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_anything_is() {
        let folder = LogFolder::new();
        let refused = |change: fn(&mut LogWriterOptions)| {
            let mut options = LogWriterOptions::new("f-0", &"001".into());
            change(&mut options);
            LogWriter::new(folder.storage(), options).err().unwrap().kind()
        };
        assert_eq!(refused(|options| options.file_id = "a/b".into()), ErrorKind::InvalidArgument);
        assert_eq!(refused(|options| options.version = Some(0)), ErrorKind::InvalidArgument);
        assert_eq!(refused(|options| options.write_token = Some("1".into())), ErrorKind::InvalidArgument);
        assert_eq!(refused(|options| options.max_file_bytes = 0), ErrorKind::InvalidArgument);
        assert_eq!(folder.names(), [""; 0]);
        let missing = Arc::new(LocalStorage::new(&folder.0.join("none").to_string_lossy(), true));
        let error = LogWriter::new(missing, LogWriterOptions::new("f-0", &"001".into())).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    /// A storage that cannot append, and fails from some write on.
    struct Store {
        local: Arc<LocalStorage>,
        writes: Arc<AtomicU32>,
    }

    struct FullSink(Box<dyn FileSink>, Arc<AtomicU32>);

    impl FileSink for FullSink {
        fn path(&self) -> &str {
            self.0.path()
        }

        fn position(&self) -> u64 {
            self.0.position()
        }

        fn write(&mut self, bytes: &[u8]) -> Result<()> {
            if self.1.fetch_add(1, Ordering::Relaxed) == 1 {
                self.0.write(&bytes[..20])?;
                return Err(Error::io("full", std::io::Error::other("no space")));
            }
            self.0.write(bytes)
        }

        fn sync(&mut self) -> Result<()> {
            self.0.sync()
        }
    }

    impl Storage for Store {
        fn root(&self) -> &str {
            self.local.root()
        }

        fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
            self.local.list(folder)
        }

        fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
            self.local.open(path)
        }
    }

    impl WritableStorage for Store {
        fn create_new(&self, path: &str) -> Result<Option<Box<dyn FileSink>>> {
            let sink = self.local.create_new(path)?;
            Ok(sink.map(|sink| Box::new(FullSink(sink, Arc::clone(&self.writes))) as Box<dyn FileSink>))
        }

        fn append_to(&self, _: &str) -> Result<Appendable> {
            Ok(Appendable::Unable)
        }
    }

    #[test]
    fn a_store_that_cannot_append_gets_new_files_and_a_torn_write_is_left_behind() {
        let folder = LogFolder::new();
        folder.writer(|_| {}).append(&[block("1")]).unwrap();
        let store = Store { local: folder.storage(), writes: Arc::default() };
        let mut options = LogWriterOptions::new("f-0", &"001".into());
        options.append = true;
        let mut writer = LogWriter::new(Arc::new(store), options).unwrap();
        writer.append(&[block("2")]).unwrap();
        assert_eq!(writer.append(&[block("3")]).unwrap_err().kind(), ErrorKind::Io);
        writer.append(&[block("4")]).unwrap();
        writer.finish().unwrap();
        assert_eq!(folder.instants(".f-0_001.log.1_1-0-1"), "1");
        assert_eq!(folder.instants(".f-0_001.log.2_1-0-1"), "2 ?");
        assert_eq!(folder.instants(".f-0_001.log.3_1-0-1"), "4");
    }
}
