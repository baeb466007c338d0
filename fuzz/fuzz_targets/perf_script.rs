#![no_main]

use schedlab_readers::FileFormat;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| schedlab_fuzz::look_at(bytes, FileFormat::PerfScript));
