//! Consumers of a trace.

use crate::{Event, GroupInfo, TaskInfo, Time, TraceInfo};

/// A consumer of a trace.  Calls come in this order: [`begin`](Sink::begin) once; then
/// [`group`](Sink::group), [`task`](Sink::task) and [`event`](Sink::event), each group and task before its first
/// event; then [`end`](Sink::end) once.
pub trait Sink {
    /// The trace begins.
    fn begin(&mut self, _info: &TraceInfo) {}
    /// A control group is about to appear.
    fn group(&mut self, _info: &GroupInfo) {}
    /// A task is about to appear.
    fn task(&mut self, _info: &TaskInfo) {}
    /// Something happened.
    fn event(&mut self, event: &Event);
    /// The trace ends at `_time`, which is at or after its last event.
    fn end(&mut self, _time: Time) {}
}

/// Two sinks, both fed.
pub struct Tee<A, B>(pub A, pub B);

impl<A: Sink, B: Sink> Sink for Tee<A, B> {
    fn begin(&mut self, info: &TraceInfo) {
        self.0.begin(info);
        self.1.begin(info);
    }
    fn group(&mut self, info: &GroupInfo) {
        self.0.group(info);
        self.1.group(info);
    }
    fn task(&mut self, info: &TaskInfo) {
        self.0.task(info);
        self.1.task(info);
    }
    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }
    fn end(&mut self, time: Time) {
        self.0.end(time);
        self.1.end(time);
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn begin(&mut self, info: &TraceInfo) {
        (**self).begin(info);
    }
    fn group(&mut self, info: &GroupInfo) {
        (**self).group(info);
    }
    fn task(&mut self, info: &TaskInfo) {
        (**self).task(info);
    }
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }
    fn end(&mut self, time: Time) {
        (**self).end(time);
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn begin(&mut self, info: &TraceInfo) {
        (**self).begin(info);
    }
    fn group(&mut self, info: &GroupInfo) {
        (**self).group(info);
    }
    fn task(&mut self, info: &TaskInfo) {
        (**self).task(info);
    }
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }
    fn end(&mut self, time: Time) {
        (**self).end(time);
    }
}

impl<S: Sink> Sink for Option<S> {
    fn begin(&mut self, info: &TraceInfo) {
        if let Some(sink) = self {
            sink.begin(info);
        }
    }
    fn group(&mut self, info: &GroupInfo) {
        if let Some(sink) = self {
            sink.group(info);
        }
    }
    fn task(&mut self, info: &TaskInfo) {
        if let Some(sink) = self {
            sink.task(info);
        }
    }
    fn event(&mut self, event: &Event) {
        if let Some(sink) = self {
            sink.event(event);
        }
    }
    fn end(&mut self, time: Time) {
        if let Some(sink) = self {
            sink.end(time);
        }
    }
}

/// Keeps everything; for tests and for sinks that need two passes.
impl Sink for Vec<Event> {
    fn event(&mut self, event: &Event) {
        self.push(*event);
    }
}
