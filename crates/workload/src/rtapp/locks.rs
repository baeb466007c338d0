//! Which task holds which mutex.  Waiting without the mutex and unlocking another task's mutex are
//! undefined in rt-app and refused here.

use std::collections::BTreeSet;

use schedlab_input::Diagnostic;

use super::event::Event;
use super::survey::at;
use super::task::{Step, Task};

/// Follows a task through its phases.  Loops are followed twice, because the second round begins
/// with the mutexes that the first left locked.
pub(super) fn check(task: &Task) -> Result<(), Diagnostic> {
    let mut held = BTreeSet::new();
    for _ in 0..twice(task.rounds) {
        for phase in &task.phases {
            for _ in 0..twice(phase.rounds) {
                for step in &phase.events {
                    follow(step, &mut held)?;
                }
            }
            if phase.rounds.is_none() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The rounds to follow: at most two.
fn twice(rounds: Option<u32>) -> u32 {
    rounds.unwrap_or(2).min(2)
}

fn follow<'a>(step: &'a Step, held: &mut BTreeSet<&'a str>) -> Result<(), Diagnostic> {
    match &step.event {
        Event::Lock(mutex) if !held.insert(mutex) => {
            let problem =
                format!("the task holds \"{mutex}\" already and would wait for itself for ever");
            return Err(at(
                step,
                problem,
                "an unlock before it, in each round of a loop",
            ));
        }
        Event::Unlock(mutex) if !held.remove(mutex.as_str()) => {
            let problem = format!("the task does not hold \"{mutex}\"");
            return Err(at(step, problem, "a lock before the unlock"));
        }
        Event::Wait(condition) | Event::Sync(condition)
            if !held.contains(condition.mutex.as_str()) =>
        {
            let mutex = &condition.mutex;
            let problem = format!("waits without holding \"{mutex}\", which is undefined");
            return Err(at(step, problem, "a lock before it"));
        }
        _ => {}
    }
    Ok(())
}
