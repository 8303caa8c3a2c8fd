#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mortice_fuzz::check("native", data));
