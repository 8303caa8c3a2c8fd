//! The bootstrap index: `show_bootstrap_partitions`, `show_bootstrap_mapping`.

use super::call::Call;
use super::paths::name_of;
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, Result};
use mortice_table::bootstrap::BootstrapIndex;
use mortice_table::file_group::partitions as listed_partitions;

/// The properties that name the folder of the source.
const SOURCE: [&str; 1] = ["hoodie.bootstrap.base.path"];

/// A file group, and its source file.
struct Mapping {
    partition: String,
    file_id: String,
    base: String,
    source_partition: String,
    file: String,
}

impl Mapping {
    /// The column by which rows are sorted.
    fn column(&self, name: &str) -> Result<&str> {
        Ok(match name {
            "partition" => &self.partition,
            "file_id" => &self.file_id,
            "source_base_path" => &self.base,
            "source_partition" => &self.source_partition,
            "source_file" => &self.file,
            _ => return Err(Error::invalid_argument(format!("sort_by must be a column of the result, got {name:?}"))),
        })
    }
}

/// The mappings of all partitions, by partition and file group.
fn mappings(call: &Call<'_>) -> Result<Vec<Mapping>> {
    let Some(base) = call.table.config.properties.first_of(&SOURCE) else {
        return Err(Error::invalid_argument("the table has no bootstrap index: it was not bootstrapped"));
    };
    let index = BootstrapIndex::open(call.table.storage.as_ref(), &call.table.config)?;
    let mut found = Vec::new();
    for partition in listed_partitions(call.table.storage.as_ref())? {
        for (file_id, file) in index.files_of(&partition)? {
            let folder = file.path.strip_suffix(name_of(&file.path)).unwrap_or_default().trim_end_matches('/');
            let plain = |path: &str| path.strip_prefix("file:").unwrap_or(path).trim_start_matches("//").to_owned();
            let (folder, root) = (plain(folder), plain(base));
            let below = folder.strip_prefix(root.trim_end_matches('/')).unwrap_or_default();
            found.push(Mapping {
                partition: partition.clone(),
                file_id,
                base: base.to_owned(),
                source_partition: below.trim_start_matches('/').to_owned(),
                file: file.path,
            });
        }
    }
    found.sort_by(|one, other| (&one.partition, &one.file_id).cmp(&(&other.partition, &other.file_id)));
    Ok(found)
}

/// `show_bootstrap_partitions`.
pub(super) fn partitions(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let mut names: Vec<String> = mappings(call)?.into_iter().map(|one| one.partition).collect();
    names.dedup();
    Ok(names.into_iter().map(|name| row![name]).collect())
}

/// `show_bootstrap_mapping`.
pub(super) fn mapping(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (partition, file_ids) = (call.arguments.text("partition_path"), call.arguments.list("file_ids"));
    if partition.is_none() && !file_ids.is_empty() {
        return Err(Error::invalid_argument("file_ids need the argument partition_path"));
    }
    let mut found = mappings(call)?;
    found.retain(|one| partition.as_ref().is_none_or(|partition| one.partition == *partition));
    found.retain(|one| file_ids.is_empty() || file_ids.contains(&one.file_id));
    let column = call.arguments.text("sort_by").unwrap_or_else(|| "partition".to_owned());
    let mut keyed = found
        .into_iter()
        .map(|one| one.column(&column).map(str::to_owned).map(|key| (key, one)))
        .collect::<Result<Vec<_>>>()?;
    keyed.sort_by(|(one, _), (other, _)| one.cmp(other));
    if call.arguments.boolean("desc") {
        keyed.reverse();
    }
    let row_of = |one: Mapping| row![one.partition, one.file_id, one.base, one.source_partition, one.file];
    Ok(keyed.into_iter().take(call.arguments.limit()).map(|(_, one)| row_of(one)).collect())
}
