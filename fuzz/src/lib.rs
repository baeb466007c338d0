//! What every target does with the bytes the fuzzer makes up.

use schedlab_measure::Measure;
use schedlab_readers::{read_from, FileFormat};
use schedlab_trace::TraceInfo;

/// Reads a file of this format, and of no other.  It is refused with one line, or taken; then it
/// plays to a trace that holds together.
pub fn look_at(bytes: &[u8], format: FileFormat) {
    match read_from(bytes, "FILE") {
        Err(mistake) => {
            let text = mistake.to_string();
            assert!(text.starts_with("FILE") && text.lines().count() == 1, "{text}");
        }
        // With that many CPUs playing would mostly set up CPUs.
        Ok((recording, report)) if report.format == format && recording.nr_cpus() <= 256 => {
            let mut measure = Measure::new();
            recording.play(&TraceInfo::default(), &mut measure);
            assert_eq!(measure.finish().accounting_error, None);
        }
        Ok(_) => {}
    }
}
