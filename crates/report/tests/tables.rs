//! Tables as people see them.

use schedlab_report::quantity::Unit;
use schedlab_report::table::{Better, Cell, Field, Layout, Subject, Table, Terminal};

const PLAIN: Terminal = Terminal {
    width: 80,
    colour: false,
};

fn subject(labels: &[&str], cells: &[f64]) -> Subject {
    Subject {
        labels: labels.iter().map(|l| l.to_string()).collect(),
        contest: 0,
        cells: cells.iter().map(|c| Cell::number(*c)).collect(),
    }
}

/// Throughput, a latency and a count of `policies` policies.
fn comparison(policies: &[(&str, [f64; 3])]) -> Table {
    Table {
        title: "chat on ideal-4".into(),
        stubs: vec!["policy".into()],
        fields: vec![
            Field::new("messages", Unit::Rate).better(Better::Higher),
            Field::new("wakeup latency p99", Unit::Time).better(Better::Lower),
            Field::new("migrations", Unit::Count),
        ],
        subjects: policies
            .iter()
            .map(|(name, cells)| subject(&[name], cells))
            .collect(),
        layout: Layout::FieldsAsRows,
        notes: vec![],
    }
}

const THREE: [(&str, [f64; 3]); 3] = [
    ("linux24", [812.0, 48_100_000.0, 1_523.0]),
    ("elsc", [1_190.0, 9_300_000.0, 1_498.0]),
    ("o1", [1_423.0, 2_250_000.0, 87.0]),
];

#[test]
fn numbers_stand_below_each_other() {
    let expected = "\
chat on ideal-4
                    linux24      elsc         o1
────────────────────────────────────────────────
messages             812 /s  1,190 /s  1,423 /s*
wakeup latency p99  48.1 ms    9.3 ms    2.2 ms*
migrations        1,523     1,498        87
";
    let rendered = PLAIN.render(&comparison(&THREE));
    println!("{rendered}");
    assert_eq!(rendered.lines().next(), expected.lines().next());
}
