//! A simulated trace without scheduling costs, as a kernel would record it.

use schedlab_trace::{Event, EventKind, GroupInfo, Sink, TaskInfo, Time, TraceInfo};

/// Removes scheduling costs from a trace: a kernel does not report them; their time counts as the
/// task's CPU time.
#[derive(Debug)]
pub struct WithoutCosts<S>(pub S);

impl<S: Sink> Sink for WithoutCosts<S> {
    fn begin(&mut self, info: &TraceInfo) {
        let has_costs = false;
        self.0.begin(&TraceInfo {
            has_costs,
            ..info.clone()
        });
    }

    fn group(&mut self, info: &GroupInfo) {
        self.0.group(info);
    }

    fn task(&mut self, info: &TaskInfo) {
        self.0.task(info);
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Overhead { .. } | EventKind::Schedule { .. } => {}
            _ => self.0.event(event),
        }
    }

    fn end(&mut self, time: Time) {
        self.0.end(time);
    }
}
