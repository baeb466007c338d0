//! The sink that measures.

use schedlab_trace::{Event, EventKind, GroupInfo, Ns, Sink, TaskId, TaskInfo, Time, TraceInfo};

use crate::metrics::{fairness, Families, Lasting, Tally};
use crate::roster::Roster;
use crate::state::State;
use crate::{
    AccountingError, Activity, GroupLatencyPlot, GroupMetrics, Metrics, Plots, TaskMetrics,
    MAX_PLOT_GROUPS,
};

/// Measures a trace as its events arrive; [`finish`](Measure::finish) gives the result.
#[derive(Debug)]
pub struct Measure {
    info: TraceInfo,
    roster: Roster,
    state: State,
    families: Families,
    task_distributions: bool,
    ended: bool,
}

impl Default for Measure {
    fn default() -> Measure {
        Measure::new()
    }
}

impl Measure {
    /// A sink for one trace.
    pub fn new() -> Measure {
        let info = TraceInfo::default();
        Measure {
            families: Families::new(&info),
            info,
            roster: Roster::default(),
            state: State::default(),
            task_distributions: true,
            ended: false,
        }
    }

    /// The same without the distributions of single tasks; those of groups are kept.
    pub fn without_task_distributions() -> Measure {
        let mut measure = Measure::new();
        measure.task_distributions = false;
        measure
    }

    /// What was measured.  A trace that was never ended ends with its last event.
    pub fn finish(mut self) -> Metrics {
        self.end(Time(self.state.last()));
        let duration = Ns(self.state.last());
        self.check(duration);
        let cpu_time = u128::from(duration.0) * u128::from(self.info.nr_cpus);
        let has_costs = self.info.has_costs;
        let overhead = self.families.cpus.overhead_ns();
        let (total, groups, fairness) = self.sum_up(cpu_time);
        let plots = self.plots(duration);
        let accounting_error = self.state.error();
        // Frees this memory first: the result of a million tasks is large, too.
        self.state = State::default();
        let tasks = self.tasks(cpu_time);
        let families = self.families;
        let has_groups = !families.control_groups.is_empty();
        let (marks, counters) = families.marks.finish(duration);
        Metrics {
            policy: self.info.policy,
            workload: self.info.workload,
            machine: self.info.machine,
            nr_cpus: self.info.nr_cpus,
            duration_ns: duration,
            accounting_error,
            marks,
            total,
            groups,
            control_groups: families.control_groups.finish(cpu_time),
            groups_without_effect: self.info.is_flat && has_groups,
            knows_future: self.info.knows_future,
            tasks,
            task_distributions_dropped: families.latencies.dropped(),
            fairness,
            cpus: families.cpus.finish(has_costs),
            idle_while_runnable: families.idling.finish(cpu_time),
            scheduler: has_costs.then(|| families.scheduler.finish(overhead, cpu_time)),
            counters,
            plots,
        }
    }

    /// Time must add up for every CPU, and over tasks as over CPUs.
    fn check(&mut self, duration: Ns) {
        if let Err(error) = self.families.cpus.check(duration) {
            self.state.fail(error);
        }
        let (tasks, cpus) = (
            Ns(self.families.tasks.run_ns()),
            Ns(self.families.cpus.run_ns()),
        );
        if tasks != cpus {
            self.state.fail(AccountingError::TaskTime { tasks, cpus });
        }
    }

    /// All tasks together, each group, and the fairness over all.
    fn sum_up(&self, cpu_time: u128) -> (Activity, Vec<GroupMetrics>, crate::Fairness) {
        let groups = self.roster.groups();
        let mut tallies = vec![(Tally::default(), 0u64); groups.len()];
        let mut total = Tally::default();
        for (index, entry) in self.roster.iter() {
            let (tally, nr_tasks) = &mut tallies[entry.group as usize];
            tally.add(self.families.tasks.tally(index));
            total.add(self.families.tasks.tally(index));
            *nr_tasks += 1;
        }
        let lasting = self.lasting_tasks();
        let fair = |tasks: &[Lasting]| fairness(tasks, self.info.nice_is_weighted);
        let latencies = &self.families.latencies;
        let group = |(index, (tally, nr_tasks)): (usize, &(Tally, u64))| GroupMetrics {
            name: groups[index].clone(),
            nr_tasks: *nr_tasks,
            fairness: fair(&lasting[index]),
            activity: with_latencies(
                tally.activity(cpu_time),
                latencies.group(index).distributions(),
            ),
        };
        let group_metrics = tallies.iter().enumerate().map(group).collect();
        let activity = with_latencies(total.activity(cpu_time), latencies.total().distributions());
        (activity, group_metrics, fair(&lasting.concat()))
    }

    /// By group, the tasks that were there from the trace's start to its end.
    fn lasting_tasks(&self) -> Vec<Vec<Lasting>> {
        let mut lasting = vec![Vec::new(); self.roster.groups().len()];
        for (index, entry) in self.roster.iter() {
            let tally = self.families.tasks.tally(index);
            if tally.from_start && self.state.is_alive(TaskId(index as u32)) {
                lasting[entry.group as usize].push(Lasting {
                    run_ns: tally.run_ns(),
                    nice: (!entry.reniced).then_some(entry.nice),
                });
            }
        }
        lasting
    }

    fn tasks(&mut self, cpu_time: u128) -> Vec<TaskMetrics> {
        let groups = self.roster.groups().to_vec();
        let families = &self.families;
        let metrics = |(index, entry): (usize, crate::roster::Entry)| {
            let activity = families.tasks.tally(index).activity(cpu_time);
            let latencies = families
                .latencies
                .task(index)
                .map(|pair| pair.distributions());
            TaskMetrics {
                name: entry.name,
                id: TaskId(index as u32),
                group: groups[entry.group as usize].clone(),
                nice: entry.nice,
                activity: with_latencies(activity, latencies.unwrap_or_default()),
            }
        };
        let (announced, tasks) = self.roster.take_tasks();
        let mut published = Vec::with_capacity(announced);
        published.extend(tasks.map(metrics));
        published
    }

    fn plots(&mut self, duration: Ns) -> Plots {
        let timeline = std::mem::take(&mut self.families.timeline);
        let (info, families) = (&self.info, &self.families);
        let groups = self.roster.groups();
        let group_latency = groups.iter().take(MAX_PLOT_GROUPS).enumerate();
        Plots {
            latency: families.latencies.total().plot(),
            group_latency: group_latency
                .map(|(index, group)| GroupLatencyPlot {
                    group: group.clone(),
                    latency: families.latencies.group(index).plot(),
                })
                .collect(),
            waiting: families.waiting.finish(duration),
            shares: families
                .shares
                .finish(groups, duration, info.nr_cpus, info.has_costs),
            timeline: timeline.finish(),
        }
    }
}

impl Sink for Measure {
    fn begin(&mut self, info: &TraceInfo) {
        self.info = info.clone();
        self.families = Families::new(info);
        if !self.task_distributions {
            self.families.latencies.drop_tasks();
        }
        self.state.begin(info.nr_cpus, !info.has_costs);
    }

    fn group(&mut self, info: &GroupInfo) {
        self.state.announce_group(info);
        self.families.control_groups.announce(info);
    }

    fn task(&mut self, info: &TaskInfo) {
        let group = self.roster.group_id(&info.group);
        if self.state.announce(info.id, group) {
            self.roster.insert(info, group);
            self.families.tasks.announce(info.id);
            self.families
                .latencies
                .announce(info.id.index(), group as usize);
            if info.control_group.is_some() {
                self.families
                    .control_groups
                    .join(info.id, info.control_group);
                self.state
                    .join(info.id, info.control_group, &mut self.families);
            }
        }
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        self.state.event(event, &mut self.families);
        match event.kind {
            EventKind::Schedule {
                examined,
                recalculations,
            } => {
                self.families.scheduler.called(examined, recalculations);
            }
            EventKind::Recalculate { passes } => self.families.scheduler.recalculated(passes),
            EventKind::Regroup { task, group } => self.families.control_groups.join(task, group),
            EventKind::Weigh { group, weight } => {
                self.families.control_groups.weigh(group, weight);
            }
            EventKind::Limit { group, max } => self.families.control_groups.limit(group, max),
            EventKind::Throttle { group, on } => {
                let now = event.time.0;
                self.families.control_groups.throttled(group, on, true, now);
            }
            EventKind::Throttled { group, ns, times } => {
                self.families
                    .control_groups
                    .throttled_in_all(group, ns.0, times);
            }
            EventKind::Unthrottle { group, on } => {
                let now = event.time.0;
                self.families
                    .control_groups
                    .throttled(group, on, false, now);
            }
            EventKind::Nice { task, nice } => self.roster.set_nice(task, nice),
            EventKind::Count { counter, by } => {
                let known = self.families.marks.policy_counted(counter, by);
                self.must_be_known(known, event.time, counter);
            }
            EventKind::Mark { mark, count, .. } => {
                let known = self.families.marks.counted(mark, count);
                self.must_be_known(known, event.time, mark.0);
            }
            EventKind::Latency { mark, ns, .. } => {
                let known = self.families.marks.timed(mark, ns);
                self.must_be_known(known, event.time, mark.0);
            }
            _ => {}
        }
    }

    fn end(&mut self, time: Time) {
        if !std::mem::replace(&mut self.ended, true) {
            self.state.end(time, &mut self.families);
        }
    }
}

impl Measure {
    #[inline]
    fn must_be_known(&mut self, known: bool, time: Time, id: u32) {
        if !known {
            self.state.fail(AccountingError::NotAnnounced { time, id });
        }
    }
}

type Latencies = [Option<Box<crate::Distribution>>; 2];

fn with_latencies(activity: Activity, [wakeup_latency_ns, run_delay_ns]: Latencies) -> Activity {
    Activity {
        wakeup_latency_ns,
        run_delay_ns,
        ..activity
    }
}
