//! Small files that decompress to large ones are refused, in each layer of compression.

use std::io::Write;

use schedlab_readers::{read, read_within};

use crate::common::{example, sample};

/// The error for a file that exceeds this limit.
fn refusal(path: &std::path::Path, most: u64) -> String {
    let refused = read_within(path, Some(most)).map(|_| "read".to_string());
    refused.unwrap_or_else(|mistake| mistake.to_string())
}

#[test]
fn what_the_user_allows_is_the_limit() {
    let path = example("hackbench-4g");
    let said = refusal(&path, 1 << 20);
    let expected = "the recording decompresses to more than 1 MiB; \
                    expected a smaller recording, or a larger --max-decompressed";
    assert!(said.ends_with(expected), "{said}");
    assert_eq!(refusal(&path, 1 << 30), "read");
}

/// Also without a flag: 300 million bytes of comments.
#[test]
fn comments_beyond_the_limit_are_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut packed = zstd::Encoder::new(&file, 1).unwrap();
    let begin = std::fs::read(sample("trace.ftrace")).unwrap();
    packed.write_all(&begin).unwrap();
    let comment = [&[b'#'; (1 << 20) - 1][..], b"\n"].concat();
    for _ in 0..300 {
        packed.write_all(&comment).unwrap();
    }
    packed.finish().unwrap();
    assert!(file.path().metadata().unwrap().len() < 1 << 20);
    let said = read(file.path()).unwrap_err().to_string();
    assert!(said.contains("decompresses to more than 256 MiB"), "{said}");
}

/// Compressed data inside a file counts, too.
#[test]
fn packets_and_records_count() {
    for name in ["deflated.pftrace", "perf-z.data"] {
        let path = sample(name);
        let said = refusal(&path, 100);
        let expected = "the recording decompresses to more than 0 MiB";
        assert!(said.contains(expected), "{name}: {said}");
        assert!(said.contains("--max-decompressed"), "{name}: {said}");
        assert_eq!(refusal(&path, 1 << 20), "read", "{name}");
    }
}
