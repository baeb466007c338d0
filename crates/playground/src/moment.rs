//! Who ran and who waited at an event, and at what priority.

use schedlab_trace::{CpuId, TaskClass, TaskId, Time};
use serde_json::{json, Value};

use crate::record::{cpus, Record};
use crate::scene::{Scene, State};
use crate::text::class_name;

/// The most waiting tasks listed of a CPU.
const MOST_WAITING: usize = 6;

impl Record {
    /// The moment after an event; none if there is no such event.
    pub(crate) fn moment(&self, event: usize) -> Option<Value> {
        let happened = self.events.get(event)?;
        let scene = self.scene_after(event);
        let now = happened.time;
        let all: Vec<Value> = cpus(self).map(|cpu| self.cpu(&scene, cpu, now)).collect();
        Some(json!({
            "time_ns": now.0,
            "cpu": happened.cpu.0,
            "what": self.sentence(event),
            "cpus": all,
        }))
    }

    fn cpu(&self, scene: &Scene, cpu: CpuId, now: Time) -> Value {
        let mut waiting: Vec<TaskId> = scene.in_state(State::Waiting(cpu)).collect();
        let since = |task: &TaskId| scene.get(*task).map_or(Time::ZERO, |task| task.since);
        waiting.sort_by_key(|task| (since(task), *task));
        let shown = waiting.iter().take(MOST_WAITING);
        let examined = scene.examined.get(cpu.index());
        json!({
            "running": scene.running(cpu).map(|task| self.task(scene, task, now)),
            "waiting": shown.map(|&task| self.task(scene, task, now)).collect::<Vec<_>>(),
            "waiting_in_all": waiting.len(),
            "examined": examined.filter(|(at, _)| *at > Time::ZERO).map(|(_, examined)| examined),
        })
    }

    fn task(&self, scene: &Scene, id: TaskId, now: Time) -> Value {
        let Some(task) = scene.get(id) else {
            return Value::Null;
        };
        let rank = match (task.priority, task.class) {
            (Some(priority), _) => format!("priority {priority}"),
            (None, TaskClass::Fifo | TaskClass::Rr) => {
                format!("{} {}", class_name(task.class), task.rt_priority)
            }
            (None, _) => format!("nice {}", task.nice),
        };
        json!({
            "task": id.0,
            "name": self.name(id),
            "ns": now.since(task.since).0,
            "rank": rank,
        })
    }
}
