//! Reads recordings and prints their content: `read_recording FILE...`.

use std::path::Path;
use std::process::ExitCode;

use schedlab_measure::Measure;
use schedlab_readers::read;
use schedlab_trace::TraceInfo;

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        let (recording, report) = match read(Path::new(&path)) {
            Ok(read) => read,
            Err(mistake) => {
                eprintln!("{mistake}");
                return ExitCode::from(2);
            }
        };
        println!("{path}: {report:#?}");
        let mut measure = Measure::new();
        let mended = recording.play(&TraceInfo::default(), &mut measure);
        let metrics = measure.finish();
        let error = &metrics.accounting_error;
        println!("{mended:?}; {} tasks; {error:?}", metrics.tasks.len());
    }
    ExitCode::SUCCESS
}
