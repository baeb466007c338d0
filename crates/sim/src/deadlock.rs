//! What each task waits for in a deadlock.

use schedlab_trace::TaskId;

use crate::engine::Simulation;
use crate::task::State;

impl Simulation<'_> {
    /// Does any task sleep?
    pub(crate) fn anybody_sleeps(&self) -> bool {
        self.tasks.iter().any(|t| asleep(t.state))
    }

    /// At most `most` sleeping tasks, each with the resource it waits for and the resource's owner,
    /// for a message about a deadlock.
    pub fn sleepers(&self, most: usize) -> Vec<String> {
        let tasks = (0..self.tasks.len() as u32).map(TaskId);
        let asleep = tasks.filter(|t| asleep(self.task(*t).state));
        asleep
            .take(most)
            .map(|task| match self.waits_for(task) {
                Some(what) => format!("{} ({what})", self.name(task)),
                None => self.name(task),
            })
            .collect()
    }

    /// The resource a sleeping task waits for. Resources are numbered from 0 in the order of the
    /// workload.
    fn waits_for(&self, task: TaskId) -> Option<String> {
        let r = &self.resources;
        if self.task(task).waits_for_child {
            return Some("waits for a child to end".into());
        }
        if let Some((n, m)) = find(&r.mutexes, |m| m.waiters.contains(&task)) {
            let owner = m.owner.map_or("nobody".into(), |owner| self.name(owner));
            return Some(format!("waits for mutex {n}, which {owner} holds"));
        }
        if let Some((n, _)) = find(&r.conditions, |c| c.waiters.iter().any(|w| w.0 == task)) {
            return Some(format!("waits for a signal on condition {n}"));
        }
        if let Some((n, _)) = find(&r.semaphores, |s| s.waiters.contains(&task)) {
            return Some(format!("waits for semaphore {n}, which is 0"));
        }
        if let Some((n, b)) = find(&r.barriers, |b| b.waiting.contains(&task)) {
            let (here, size) = (b.waiting.len(), b.size);
            return Some(format!("waits at barrier {n} with {here} of {size} tasks"));
        }
        if let Some((n, _)) = find(&r.channels, |c| c.senders.contains(&task)) {
            return Some(format!("waits to send into channel {n}, which is full"));
        }
        find(&r.channels, |c| c.receivers.contains(&task))
            .map(|(n, _)| format!("waits to receive from channel {n}, which is empty"))
    }
}

fn asleep(state: State) -> bool {
    matches!(state, State::Sleeping { .. })
}

/// The first element that passes a test, and its number.
fn find<T>(all: &[T], mut test: impl FnMut(&T) -> bool) -> Option<(usize, &T)> {
    all.iter().enumerate().find(|(_, one)| test(one))
}
