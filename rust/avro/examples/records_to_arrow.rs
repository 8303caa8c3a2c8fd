//! Reads an Avro object container file, such as a completed instant of a Hudi timeline, as an Arrow batch.
//!
//! ```sh
//! cargo run --package mortice-avro --example records_to_arrow -- FILE.avro
//! ```

use mortice_avro::{ArrowMapping, Container};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: records_to_arrow FILE.avro")?;
    let bytes = std::fs::read(&path)?;
    let batch = Container::open(&bytes)?.read(None, ArrowMapping::File).map_err(|error| error.in_file(&path))?;
    println!("{} records", batch.num_rows());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        println!("{}: {} ({} null)", field.name(), field.data_type(), column.null_count());
    }
    Ok(())
}
