//! Reads a table with hudi-rs of crates.io, and writes its rows as an Arrow file: `read-by-hudi-rs TABLE FILE`.

use std::error::Error;
use std::fs::File;

use arrow_ipc::writer::FileWriter;
use arrow_select::concat::concat_batches;
use hudi::table::{ReadOptions, Table};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [table, file] = arguments.as_slice() else {
        return Err("the arguments are a table and a file".into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let batches = runtime.block_on(async { Table::new(table).await?.read(&ReadOptions::new()).await })?;
    let Some(first) = batches.first() else {
        return Err("no rows".into());
    };
    let rows = concat_batches(&first.schema(), &batches)?;
    let mut writer = FileWriter::try_new(File::create(file)?, &rows.schema())?;
    writer.write(&rows)?;
    writer.finish()?;
    Ok(())
}
