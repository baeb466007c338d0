//! A trace as JSON, for comparison with readers in other languages.

use schedlab_trace::{Event, EventKind, TaskId, TaskInfo};
use serde_json::{json, Value};

use crate::common::{Record, Trace};

/// Everything the trace says, record by record; names of states and contexts are those of the
/// Rust types.
pub fn trace_json(trace: &Trace) -> Value {
    let info = &trace.info;
    json!({
        "nr_cpus": info.nr_cpus,
        "policy": info.policy,
        "workload": info.workload,
        "machine": info.machine,
        "counters": info.counters,
        "marks": info.marks,
        "end": trace.end.0,
        "records": trace.records.iter().map(record).collect::<Vec<_>>(),
    })
}

fn record(record: &Record) -> Value {
    match record {
        Record::Task(task) => task_json(task),
        Record::Event(event) => {
            let mut fields = event_json(event);
            fields["time"] = json!(event.time.0);
            fields["cpu"] = json!(event.cpu.0);
            fields
        }
    }
}

fn task_json(task: &TaskInfo) -> Value {
    json!({
        "kind": "task",
        "task": task.id.0,
        "name": task.name,
        "process": task.process,
        "nice": task.nice,
        "class": format!("{:?}", task.class),
        "rt_priority": task.rt_priority,
    })
}

fn event_json(event: &Event) -> Value {
    let id = |task: Option<TaskId>| task.map(|t| t.0);
    match event.kind {
        EventKind::Fork { child, parent } => {
            json!({"kind": "fork", "task": child.0, "parent": id(parent)})
        }
        EventKind::Waking { task, by } => {
            json!({"kind": "waking", "task": task.0, "by": format!("{by:?}")})
        }
        EventKind::Wakeup { task, target } => {
            json!({"kind": "wakeup", "task": task.0, "target": target.0})
        }
        EventKind::Switch {
            prev,
            prev_state,
            next,
        } => json!({
            "kind": "switch",
            "prev": id(prev),
            "prev_state": format!("{prev_state:?}"),
            "next": id(next),
        }),
        EventKind::Migrate { task, from, to } => {
            json!({"kind": "migrate", "task": task.0, "from": from.0, "to": to.0})
        }
        EventKind::Nice { task, nice } => json!({"kind": "nice", "task": task.0, "nice": nice}),
        EventKind::Class {
            task,
            class,
            rt_priority,
        } => json!({
            "kind": "class",
            "task": task.0,
            "class": format!("{class:?}"),
            "rt_priority": rt_priority,
        }),
        EventKind::Priority { task, priority } => {
            json!({"kind": "priority", "task": task.0, "priority": priority})
        }
        EventKind::Count { counter, by } => json!({"kind": "count", "counter": counter, "by": by}),
        EventKind::Mark { mark, count, .. } => {
            json!({"kind": "mark", "mark": mark.0, "count": count})
        }
        EventKind::Latency { mark, ns, .. } => {
            json!({"kind": "latency", "mark": mark.0, "ns": ns.0})
        }
        _ => json!({"kind": "other"}),
    }
}
