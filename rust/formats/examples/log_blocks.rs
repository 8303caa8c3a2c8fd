//! Lists the blocks of a log file, damaged ones included.
//!
//! ```sh
//! cargo run --package mortice-formats --example log_blocks -- FILE.log
//! ```

use std::path::Path;

use mortice_formats::log::ForwardScan;
use mortice_storage::LocalStorage;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: log_blocks FILE.log")?;
    let file = LocalStorage::open_file(Path::new(&path), true)?;
    for block in ForwardScan::new(file) {
        let block = block?;
        let damage = block.damage().map(|damage| format!(": {}", damage.reason)).unwrap_or_default();
        println!("{:>10} {:>10} {}{damage}", block.offset, block.end - block.offset, block.type_name());
    }
    Ok(())
}
