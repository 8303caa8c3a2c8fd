//! Names in folders that are open, so that changes never follow a symbolic link out of the table.
//!
//! Each folder below the root is opened relative to the one that it is in, without following links; what is created,
//! replaced, renamed or removed is then named relative to the last one. A folder that is exchanged for a link
//! meanwhile changes nothing. The root itself is the user's: it may be a link, or be behind one. Reading follows links,
//! as Hadoop does.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use mortice_base::error::{Error, Result};

/// How a folder is opened that files are named in. It is synced, so it is readable.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What is done if a folder does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingFolder {
    /// It is created.
    Create,
    /// There is no name in it.
    Absent,
}

/// A name in an open folder. There may be a file of that name.
pub(crate) struct AnchoredName {
    folder: File,
    name: String,
    path: PathBuf,
}

impl AnchoredName {
    /// Opens the folder of `path`, which is relative to `root`. Returns `None` if the folder does not exist and is not
    /// created.
    pub(crate) fn open(root: &Path, path: &str, missing: MissingFolder) -> Result<Option<Self>> {
        let mut parts = parts_of(root, path)?;
        let Some(name) = parts.pop() else {
            return Err(Error::internal("the root of a storage in place of a file").in_file(root.to_string_lossy()));
        };
        let name = name.to_owned();
        let Some((folder, mut path)) = open_folder(root, &parts, missing)? else { return Ok(None) };
        path.push(&name);
        Ok(Some(Self { folder, name, path }))
    }

    /// Opens the folder of `path` and creates it if needed.
    pub(crate) fn create(root: &Path, path: &str) -> Result<Self> {
        let opened = Self::open(root, path, MissingFolder::Create)?;
        opened.ok_or_else(|| Error::internal("a folder that was created is missing").in_file(path))
    }

    /// The full path, for messages and for reading.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Creates the file; `AlreadyExists` if there is one, or a link.
    pub(crate) fn create_new(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // Restricted by the umask: processes of other users may read the table.
        let open = || rustix::fs::openat(&self.folder, name, flags, Mode::from_raw_mode(0o666));
        Ok(File::from(retry_on_intr(open)?))
    }

    /// Opens the file to append to it.
    pub(crate) fn append(&self) -> Result<Option<File>> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match retry_on_intr(|| rustix::fs::openat(&self.folder, self.name.as_str(), flags, Mode::empty())) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::MLINK) => Err(link_error(&self.path)),
            Err(error) => {
                Err(Error::io("could not open the file to append", error.into()).in_file(self.path.to_string_lossy()))
            }
        }
    }

    /// Removes a file, or a link and not what it stands for.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, name, AtFlags::empty())?)
    }

    /// Gives the file `name` of this folder a second name; `AlreadyExists` if that exists.
    pub(crate) fn link(&self, name: &str, to: &Self) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.folder, name, &to.folder, to.name.as_str(), AtFlags::empty())?)
    }

    /// Renames the file `name` of this folder to this name, and replaces the file or link that has it.
    pub(crate) fn replace_by(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.folder, name, &self.folder, self.name.as_str())?)
    }

    /// Returns what has this name, without following a link; `None` if nothing has.
    pub(crate) fn file_type(&self) -> io::Result<Option<FileType>> {
        match rustix::fs::statat(&self.folder, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => Ok(Some(FileType::from_raw_mode(status.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a folder of this name, unless there is one.
    pub(crate) fn create_folder(&self) -> Result<()> {
        open_child(&self.folder, &self.name, &self.path, MissingFolder::Create, FOLDER).map(|_| ())
    }

    /// Removes a folder of this name after those in it, as far as they are empty. Links are files here: they stay.
    pub(crate) fn remove_empty_folders(&self) -> io::Result<()> {
        Ok(remove_empty(&self.folder, &self.name)?)
    }

    /// Makes names of this folder durable.
    pub(crate) fn sync_folder(&self) -> Result<()> {
        let folder = || self.path.parent().unwrap_or(Path::new(".")).to_string_lossy().into_owned();
        self.folder.sync_all().map_err(|error| Error::io("could not make the folder durable", error).in_file(folder()))
    }

    /// Returns the names in the folder; those that are not UTF-8 are left out.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let entries =
            Dir::read_from(&self.folder)?.map(|entry| Ok(entry?.file_name().to_str().ok().map(str::to_owned)));
        let names: Vec<Option<String>> = entries.collect::<Result<_, Errno>>()?;
        Ok(names.into_iter().flatten().collect())
    }

    /// The open folder, to lock it.
    pub(crate) fn folder(&self) -> &File {
        &self.folder
    }
}

/// Returns the names of which a path consists.
fn parts_of<'p>(root: &Path, path: &'p str) -> Result<Vec<&'p str>> {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if path.starts_with('/') || parts.contains(&"..") {
        let message = format!("the path {path:?} leads out of the table: nothing is changed by it");
        return Err(Error::invalid_table(message).in_file(root.to_string_lossy()));
    }
    Ok(parts)
}

/// Opens a folder below the root.
fn open_folder(root: &Path, parts: &[&str], missing: MissingFolder) -> Result<Option<(File, PathBuf)>> {
    let failed = |what: &str, error: io::Error| Error::io(what, error).in_file(root.to_string_lossy());
    let start = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    if missing == MissingFolder::Create {
        std::fs::create_dir_all(start).map_err(|error| failed("could not create the folder", error))?;
    }
    let flags = flags_of(parts.is_empty());
    let mut folder = match retry_on_intr(|| rustix::fs::openat(CWD, start, flags, Mode::empty())) {
        Ok(folder) => File::from(folder),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(failed("could not open the folder", error.into())),
    };
    let mut path = root.to_owned();
    for (at, part) in parts.iter().enumerate() {
        path.push(part);
        let Some(child) = open_child(&folder, part, &path, missing, flags_of(at + 1 == parts.len()))? else {
            return Ok(None);
        };
        folder = child;
    }
    Ok(Some((folder, path)))
}

/// A folder that is only passed on the way to another one need not be readable.
fn flags_of(is_last: bool) -> OFlags {
    #[cfg(target_os = "linux")]
    if !is_last {
        return OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    }
    let _ = is_last;
    FOLDER
}

/// Opens the folder `name` in another one, without following a link.
fn open_child(folder: &File, name: &str, path: &Path, missing: MissingFolder, flags: OFlags) -> Result<Option<File>> {
    let failed = |what: &str, error: Errno| Err(Error::io(what, error.into()).in_file(path.to_string_lossy()));
    let open = || retry_on_intr(|| rustix::fs::openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty()));
    let mut opened = open();
    if opened.as_ref().err() == Some(&Errno::NOENT) && missing == MissingFolder::Create {
        match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => opened = open(),
            Err(error) => return failed("could not create the folder", error),
        }
    }
    match opened {
        Ok(child) => Ok(Some(File::from(child))),
        Err(Errno::NOENT) if missing == MissingFolder::Absent => Ok(None),
        // Which of them is returned for a link depends on the system.
        Err(error @ (Errno::LOOP | Errno::NOTDIR | Errno::MLINK)) => {
            let status = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            match status.map(|status| FileType::from_raw_mode(status.st_mode)) {
                Ok(FileType::Symlink) => Err(link_error(path)),
                _ if missing == MissingFolder::Absent => Ok(None),
                _ => failed("could not open the folder", error),
            }
        }
        Err(error) => failed("could not open the folder", error),
    }
}

/// The error of a change through a symbolic link.
fn link_error(link: &Path) -> Error {
    let target = std::fs::read_link(link).map(|target| format!(" to {}", target.display())).unwrap_or_default();
    let message = format!(
        "a symbolic link leads out of the table{target}: files are read through links and not changed through them; \
         put the files themselves in its place, or mount the other file system there"
    );
    Error::invalid_table(message).in_file(link.to_string_lossy())
}

fn remove_empty(parent: &File, name: &str) -> rustix::io::Result<()> {
    let folder = match rustix::fs::openat(parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(folder) => File::from(folder),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::MLINK) => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut below = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        // Some file systems do not report the type.
        if matches!(entry.file_type(), FileType::Directory | FileType::Unknown)
            && let Ok(name) = entry.file_name().to_str()
            && !matches!(name, "." | "..")
        {
            below.push(name.to_owned());
        }
    }
    below.iter().try_for_each(|name| remove_empty(&folder, name))?;
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Err(error) if !matches!(error, Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Err(error),
        _ => Ok(()),
    }
}
