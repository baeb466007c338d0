//! Objects that are damaged: whatever the bytes, reading ends without a fault of ours.

use schedlab_scx::{door, Btf};

use super::scheduler::{compile, Attached};

/// xorshift64.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn read(bytes: &[u8], file: &std::path::Path) {
    let _ = door::variables(bytes);
    let _ = door::relocations(bytes);
    let _ = Btf::parse(bytes);
    std::fs::write(file, bytes).unwrap();
    let _ = door::object(file);
}

#[test]
fn damaged_objects_are_read_or_refused() {
    let source = "OP(enqueue) { scx_bpf_dsq_insert(TASK, SCX_DSQ_GLOBAL, SLICE, 0); return 0; }";
    let whole = compile(source, &Attached::default());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.bpf.o");
    for length in (0..whole.len()).step_by(211) {
        read(&whole[..length], &file);
    }
    let types = whole
        .windows(4)
        .position(|four| four == [0x9f, 0xeb, 1, 0])
        .unwrap();
    let mut state = 1;
    for round in 0..1500 {
        let mut bytes = whole.clone();
        // Every other time in the headers, where numbers point elsewhere.
        let (from, room) = match round % 3 {
            0 => (0, 64),
            1 => (whole.len() - 2048, 2048),
            _ => (types, 4096.min(whole.len() - types)),
        };
        for _ in 0..=next(&mut state) % 4 {
            let at = from + next(&mut state) as usize % room;
            bytes[at] = [0, 0xff, 0x7f, next(&mut state) as u8][next(&mut state) as usize % 4];
        }
        read(&bytes, &file);
        let _ = Btf::parse(&bytes[types..]);
    }
}
