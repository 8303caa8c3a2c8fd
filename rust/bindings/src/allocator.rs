//! The core allocates with mimalloc instead of the C library, which returns the memory of batches to the operating
//! system and requests it again, batch after batch, in all threads except the main one: two threads that read one slice
//! took as long as one. The memory of Python and pyarrow is not affected. Thread-local variables are resolved at run
//! time (`local_dynamic_tls`), because the module is loaded late.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
