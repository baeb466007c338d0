//! The statements of the program language, one line each.

use std::ops::RangeInclusive;

use schedlab_input::{quantity, Diagnostic};
use schedlab_trace::{GroupWeight, Ns, TaskClass};

use super::groups::read_limit;
use super::names::{check_name, Kind, Use};
use super::pool::Pool;
use crate::{Op, TimerScope, Times, MAX_MESSAGES, MAX_OWN_TIMERS, MAX_SLICE, MIN_SLICE};

/// Every statement and how to write it.
pub(super) const STATEMENTS: [(&str, &str); 43] = [
    ("run", "run AMOUNT"),
    ("run-for", "run-for AMOUNT"),
    ("sleep", "sleep AMOUNT"),
    ("timed-sleep", "timed-sleep AMOUNT"),
    ("timer", "timer NAME PERIOD [relative]"),
    ("lock", "lock MUTEX"),
    ("unlock", "unlock MUTEX"),
    ("wait", "wait CONDITION [MUTEX]"),
    ("signal", "signal CONDITION"),
    ("broadcast", "broadcast CONDITION"),
    ("post", "post SEMAPHORE"),
    ("wait-sem", "wait-sem SEMAPHORE"),
    ("barrier", "barrier BARRIER"),
    ("send", "send CHANNEL [COUNT]"),
    ("receive", "receive CHANNEL [COUNT or all]"),
    ("disk", "disk DISK AMOUNT"),
    ("fork", "fork TASK"),
    ("exec", "exec"),
    ("wait-child", "wait-child"),
    ("wait-children", "wait-children"),
    ("yield", "yield"),
    ("nice", "nice NUMBER"),
    (
        "class",
        "class normal, batch, idle, iso, fifo PRIORITY or rr PRIORITY",
    ),
    ("slice", "slice TIME or slice none"),
    ("cpus", "cpus LIST or cpus all"),
    ("renice", "renice TASK NUMBER"),
    (
        "reclass",
        "reclass TASK normal, batch, idle, iso, fifo PRIORITY or rr PRIORITY",
    ),
    ("repin", "repin TASK LIST or repin TASK all"),
    ("group", "group GROUP or group root"),
    ("regroup", "regroup TASK GROUP or regroup TASK root"),
    ("weight", "weight GROUP NUMBER"),
    ("quota", "quota GROUP TIME [PERIOD] or quota GROUP none"),
    ("working-set", "working-set SIZE"),
    ("mark", "mark NAME [COUNT]"),
    ("start-clock", "start-clock"),
    ("take-clock", "take-clock"),
    ("stop-clock", "stop-clock NAME"),
    ("exit", "exit"),
    ("loop", "loop COUNT, loop forever or loop received"),
    ("forever", "forever"),
    ("for", "for NAME {COUNT}"),
    ("if", "if {CONDITION}"),
    ("end", "end"),
];

/// Scheduling classes by name.
pub(super) const CLASSES: [(&str, TaskClass); 6] = [
    ("normal", TaskClass::Normal),
    ("batch", TaskClass::Batch),
    ("idle", TaskClass::Idle),
    ("iso", TaskClass::Iso),
    ("fifo", TaskClass::Fifo),
    ("rr", TaskClass::Rr),
];

/// What a statement means.
pub(super) enum Statement {
    Do(Op),
    Loop(Times),
    End,
}

/// Reads the statements of one program.
pub(super) struct Reader<'p> {
    pub pool: &'p mut Pool,
    /// The line of the statement being read.
    pub line: usize,
    timers: Vec<String>,
    clock_started: bool,
}

impl<'p> Reader<'p> {
    pub fn new(pool: &'p mut Pool) -> Reader<'p> {
        Reader {
            pool,
            line: 0,
            timers: Vec::new(),
            clock_started: false,
        }
    }

    /// Reads one statement, from a line without comment; none if it is blank.
    pub fn statement(&mut self, line: &str) -> Result<Option<Statement>, Diagnostic> {
        let words = words(line);
        if words.is_empty() {
            return Ok(None);
        }
        let statement = match words[..] {
            ["loop", "forever"] | ["forever"] => Statement::Loop(Times::Forever),
            ["loop", "received"] => Statement::Loop(Times::Received),
            ["loop", count] => Statement::Loop(Times::Fixed(number(count, 0..=u32::MAX)?)),
            ["end"] => Statement::End,
            _ => match self.op(&words)? {
                Some(op) => Statement::Do(op),
                None => return Err(misused(&words)),
            },
        };
        Ok(Some(statement))
    }

    /// None: no such statement, or the wrong number of words.
    fn op(&mut self, words: &[&str]) -> Result<Option<Op>, Diagnostic> {
        Ok(Some(match *words {
            ["run", amount] => Op::Run(self.pool.amount(amount)?),
            ["run-for", amount] => Op::RunFor(self.pool.amount(amount)?),
            ["sleep", amount] => Op::Sleep(self.pool.amount(amount)?),
            ["timer", name, period] => self.timer(name, period, false)?,
            ["timer", name, period, "relative"] => self.timer(name, period, true)?,
            ["disk", disk, amount] => Op::Disk {
                disk: self.find(Kind::Disk, disk, Use::Plain)?,
                service: self.pool.amount(amount)?,
            },
            ["yield"] => Op::Yield,
            ["working-set", size] => Op::WorkingSet(quantity::size(size)?),
            ["cpus", cpus] => Op::SetCpus(self.pool.cpu_set(cpus)?),
            ["nice", nice] => Op::SetNice(self::nice(nice)?),
            ["class", ref class @ ..] => {
                return Ok(self::class(class)?.map(|(class, rt)| Op::SetClass(class, rt)))
            }
            ["slice", "none"] => Op::SetSlice(None),
            ["slice", time] => Op::SetSlice(Some(self::slice(time)?)),
            ["renice", task, nice] => Op::Renice(self.pool.task(task)?, self::nice(nice)?),
            ["reclass", task, ref class @ ..] => {
                let spec = self.pool.task(task)?;
                return Ok(self::class(class)?.map(|(class, rt)| Op::Reclass(spec, class, rt)));
            }
            ["repin", task, cpus] => Op::Repin(self.pool.task(task)?, self.pool.cpu_set(cpus)?),
            ["group", group] => Op::SetGroup(self.pool.groups.find(group)?),
            ["regroup", task, group] => {
                Op::Regroup(self.pool.task(task)?, self.pool.groups.find(group)?)
            }
            ["weight", group, weight] => {
                let weight = number(weight, 1..=10_000)? as u16;
                Op::Weigh(self.pool.groups.number(group)?, GroupWeight::Weight(weight))
            }
            ["quota", group, ref limit @ ..] if (1..=2).contains(&limit.len()) => {
                Op::Limit(self.pool.groups.number(group)?, read_limit(limit)?)
            }
            _ => {
                return Ok(self
                    .sync(words)?
                    .or(self.family(words)?)
                    .or(self.measure(words)?))
            }
        }))
    }

    /// Locks, conditions, semaphores, barriers and channels.
    fn sync(&mut self, words: &[&str]) -> Result<Option<Op>, Diagnostic> {
        Ok(Some(match *words {
            ["lock", mutex] => Op::Lock(self.find(Kind::Mutex, mutex, Use::Plain)?),
            ["unlock", mutex] => Op::Unlock(self.find(Kind::Mutex, mutex, Use::Plain)?),
            ["wait", condition, ref mutex @ ..] if mutex.len() <= 1 => Op::CondWait {
                condition: self.find(Kind::Condition, condition, Use::Take)?,
                mutex: mutex
                    .first()
                    .map(|mutex| self.find(Kind::Mutex, mutex, Use::Plain))
                    .transpose()?,
            },
            ["signal", condition] => {
                Op::CondSignal(self.find(Kind::Condition, condition, Use::Give)?)
            }
            ["broadcast", condition] => {
                Op::CondBroadcast(self.find(Kind::Condition, condition, Use::Give)?)
            }
            ["post", semaphore] => Op::SemPost(self.find(Kind::Semaphore, semaphore, Use::Give)?),
            ["wait-sem", semaphore] => {
                Op::SemWait(self.find(Kind::Semaphore, semaphore, Use::Take)?)
            }
            ["barrier", barrier] => Op::Barrier(self.find(Kind::Barrier, barrier, Use::Plain)?),
            ["receive", channel, "all"] => Op::ReceiveAll {
                channel: self.find(Kind::Channel, channel, Use::Take)?,
            },
            ["receive", channel, ref count @ ..] if count.len() <= 1 => Op::Receive {
                channel: self.find(Kind::Channel, channel, Use::Take)?,
                count: messages(count)?,
            },
            ["send", channel, ref count @ ..] if count.len() <= 1 => Op::Send {
                channel: self.find(Kind::Channel, channel, Use::Give)?,
                count: messages(count)?,
            },
            _ => return Ok(None),
        }))
    }

    /// Children and the end.
    fn family(&mut self, words: &[&str]) -> Result<Option<Op>, Diagnostic> {
        Ok(Some(match *words {
            ["fork", task] => Op::Fork(self.pool.fork(task)?),
            ["exec"] => Op::Exec,
            ["wait-child"] => Op::WaitChild,
            ["wait-children"] => Op::WaitAll,
            ["exit"] => Op::Exit,
            _ => return Ok(None),
        }))
    }

    /// What is counted and timed.
    fn measure(&mut self, words: &[&str]) -> Result<Option<Op>, Diagnostic> {
        Ok(Some(match *words {
            ["mark", mark, ref count @ ..] if count.len() <= 1 => Op::Mark {
                mark: self.pool.mark(mark)?,
                count: count
                    .first()
                    .map_or(Ok(1), |count| number(count, 1..=u32::MAX))?,
            },
            ["start-clock"] => {
                self.clock_started = true;
                Op::StartClock
            }
            ["take-clock"] => {
                self.clock_started = true;
                Op::TakeClock
            }
            ["timed-sleep", amount] => {
                self.clock_started = true;
                Op::TimedSleep(self.pool.amount(amount)?)
            }
            ["stop-clock", _] if !self.clock_started => {
                return Err(Diagnostic::new("no clock is running")
                    .expected("\"start-clock\", \"take-clock\" or \"timed-sleep\" before it"));
            }
            ["stop-clock", mark] => Op::StopClock {
                mark: self.pool.mark(mark)?,
            },
            _ => return Ok(None),
        }))
    }

    fn find(&mut self, kind: Kind, name: &str, how: Use) -> Result<u32, Diagnostic> {
        self.pool.resolve(kind, name, how, self.line)
    }

    /// A timer is shared if it is declared, else the task's own.
    fn timer(&mut self, name: &str, period: &str, relative: bool) -> Result<Op, Diagnostic> {
        let period_ns = quantity::duration(period)?;
        if period_ns == Ns::ZERO {
            return Err(Diagnostic::new("the period is 0").expected("a duration of more than 0"));
        }
        let timer = if self.pool.shares_timer(name) {
            TimerScope::Shared(self.find(Kind::Timer, name, Use::Plain)?)
        } else {
            TimerScope::Own(self.own_timer(name)?)
        };
        Ok(Op::Timer {
            timer,
            period: period_ns,
            relative,
        })
    }

    fn own_timer(&mut self, name: &str) -> Result<u32, Diagnostic> {
        check_name(name).map_err(Diagnostic::new)?;
        if let Some(known) = self.timers.iter().position(|timer| timer == name) {
            return Ok(known as u32);
        }
        if self.timers.len() == MAX_OWN_TIMERS {
            return Err(
                Diagnostic::new(format!("\"{name}\" is one timer too many")).expected(format!(
                    "at most {MAX_OWN_TIMERS} timers of its own in a program"
                )),
            );
        }
        self.timers.push(name.to_string());
        Ok(self.timers.len() as u32 - 1)
    }
}

/// The words of a line; parentheses keep together what is between them.
fn words(line: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let between = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && c.is_whitespace()
    };
    line.split(between)
        .filter(|word| !word.is_empty())
        .collect()
}

/// A line that is not a statement, or has wrong words.
pub(super) fn misused(words: &[&str]) -> Diagnostic {
    let verb = words[0];
    match STATEMENTS.iter().find(|(known, _)| *known == verb) {
        Some((_, usage)) => {
            Diagnostic::new(format!("\"{}\" cannot be read", words.join(" "))).expected(*usage)
        }
        None => Diagnostic::new(format!("unknown statement \"{verb}\""))
            .expected("a statement such as run, sleep, send, lock or loop")
            .suggest(verb, STATEMENTS.iter().map(|(known, _)| *known)),
    }
}

fn number(text: &str, range: RangeInclusive<u32>) -> Result<u32, Diagnostic> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && range.contains(&number) => Ok(number),
        _ => Err(
            Diagnostic::new(format!("\"{text}\" is not a number that fits here")).expected(
                format!("a whole number from {} to {}", range.start(), range.end()),
            ),
        ),
    }
}

/// An optional number of messages.
fn messages(words: &[&str]) -> Result<u32, Diagnostic> {
    let count = words.first();
    count.map_or(Ok(1), |count| number(count, 1..=MAX_MESSAGES))
}

/// A slice that a task may ask for.
pub(super) fn slice(text: &str) -> Result<Ns, Diagnostic> {
    let slice = quantity::duration(text)?;
    match (MIN_SLICE..=MAX_SLICE).contains(&slice) {
        true => Ok(slice),
        false => Err(
            Diagnostic::new(format!("{slice} is no slice a task can ask for"))
                .expected("100us to 100ms, as sched_setattr() allows"),
        ),
    }
}

fn nice(text: &str) -> Result<i8, Diagnostic> {
    match text.parse() {
        Ok(nice) if (-20..=19).contains(&nice) => Ok(nice),
        _ => Err(Diagnostic::new(format!("\"{text}\" is not a nice value"))
            .expected("a whole number from -20 to 19")),
    }
}

/// A class and its real-time priority; none if there are too few or too many words.
fn class(words: &[&str]) -> Result<Option<(TaskClass, u8)>, Diagnostic> {
    let Some(name) = words.first() else {
        return Ok(None);
    };
    let Some((_, class)) = CLASSES.iter().find(|(known, _)| known == name) else {
        return Err(Diagnostic::new(format!("unknown class \"{name}\""))
            .expected("one of normal, batch, idle, iso, fifo, rr")
            .suggest(name, CLASSES.iter().map(|(known, _)| *known)));
    };
    let real_time = matches!(class, TaskClass::Fifo | TaskClass::Rr);
    Ok(match words {
        [_, priority] if real_time => Some((*class, number(priority, 1..=99)? as u8)),
        [_] if !real_time => Some((*class, 0)),
        _ => None,
    })
}
