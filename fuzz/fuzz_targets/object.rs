#![no_main]

use schedlab_scx::{door, Btf};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = door::mistake(bytes);
    let _ = door::variables(bytes);
    let _ = door::relocations(bytes);
    let _ = Btf::parse(bytes);
});
