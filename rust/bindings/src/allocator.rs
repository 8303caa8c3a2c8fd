//! Memory of the core comes from mimalloc, and not from the C library, which gives batches' memory back to the system and
//! asks for it again, batch after batch, in every thread but the main one: two threads that read one slice took as long as one.
//! Python's own memory, and pyarrow's, are not touched. Threads' variables are found at run time (`local_dynamic_tls`), for the
//! module is loaded late.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
