//! Writes whole files to HDFS: under a temporary name, followed by a rename, without overwriting if the file must be
//! new.
//!
//! A rename is exclusive in the `NameNode`. A crash leaves at most a temporary file (`.NAME.….tmp`). An empty file is
//! complete when it is created, and needs no temporary file: Hudi would take one beside a marker for a marker. HDFS has
//! no conditional replacement: a writer that needs one takes a lock.
//!
//! Symbolic links, which clusters have switched off by default, lead nowhere: the `NameNode` does not resolve them for
//! a client, but answers with an exception (`UnresolvedPathException`), as it does for paths with `..`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hdfs_native::client::FileStatus as HdfsStatus;
use hdfs_native::file::FileWriter;
use hdfs_native::{Client, HdfsError, WriteOptions};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::file;
use super::handle::{HdfsHandle, InUse};
use super::storage::HdfsStorage;
use crate::Storage;
use crate::put::{FileStore, FileVersion, PutOutcome, RenameOutcome, StoreUpload};
use mortice_base::error::{Error, ErrorKind, Result};

/// The number of attempts to create a file if the outcome is unknown.
const TRIES: u32 = 4;
/// The timeout for removing a temporary file.
const CLEAN_UP: Duration = Duration::from_secs(10);
/// The permissions of folders, before the umask of the cluster.
const FOLDER: u32 = 0o755;

impl FileStore for HdfsStorage {
    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        let (target, full) = (self.path(path), self.full_path(path));
        let mut tries = 1;
        loop {
            let (to, content) = (target.clone(), bytes.clone());
            let put = move |client: Client| async move { create(&client, &to, content).await };
            let error = match self.handle.run(&full, put) {
                Ok(version) => return Ok(PutOutcome::Written(version)),
                Err(error) => error,
            };
            if !matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::Unreachable | ErrorKind::Io) {
                return Err(error);
            }
            // The file may have been created by this writer, if the response was lost.
            match self.get(path) {
                Ok((found, version)) if found == *bytes => return Ok(PutOutcome::Written(version)),
                Ok(_) => return Ok(PutOutcome::Refused),
                Err(gone) if gone.kind() == ErrorKind::NotFound && tries < TRIES => {}
                Err(gone) if gone.kind() == ErrorKind::NotFound => return Err(error),
                Err(unknown) => return Err(unknown),
            }
            std::thread::sleep(Duration::from_millis(100) * 2_u32.pow(tries));
            tries += 1;
        }
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        let (target, full) = (self.path(path), self.full_path(path));
        if expected.is_some() {
            let message = "HDFS cannot replace a file conditionally by version; use a lock";
            return Err(Error::unsupported(message).in_file(full));
        }
        let bytes = bytes.clone();
        let put = move |client: Client| async move { write_and_rename(&client, &target, bytes, true).await };
        self.handle.run(&full, put).map(PutOutcome::Written)
    }

    fn compares_versions(&self) -> bool {
        false
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        let (inside, full) = (self.path(path), self.full_path(path));
        let get = move |client: Client| async move {
            let status = client.get_file_info(&inside).await?;
            if status.isdir {
                return Err(HdfsError::IsADirectoryError(inside));
            }
            let (_, bytes) = file::open(client, inside, u64::MAX).await?;
            Ok((bytes.unwrap_or_default(), version_of(&status)))
        };
        self.handle.run(&full, get)
    }

    fn delete(&self, path: &str) -> Result<()> {
        let inside = self.path(path);
        let delete = move |client: Client| async move { client.delete(&inside, false).await.map(|_| ()) };
        match self.handle.run(&self.full_path(path), delete) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        let folder = self.path(path);
        let create = move |client: Client| async move { client.mkdirs(&folder, FOLDER, true).await };
        self.handle.run(&self.full_path(path), create)
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        let folders = {
            let (inside, full) = (self.path(path), self.full_path(path));
            let list = move |client: Client| async move { empty_folders(&client, inside).await };
            self.handle.run(&full, list)?
        };
        // The deepest ones first. A folder that got a file meanwhile is not deleted, as that would need a recursive
        // deletion.
        for folder in folders.into_iter().rev() {
            let full = folder.clone();
            let delete = move |client: Client| async move { client.delete(&folder, false).await.map(|_| ()) };
            match self.handle.run(&full, delete) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        let (source, target) = (self.path(from), self.path(to));
        let rename = move |client: Client| async move {
            client.get_file_info(&source).await?;
            client.mkdirs(folder_of(&target), FOLDER, true).await?;
            match client.rename(&source, &target, false).await {
                Ok(()) => Ok(RenameOutcome::Done),
                Err(HdfsError::AlreadyExists(_)) => Ok(RenameOutcome::Exists),
                Err(error) => Err(error),
            }
        };
        self.handle.run(&self.full_path(from), rename)
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        let (target, full) = (self.path(path), self.full_path(path));
        let staged = staged_name(&target);
        let begin = {
            let staged = staged.clone();
            move |client: Client| async move {
                let writer = client.create(&staged, WriteOptions::default()).await?;
                Ok(Arc::new(Mutex::new(Some(writer))))
            }
        };
        let writer = self.handle.run(&full, begin)?;
        let handle = Arc::clone(&self.handle);
        let in_use = handle.in_use()?;
        let process = std::process::id();
        Ok(Box::new(HdfsUpload { handle, writer, staged: Some(staged), target, path: full, process, _in_use: in_use }))
    }
}

/// A folder and those below it that hold no file, each after the one that it is in; none if the folder is not there.
async fn empty_folders(client: &Client, root: String) -> hdfs_native::Result<Vec<String>> {
    let mut found = match client.list_status(&root, true).await {
        Ok(found) => found,
        Err(HdfsError::FileNotFound(_)) => return Ok(Vec::new()),
        Err(HdfsError::RPCError(class, _)) if class == "java.io.FileNotFoundException" => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    found.sort_by(|one, other| one.path.cmp(&other.path));
    let files: Vec<&str> = found.iter().filter(|entry| !entry.isdir).map(|entry| entry.path.as_str()).collect();
    let is_empty = |folder: &str| {
        let inside = format!("{}/", folder.trim_end_matches('/'));
        !files.iter().any(|file| file.starts_with(&inside) || *file == folder)
    };
    let below = found.iter().filter(|entry| entry.isdir && entry.path != root).map(|entry| entry.path.clone());
    let folders: Vec<String> = std::iter::once(root.clone()).chain(below).collect();
    Ok(folders.into_iter().filter(|folder| is_empty(folder)).collect())
}

/// Creates a file with its whole content.
async fn create(client: &Client, target: &str, bytes: Bytes) -> hdfs_native::Result<FileVersion> {
    if !bytes.is_empty() {
        return write_and_rename(client, target, bytes, false).await;
    }
    client.create(target, WriteOptions::default()).await?.close().await?;
    Ok(version_of(&client.get_file_info(target).await?))
}

/// Writes a file under a temporary name and renames it. The temporary file is removed if that fails.
async fn write_and_rename(
    client: &Client,
    target: &str,
    bytes: Bytes,
    overwrite: bool,
) -> hdfs_native::Result<FileVersion> {
    let staged = staged_name(target);
    let written = async {
        let mut writer = client.create(&staged, WriteOptions::default()).await?;
        writer.write_bytes(bytes).await?;
        writer.close().await?;
        // A rename keeps the modification time.
        let version = version_of(&client.get_file_info(&staged).await?);
        client.rename(&staged, target, overwrite).await?;
        Ok(version)
    };
    let written = written.await;
    if written.is_err() {
        let _ = tokio::time::timeout(CLEAN_UP, client.delete(&staged, false)).await;
    }
    written
}

/// A large file that is written under a temporary name.
struct HdfsUpload {
    handle: Arc<HdfsHandle>,
    writer: Arc<Mutex<Option<FileWriter>>>,
    /// `None` after the rename.
    staged: Option<String>,
    target: String,
    path: String,
    process: u32,
    _in_use: InUse,
}

impl StoreUpload for HdfsUpload {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        let writer = Arc::clone(&self.writer);
        let write = move |_: Client| async move {
            match writer.lock().await.as_mut() {
                Some(writer) => writer.write_bytes(bytes).await.map(|_| ()),
                None => Err(HdfsError::InternalError("the file is closed".to_owned())),
            }
        };
        self.handle.run(&self.path, write)
    }

    fn finish(mut self: Box<Self>) -> Result<FileVersion> {
        let Some(staged) = self.staged.clone() else {
            return Err(Error::internal("an upload is finished twice").in_file(&self.path));
        };
        let (writer, target) = (Arc::clone(&self.writer), self.target.clone());
        let finish = move |client: Client| async move {
            if let Some(mut writer) = writer.lock().await.take() {
                writer.close().await?;
            }
            let version = version_of(&client.get_file_info(&staged).await?);
            client.rename(&staged, &target, true).await?;
            Ok(version)
        };
        let version = self.handle.run(&self.path, finish)?;
        self.staged = None;
        Ok(version)
    }
}

impl Drop for HdfsUpload {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The file belongs to the parent process.
            std::mem::forget(Arc::clone(&self.writer));
            return;
        }
        let Some(staged) = self.staged.take() else { return };
        let writer = Arc::clone(&self.writer);
        let remove = move |client: Client| async move {
            drop(writer.lock().await.take());
            let _ = tokio::time::timeout(CLEAN_UP, client.delete(&staged, false)).await;
            Ok(())
        };
        if let Ok(pending) = self.handle.start(remove) {
            let _ = pending.wait();
        }
    }
}

/// Returns a unique temporary name in the same folder.
fn staged_name(target: &str) -> String {
    let (folder, name) = target.rsplit_once('/').unwrap_or(("", target));
    format!("{folder}/.{}.{}.tmp", name.trim_start_matches('.'), Uuid::new_v4().simple())
}

fn folder_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}

fn version_of(status: &HdfsStatus) -> FileVersion {
    FileVersion { etag: Some(format!("{:x}-{:x}", status.modification_time, status.length)), version: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_in_the_same_folder_and_differ() {
        let (one, other) = (staged_name("/t/.hoodie/1.commit"), staged_name("/t/.hoodie/1.commit"));
        assert!(one.starts_with("/t/.hoodie/.1.commit.") && one != other, "{one} {other}");
        assert_eq!((folder_of("/a/b"), folder_of("/a")), ("/a", "/"));
    }
}
