#![no_main]

use schedlab_readers::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| schedlab_fuzz::look_at(bytes, Format::Ftrace));
