//! A case: a small machine and workload, as the text that `schedlab run` reads.

use std::fmt::Write;

use schedlab_input::Diagnostic;
use schedlab_lab::exact;
use schedlab_machine::Machine;
use schedlab_trace::Ns;
use schedlab_workload::{native, Workload};

/// What one run of the search is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The hardware.
    pub platform: Platform,
    /// The control groups; their names are g0, g1, and so on.
    pub groups: Vec<Group>,
    /// The tasks; their names are t0, t1, and so on.
    pub tasks: Vec<Task>,
    /// End of the run.
    pub duration: Ns,
    /// Everything of the run that no file says.
    pub circumstances: Circumstances,
}

/// What a run depends on beside machine and workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Circumstances {
    /// The seed of the policy's random numbers.
    pub seed: u64,
    /// Events of the same time come in the order drawn from this seed; none: in the documented one.
    pub order: Option<u64>,
    /// One in so many second locks is refused, and hooks of different CPUs overlap; none: no lock is.
    pub refuse_locks: Option<u32>,
    /// Is the run done twice and compared?
    pub twice: bool,
}

impl Circumstances {
    /// Those of `schedlab run`.
    pub const PLAIN: Circumstances = Circumstances {
        seed: 1,
        order: None,
        refuse_locks: None,
        twice: false,
    };

    /// Does `schedlab run` with this seed do the same?
    pub fn is_plain(&self) -> bool {
        self.order.is_none() && self.refuse_locks.is_none()
    }
}

/// The hardware of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Platform {
    /// The user's, by its name, with this number of CPUs.
    Given(String, u32),
    /// CPUs without costs that share one cache.
    Ideal(u32),
    /// Any other.
    Built(Built),
}

/// A machine that needs a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Built {
    /// Its CPUs.
    pub nr_cpus: u32,
    /// How they are arranged.
    pub layout: Layout,
    /// Does the kernel take time?
    pub has_costs: bool,
    /// Do its CPUs tick one after another?
    pub staggered: bool,
    /// Do timers expire at ticks only?
    pub tick_timers: bool,
}

/// How the CPUs of a machine are arranged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// All share one cache.
    Flat,
    /// Each half has a cache of its own.
    TwoCaches,
    /// Pairs share a core.
    Pairs,
    /// The second half is half as fast.
    SlowHalf,
}

/// A control group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// The group it is in, an earlier one; none: the root.
    pub parent: Option<usize>,
    /// cpu.weight.
    pub weight: u32,
    /// CPU time that it may use in each 100 ms; none: no limit.
    pub quota: Option<Ns>,
}

/// A kind of task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// How many exist from the start; 0: only other tasks start it.
    pub count: u32,
    /// nice.
    pub nice: i8,
    /// Its class and priority, as workload files have them; none: normal.
    pub class: Option<(&'static str, u8)>,
    /// The CPUs it may use; none: all.
    pub cpus: Option<Vec<u32>>,
    /// When it starts.
    pub start: Ns,
    /// The group it starts in; none: the root.
    pub group: Option<usize>,
    /// How often its statements run; none: until the end.
    pub rounds: Option<u32>,
    /// What it does.
    pub program: Vec<Statement>,
}

/// A statement of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// Computes.
    Run(Ns),
    /// Sleeps.
    Sleep(Ns),
    /// Gives up the CPU.
    Yield,
    /// Changes its nice value.
    Nice(i8),
    /// Changes the nice value of every task of a kind.
    Renice(usize, i8),
    /// Changes the CPUs it may use.
    Cpus(Option<Vec<u32>>),
    /// Changes the CPUs every task of a kind may use.
    Repin(usize, Option<Vec<u32>>),
    /// Starts a task of a later kind.
    Fork(usize),
    /// Computes while it holds a mutex.
    Locked(Ns),
    /// Adds one to the semaphore.
    Post,
    /// Takes one from the semaphore.
    Wait,
    /// Puts a message into the channel.
    Send,
    /// Takes a message from the channel.
    Receive,
    /// Changes its class and priority.
    Class(&'static str, u8),
    /// Changes class and priority of every task of a kind.
    Reclass(usize, &'static str, u8),
    /// Moves to another group.
    Group(Option<usize>),
    /// Moves every task of a kind to another group.
    Regroup(usize, Option<usize>),
    /// Changes a group's weight.
    Weight(usize, u32),
}

impl Platform {
    /// Its number of CPUs.
    pub fn nr_cpus(&self) -> u32 {
        match self {
            Platform::Given(_, nr_cpus) | Platform::Ideal(nr_cpus) => *nr_cpus,
            Platform::Built(built) => built.nr_cpus,
        }
    }

    /// Was it drawn, and not given by the user?
    pub fn is_drawn(&self) -> bool {
        !matches!(self, Platform::Given(..))
    }

    /// The name after `--machine`; none: it needs a file.
    pub fn name(&self) -> Option<String> {
        match self {
            Platform::Given(name, _) => Some(name.clone()),
            Platform::Ideal(nr_cpus) => Some(format!("ideal-{nr_cpus}")),
            Platform::Built(_) => None,
        }
    }

    /// The file that describes it, if it needs one.
    pub fn text(&self) -> Option<String> {
        match self {
            Platform::Given(..) | Platform::Ideal(_) => None,
            Platform::Built(built) => Some(built.text()),
        }
    }

    /// The machine.
    ///
    /// # Errors
    /// There is no machine of the user's name.
    pub fn machine(&self) -> Result<Machine, Diagnostic> {
        match self {
            Platform::Given(name, _) => schedlab_machine::find(name),
            Platform::Ideal(nr_cpus) => Ok(Machine::ideal(*nr_cpus)),
            Platform::Built(built) => Machine::parse("machine.toml", &built.text()),
        }
    }
}

/// Costs of the order of a small server's, in ns; a machine without costs has 0 of each.
const COSTS_NS: [(&str, u32); 14] = [
    ("schedule", 1000),
    ("examine", 100),
    ("recalculate", 100),
    ("context_switch", 1000),
    ("mm_switch", 1000),
    ("wakeup", 1000),
    ("lock_transfer", 200),
    ("tick", 2000),
    ("ipi", 3000),
    ("idle_exit", 5000),
    ("syscall", 300),
    ("fork", 60_000),
    ("exec", 250_000),
    ("exit", 30_000),
];

impl Built {
    fn text(self) -> String {
        let timers = match self.tick_timers {
            true => "tick",
            false => "high-resolution",
        };
        let ticks = match self.staggered {
            true => "staggered",
            false => "aligned",
        };
        let mut text = format!(
            "title = \"Found by schedlab check\"\nhz = 1000\ntimers = \"{timers}\"\nticks = \"{ticks}\"\nsync_wakeups = true\n"
        );
        text += &self.clusters();
        text += "[costs]\n";
        for (name, ns) in COSTS_NS {
            let ns = if self.has_costs { ns } else { 0 };
            text += &format!("{name} = \"{ns}ns\"\n");
        }
        text
    }

    fn clusters(self) -> String {
        let cluster = |cores: u32, more: &str| {
            let size = if self.has_costs { "1MiB" } else { "0B" };
            format!(
                "[[cluster]]\ncores = {cores}\n{more}\
                 [cluster.cache]\nsize = \"{size}\"\nline = \"64B\"\nrefill = \"20ns\"\n"
            )
        };
        let second = self.nr_cpus / 2;
        let first = self.nr_cpus - second;
        match self.layout {
            Layout::TwoCaches => cluster(first, "") + &cluster(second, ""),
            Layout::SlowHalf => cluster(first, "") + &cluster(second, "capacity = 512\n"),
            Layout::Pairs => {
                let pairs = cluster(second, "threads = 2\n");
                format!("smt_speed_milli = 600\n{pairs}")
            }
            Layout::Flat => cluster(self.nr_cpus, ""),
        }
    }
}

impl Layout {
    /// Can a machine of so many CPUs be arranged like this?
    pub fn allows(self, nr_cpus: u32) -> bool {
        match self {
            Layout::Flat => true,
            Layout::TwoCaches | Layout::SlowHalf => nr_cpus > 1,
            Layout::Pairs => nr_cpus.is_multiple_of(2),
        }
    }
}

impl Case {
    /// The workload as a file.
    pub fn text(&self) -> String {
        let mut text = format!("duration = \"{}\"\n", exact(self.duration));
        let uses = |wanted: fn(&Statement) -> bool| {
            let mut statements = self.tasks.iter().flat_map(|task| &task.program);
            statements.any(wanted)
        };
        if uses(|s| matches!(s, Statement::Locked(_))) {
            text += "\n[mutex.m]\n";
        }
        if uses(|s| matches!(s, Statement::Post | Statement::Wait)) {
            text += "\n[semaphore.s]\n";
        }
        if uses(|s| matches!(s, Statement::Send | Statement::Receive)) {
            text += "\n[channel.c]\ncapacity = 2\n";
        }
        for (index, group) in self.groups.iter().enumerate() {
            group.write(index, &mut text);
        }
        for (index, task) in self.tasks.iter().enumerate() {
            task.write(index, &mut text);
        }
        text
    }

    /// The workload that the file describes.
    ///
    /// # Errors
    /// The reader refuses it, such as a task that waits for a semaphore that none posts.
    pub fn workload(&self) -> Result<Workload, Diagnostic> {
        native::parse("workload.toml", &self.text())
    }

    /// Does a task act on others?  Then what it does depends on which of them is first.
    pub fn has_meetings(&self) -> bool {
        let alone = |statement: &Statement| match statement {
            Statement::Run(_)
            | Statement::Sleep(_)
            | Statement::Yield
            | Statement::Nice(_)
            | Statement::Class(..)
            | Statement::Group(_)
            | Statement::Cpus(_) => true,
            Statement::Renice(..)
            | Statement::Repin(..)
            | Statement::Fork(_)
            | Statement::Locked(_)
            | Statement::Post
            | Statement::Wait
            | Statement::Send
            | Statement::Receive
            | Statement::Reclass(..)
            | Statement::Regroup(..)
            | Statement::Weight(..) => false,
        };
        let mut statements = self.tasks.iter().flat_map(|task| &task.program);
        !statements.all(alone)
    }

    /// Its number of statements.
    pub fn nr_statements(&self) -> usize {
        self.tasks.iter().map(|task| task.program.len()).sum()
    }

    /// Its number of tasks, those started later not counted.
    pub fn nr_tasks(&self) -> u32 {
        self.tasks.iter().map(|task| task.count).sum()
    }
}

impl Group {
    fn write(&self, index: usize, text: &mut String) {
        *text += &format!("\n[group.g{index}]\n");
        if let Some(parent) = self.parent {
            *text += &format!("parent = \"g{parent}\"\n");
        }
        if self.weight != 100 {
            *text += &format!("weight = {}\n", self.weight);
        }
        if let Some(quota) = self.quota {
            *text += &format!("quota = \"{}\"\n", exact(quota));
        }
    }
}

impl Task {
    fn write(&self, index: usize, text: &mut String) {
        // Writing to a String does not fail.
        let _ = write!(text, "\n[task.t{index}]\n");
        let mut key = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        if self.count != 1 {
            key("count", self.count.to_string());
        }
        if self.nice != 0 {
            key("nice", self.nice.to_string());
        }
        if let Some((class, priority)) = self.class {
            key("class", format!("\"{class}\""));
            if priority != 0 {
                key("rt_priority", priority.to_string());
            }
        }
        if let Some(cpus) = &self.cpus {
            key("cpus", format!("\"{}\"", list(cpus)));
        }
        if let Some(group) = self.group {
            key("group", format!("\"g{group}\""));
        }
        if self.start != Ns::ZERO {
            key("start", format!("\"{}\"", exact(self.start)));
        }
        key("program", self.program_text());
    }

    fn program_text(&self) -> String {
        let (begin, indent, end) = match self.rounds {
            None => ("forever\n".to_string(), "  ", "end\n"),
            Some(1) => (String::new(), "", ""),
            Some(rounds) => (format!("loop {rounds}\n"), "  ", "end\n"),
        };
        let mut lines = String::new();
        for statement in &self.program {
            for line in statement.text().lines() {
                lines += &format!("{indent}{line}\n");
            }
        }
        format!("\"\"\"\n{begin}{lines}{end}\"\"\"")
    }
}

impl Statement {
    fn text(&self) -> String {
        match self {
            Statement::Run(time) => format!("run {}", exact(*time)),
            Statement::Sleep(time) => format!("sleep {}", exact(*time)),
            Statement::Yield => "yield".into(),
            Statement::Nice(nice) => format!("nice {nice}"),
            Statement::Renice(task, nice) => format!("renice t{task} {nice}"),
            Statement::Cpus(cpus) => format!("cpus {}", list_or_all(cpus)),
            Statement::Repin(task, cpus) => format!("repin t{task} {}", list_or_all(cpus)),
            Statement::Fork(task) => format!("fork t{task}"),
            Statement::Locked(time) => format!("lock m\nrun {}\nunlock m", exact(*time)),
            Statement::Post => "post s".into(),
            Statement::Wait => "wait-sem s".into(),
            Statement::Send => "send c".into(),
            Statement::Receive => "receive c".into(),
            Statement::Class(class, priority) => class_text("class", class, *priority),
            Statement::Reclass(task, class, priority) => {
                class_text(&format!("reclass t{task}"), class, *priority)
            }
            Statement::Group(group) => format!("group {}", group_name(*group)),
            Statement::Regroup(task, group) => {
                format!("regroup t{task} {}", group_name(*group))
            }
            Statement::Weight(group, weight) => format!("weight g{group} {weight}"),
        }
    }

    /// The kind of task it names, if it names one.
    pub fn names(&mut self) -> Option<&mut usize> {
        match self {
            Statement::Renice(task, _)
            | Statement::Repin(task, _)
            | Statement::Reclass(task, ..)
            | Statement::Regroup(task, _)
            | Statement::Fork(task) => Some(task),
            _ => None,
        }
    }

    /// The group it names, if it names one.
    pub fn group(&mut self) -> Option<&mut usize> {
        match self {
            Statement::Group(group) | Statement::Regroup(_, group) => group.as_mut(),
            Statement::Weight(group, _) => Some(group),
            _ => None,
        }
    }

    /// The CPUs it names, if it names some.
    pub fn cpus(&mut self) -> Option<&mut Option<Vec<u32>>> {
        match self {
            Statement::Cpus(cpus) | Statement::Repin(_, cpus) => Some(cpus),
            _ => None,
        }
    }

    /// Its time, if it has one.
    pub fn time(&mut self) -> Option<&mut Ns> {
        match self {
            Statement::Run(time) | Statement::Sleep(time) | Statement::Locked(time) => Some(time),
            _ => None,
        }
    }
}

fn list(cpus: &[u32]) -> String {
    let numbers: Vec<String> = cpus.iter().map(u32::to_string).collect();
    numbers.join(",")
}

fn list_or_all(cpus: &Option<Vec<u32>>) -> String {
    cpus.as_deref().map_or("all".into(), list)
}

fn group_name(group: Option<usize>) -> String {
    group.map_or("root".into(), |group| format!("g{group}"))
}

fn class_text(verb: &str, class: &str, priority: u8) -> String {
    match priority {
        0 => format!("{verb} {class}"),
        _ => format!("{verb} {class} {priority}"),
    }
}
