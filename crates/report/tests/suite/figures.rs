//! Figures as files: well-formed, complete, safe for any input.

use roxmltree::Document;
use schedlab_report::quantity::Unit;
use schedlab_report::svg::{
    AreaStack, Axis, Bar, BarGroup, Bars, Figure, HeatMap, Highlight, Marker, Plot, Segment,
    Series, Span, StackRow, StackedBars, Style, Timeline,
};

const EVIL: &str = "<b>&\"'\u{0}\u{1b} and a name that is longer than any figure has room for";

/// Parses a figure's file and checks what holds for all of them.
fn check(figure: &Figure) -> String {
    let text = figure.standalone();
    let document = Document::parse(&text).unwrap_or_else(|e| panic!("{e}:\n{text}"));
    let root = document.root_element();
    assert_eq!(
        root.tag_name().namespace(),
        Some("http://www.w3.org/2000/svg")
    );
    for node in document.descendants() {
        for attribute in node.attributes() {
            let value = attribute.value();
            assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
            if attribute.name() == "width" || attribute.name() == "height" {
                assert!(value.parse::<f64>().unwrap() >= 0.0, "{value}");
            }
        }
    }
    let outside = ["href", "url(", "@import", "<image"];
    assert!(outside.iter().all(|o| !text.contains(o)));
    text
}

fn series(points: Vec<(f64, f64)>) -> Series {
    Series {
        name: EVIL.into(),
        style: Style::Series(0),
        points,
    }
}

#[test]
fn plots_survive_any_points() {
    for points in [
        vec![],
        vec![(0.0, 0.0)],
        vec![(1.0, 5.0), (1.0, 5.0)],
        vec![(1e-9, 1.0), (1e18, 0.0)],
    ] {
        for axis in [Axis::linear, Axis::log] {
            let x = axis(EVIL, Unit::Time, 0.0, 0.0);
            let mut plot = Plot::new(EVIL, x, axis(EVIL, Unit::Share, 1.0, 1.0));
            plot.lines(&[series(points.clone())]);
            plot.steps(&[series(points.clone())]);
            plot.band(Style::Series(3), &[(0.0, 0.0, 1.0), (1.0, 0.0, 2.0)]);
            plot.name_ends(&[series(points.clone())]);
            plot.reference(0.5, EVIL);
            plot.markers(&[Marker {
                at: (1.0, 1.0),
                style: Style::Series(1),
                tip: EVIL.into(),
            }]);
            check(&plot.finish());
        }
    }
}

#[test]
fn a_step_holds_its_value_until_the_next_point() {
    // 100 by 100 pixels of plot would be simplest; the margins are the module's own, so the
    // positions are asked of the scales.
    let mut plot = Plot::new(
        "steps",
        Axis::linear("x", Unit::Count, 0.0, 10.0),
        Axis::linear("y", Unit::Count, 0.0, 1.0),
    );
    let at = |x: f64, y: f64| (plot.x.at(x), plot.y.at(y));
    let ((x0, y0), (x5, y1)) = (at(0.0, 0.0), at(5.0, 1.0));
    plot.steps(&[series(vec![(0.0, 0.0), (5.0, 1.0)])]);
    let text = check(&plot.finish());
    let short = |v: f64| {
        format!("{v:.2}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_string()
    };
    let path = format!("M{} {}H{}V{}", short(x0), short(y0), short(x5), short(y1));
    assert!(text.contains(&path), "{path}");
}

#[test]
fn bars_show_their_intervals() {
    let bar = |value, interval| Bar {
        name: EVIL.into(),
        style: Style::Series(9),
        value,
        interval,
    };
    let bars = |bars| Bars {
        title: EVIL.into(),
        unit: Unit::Time,
        width: 400.0,
        groups: vec![BarGroup {
            name: EVIL.into(),
            bars,
        }],
    };
    let without = check(&bars(vec![bar(5e6, None), bar(0.0, None)]).figure());
    assert!(!without.contains("class=\"interval\""));
    let with = check(&bars(vec![bar(5e6, Some((4e6, 6e6))), bar(1e6, None)]).figure());
    // A line from end to end and a cap on each.
    assert_eq!(with.matches("class=\"interval\"").count(), 3);
    check(&bars(vec![]).figure());
}

#[test]
fn stacks_and_maps_survive_any_shares() {
    let rows = |shares: &[f64]| {
        let segment = |share: &f64| Segment {
            name: EVIL.into(),
            style: Style::Series(2),
            share: *share,
        };
        vec![StackRow {
            name: EVIL.into(),
            segments: shares.iter().map(segment).collect(),
        }]
    };
    for shares in [&[][..], &[0.0], &[0.5, 0.5], &[0.7, 0.7]] {
        check(
            &StackedBars {
                title: EVIL.into(),
                rows: rows(shares),
            }
            .figure(),
        );
        let parts = vec![
            (EVIL.to_string(), Style::Other, shares.to_vec()),
            (EVIL.to_string(), Style::Idle, vec![]),
        ];
        let (bucket_ns, end_ns) = (1e6, 2e6);
        check(
            &AreaStack {
                title: EVIL.into(),
                bucket_ns,
                end_ns,
                parts,
            }
            .figure(),
        );
        let map = HeatMap {
            title: EVIL.into(),
            value: EVIL.into(),
            unit: Unit::Count,
            rows: vec![(EVIL.into(), shares.to_vec()); 200],
            bucket_ns,
        };
        check(&map.figure());
    }
}

#[test]
fn a_timeline_draws_what_it_shows_and_no_more() {
    let span = |lane, start, end| Span {
        lane,
        start,
        end,
        style: Style::Series(0),
        name: EVIL.into(),
        tip: EVIL.into(),
        key: 1,
    };
    let mut timeline = Timeline {
        title: EVIL.into(),
        start: 100.0,
        end: 200.0,
        lanes: vec![EVIL.into(), "CPU 1".into()],
        // Before, across the edge, inside, of no length, after.
        spans: vec![
            span(0, 0.0, 90.0),
            span(0, 90.0, 110.0),
            span(1, 120.0, 130.0),
            span(1, 140.0, 140.0),
            span(1, 210.0, 220.0),
        ],
        legend: vec![(EVIL.into(), Style::Series(0))],
        highlight: None,
    };
    assert_eq!(check(&timeline.figure()).matches("data-key").count(), 3);
    let highlight = |start, end| {
        Some(Highlight {
            start,
            end,
            text: EVIL.into(),
        })
    };
    timeline.highlight = highlight(110.0, 150.0);
    assert_eq!(
        check(&timeline.figure()).matches("class=\"alert\"").count(),
        3
    );
    // It began before the timeline does, so its left end is open.
    timeline.highlight = highlight(50.0, 150.0);
    assert_eq!(
        check(&timeline.figure()).matches("class=\"alert\"").count(),
        2
    );
}

#[test]
fn forty_series_all_differ() {
    let mut plot = Plot::new(
        "many",
        Axis::linear("x", Unit::Count, 0.0, 1.0),
        Axis::linear("y", Unit::Count, 0.0, 1.0),
    );
    let many: Vec<Series> = (0..40)
        .map(|i| Series {
            name: i.to_string(),
            style: Style::Series(i),
            points: vec![(0.0, 0.0), (1.0, 1.0)],
        })
        .collect();
    plot.lines(&many);
    let text = plot.finish().inline();
    let document = Document::parse(&text).unwrap();
    let mut classes: Vec<&str> = document
        .descendants()
        .filter(|n| n.tag_name().name() == "path")
        .filter_map(|n| n.attribute("class"))
        .collect();
    classes.sort_unstable();
    classes.dedup();
    assert_eq!(classes.len(), 40);
}
