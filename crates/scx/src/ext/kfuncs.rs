//! What programs call: the kfuncs of kernel/sched/ext.c and ext_idle.c.
//!
//! A kfunc checks what the kernel checks, with its messages.  Pointers that are no task of this machine count as
//! tasks that are not the scheduler's.

use super::consts::{dsq, enq, ops, reenq, CPUPERF_ONE, ITER_REV, NONE};
use super::dsq::DsqIndex;
use super::exit::ExitKind;
use super::idle::EBUSY;
use super::ops::Op;

use crate::helpers::{calls, Kfunc};
use crate::machine::Machine;

/// __SCX_DSQ_ITER_HAS_SLICE and _HAS_VTIME, in an iterator's third word.
const HAS_SLICE: u64 = 1;
const HAS_VTIME: u64 = 2;

/// Marks an iterator that is in use.
const ITERATOR: u64 = 0x7363_785f_6974_6572;

/// What a program gets for a negative number.
fn number(value: i32) -> u64 {
    i64::from(value) as u64
}

/// A CPU or -EBUSY.
fn cpu_or_busy(cpu: Option<u32>) -> u64 {
    cpu.map_or(number(EBUSY), u64::from)
}

/// Builds the table: name and function.
macro_rules! kfuncs {
    ($($name:ident $call:ident,)*) => {
        &[$(Kfunc { name: stringify!($name), call: $call },)*]
    };
}

/// Kfuncs of this part, by name.
pub static KFUNCS: &[Kfunc] = kfuncs![
    scx_bpf_create_dsq create_dsq,
    scx_bpf_destroy_dsq destroy_dsq,
    scx_bpf_dsq_nr_queued dsq_nr_queued,
    scx_bpf_dsq_peek dsq_peek,
    scx_bpf_dsq_reenq dsq_reenq,
    scx_bpf_reenqueue_local reenqueue_local,
    scx_bpf_reenqueue_local___v2 reenqueue_local_later,
    scx_bpf_dsq_insert dsq_insert,
    scx_bpf_dsq_insert___v2 dsq_insert,
    scx_bpf_dispatch dsq_insert,
    scx_bpf_dsq_insert_vtime dsq_insert_vtime,
    scx_bpf_dispatch_vtime dsq_insert_vtime,
    __scx_bpf_dsq_insert_vtime dsq_insert_vtime_args,
    scx_bpf_dispatch_nr_slots dispatch_nr_slots,
    scx_bpf_dispatch_cancel dispatch_cancel,
    scx_bpf_dsq_move_to_local dsq_move_to_local,
    scx_bpf_dsq_move_to_local___v2 dsq_move_to_local_flags,
    scx_bpf_consume dsq_move_to_local,
    bpf_iter_scx_dsq_new iter_new,
    bpf_iter_scx_dsq_next iter_next,
    bpf_iter_scx_dsq_destroy iter_destroy,
    scx_bpf_dsq_move_set_slice move_set_slice,
    scx_bpf_dispatch_from_dsq_set_slice move_set_slice,
    scx_bpf_dsq_move_set_vtime move_set_vtime,
    scx_bpf_dispatch_from_dsq_set_vtime move_set_vtime,
    scx_bpf_dsq_move dsq_move,
    scx_bpf_dispatch_from_dsq dsq_move,
    scx_bpf_dsq_move_vtime dsq_move_vtime,
    scx_bpf_dispatch_vtime_from_dsq dsq_move_vtime,
    scx_bpf_select_cpu_dfl select_cpu_dfl,
    scx_bpf_select_cpu_and select_cpu_and,
    __scx_bpf_select_cpu_and select_cpu_and_args,
    scx_bpf_get_idle_cpumask get_idle_cpumask,
    scx_bpf_get_idle_cpumask_node get_idle_cpumask_node,
    scx_bpf_get_idle_smtmask get_idle_smtmask,
    scx_bpf_get_idle_smtmask_node get_idle_smtmask_node,
    scx_bpf_put_idle_cpumask nothing,
    scx_bpf_test_and_clear_cpu_idle test_and_clear_cpu_idle,
    scx_bpf_pick_idle_cpu pick_idle_cpu,
    scx_bpf_pick_idle_cpu_node pick_idle_cpu_node,
    scx_bpf_pick_any_cpu pick_any_cpu,
    scx_bpf_pick_any_cpu_node pick_any_cpu_node,
    scx_bpf_cpu_node cpu_node,
    scx_bpf_kick_cpu kick_cpu,
    scx_bpf_exit_bstr exit_bstr,
    scx_bpf_error_bstr error_bstr,
    scx_bpf_dump_bstr dump_bstr,
    scx_bpf_cpuperf_cap cpuperf_cap,
    scx_bpf_cpuperf_cur cpuperf_cur,
    scx_bpf_cpuperf_set cpuperf_set,
    scx_bpf_nr_node_ids nr_node_ids,
    scx_bpf_nr_cpu_ids nr_cpu_ids,
    scx_bpf_get_possible_cpumask all_cpus,
    scx_bpf_get_online_cpumask all_cpus,
    scx_bpf_put_cpumask nothing,
    scx_bpf_task_running task_running,
    scx_bpf_task_cpu task_cpu,
    scx_bpf_cpu_rq cpu_rq,
    scx_bpf_locked_rq locked_rq,
    scx_bpf_cpu_curr cpu_curr,
    scx_bpf_task_cgroup task_cgroup,
    scx_bpf_now now,
    scx_bpf_events events,
    scx_bpf_task_set_slice task_set_slice,
    scx_bpf_task_set_dsq_vtime task_set_dsq_vtime,
];

calls! {
    nothing(_m) { 0 }

    // ---- dispatch queues ----------------------------------------------------------

    create_dsq(m, id, node) {
        let node = node as i32;
        if !m.ext.on {
            return number(-libc::ENODEV);
        }
        let nodes = m.ext.idle.nr_nodes() as i32;
        if !(-1..nodes).contains(&node) || id & dsq::BUILTIN != 0 {
            return number(-libc::EINVAL);
        }
        match m.ext.dsqs.create(id) {
            Some(_) => 0,
            None => number(-libc::EEXIST),
        }
    }

    destroy_dsq(m, id) {
        let Some(queue) = m.ext.dsqs.find(id) else {
            return 0;
        };
        match m.ext.dsqs.nr(queue) {
            0 => m.ext.dsqs.destroy(queue),
            nr => m.scx_error(format!("attempting to destroy in-use dsq 0x{id:016x} (nr={nr})")),
        }
        0
    }

    dsq_nr_queued(m, id) {
        if !m.ext.on {
            return number(-libc::ENODEV);
        }
        let queue = if id == dsq::LOCAL {
            Some(m.ext.rq(m.this_cpu).local)
        } else if id & dsq::LOCAL_ON == dsq::LOCAL_ON {
            let cpu = m.ops_cpu_valid((id & dsq::LOCAL_CPU_MASK) as i32, "");
            cpu.map(|cpu| m.ext.rq(cpu).local)
        } else {
            m.ext.dsqs.find(id)
        };
        queue.map_or(number(-libc::ENOENT), |queue| u64::from(m.ext.dsqs.nr(queue)))
    }

    dsq_peek(m, id) {
        if !m.ext.on {
            return 0;
        }
        if id & dsq::BUILTIN != 0 {
            m.scx_error(format!("peek disallowed on builtin DSQ 0x{id:x}"));
            return 0;
        }
        let Some(queue) = m.ext.dsqs.find(id) else {
            m.scx_error(format!("peek on non-existent DSQ 0x{id:x}"));
            return 0;
        };
        m.ext.dsqs.first(queue).map_or(0, |t| m.ext.task(t).address)
    }

    dsq_reenq(m, id, flags) {
        m.reenq_of(id, flags);
        0
    }

    reenqueue_local_later(m) {
        m.reenq_of(dsq::LOCAL, 0);
        0
    }

    reenqueue_local(m) {
        if !m.ext.on || !m.may_be_called("scx_bpf_reenqueue_local", &[Op::CpuRelease]) {
            return 0;
        }
        let cpu = m.this_cpu;
        u64::from(m.reenq_local(cpu, reenq::ANY))
    }

    // ---- dispatching -----------------------------------------------------------------

    dsq_insert(m, p, id, slice, flags) {
        u64::from(m.insert(p, id, slice, None, flags))
    }

    dsq_insert_vtime(m, p, id, slice, vtime, flags) {
        u64::from(m.insert(p, id, slice, Some(vtime), flags))
    }

    dsq_insert_vtime_args(m, p, args) {
        let fields = m.ext.fields;
        let get = |field: u64| m.memory.get::<u64>(args.wrapping_add(field));
        let (id, slice) = (get(fields.vtime_dsq_id), get(fields.vtime_slice));
        let (vtime, flags) = (get(fields.vtime_vtime), get(fields.vtime_enq_flags));
        u64::from(m.insert(p, id, slice, Some(vtime), flags))
    }

    dispatch_nr_slots(m) {
        if !m.ext.on {
            return 0;
        }
        u64::from(m.ext.max_batch - m.ext.rq(m.this_cpu).buf.len() as u32)
    }

    dispatch_cancel(m) {
        let cpu = m.this_cpu;
        if m.ext.on && m.ext.rq_mut(cpu).buf.pop().is_none() {
            m.scx_error("dispatch buffer underflow".into());
        }
        0
    }

    dsq_move_to_local(m, id) { u64::from(m.move_to_local(id, 0)) }

    dsq_move_to_local_flags(m, id, flags) { u64::from(m.move_to_local(id, flags)) }

    // ---- iterators: a word that marks them, a place, flags, a slice and a vtime ---------

    iter_new(m, it, id, flags) {
        m.set_or_fail(it, [0_u64; 6]);
        if !m.ext.on {
            return number(-libc::ENODEV);
        }
        if flags & !ITER_REV != 0 {
            return number(-libc::EINVAL);
        }
        let Some(queue) = m.ext.dsqs.find(id) else {
            return number(-libc::ENOENT);
        };
        let cursor = m.ext.dsqs.iterate(queue, flags & ITER_REV != 0);
        m.set_or_fail(it, [ITERATOR, u64::from(cursor)]);
        0
    }

    iter_next(m, it) {
        let next = m.iterator(it).and_then(|cursor| m.ext.dsqs.advance(cursor));
        next.map_or(0, |t| m.ext.task(t).address)
    }

    iter_destroy(m, it) {
        if let Some(cursor) = m.iterator(it) {
            m.ext.dsqs.end(cursor);
            m.set_or_fail(it, 0_u64);
        }
        0
    }

    move_set_slice(m, it, slice) {
        let flags: u64 = m.memory.get(it.wrapping_add(16));
        m.set_or_fail(it.wrapping_add(16), flags | HAS_SLICE);
        m.set_or_fail(it.wrapping_add(24), slice);
        0
    }

    move_set_vtime(m, it, vtime) {
        let flags: u64 = m.memory.get(it.wrapping_add(16));
        m.set_or_fail(it.wrapping_add(16), flags | HAS_VTIME);
        m.set_or_fail(it.wrapping_add(32), vtime);
        0
    }

    dsq_move(m, it, p, id, flags) { u64::from(m.move_between(it, p, id, flags)) }

    dsq_move_vtime(m, it, p, id, flags) {
        u64::from(m.move_between(it, p, id, flags | enq::DSQ_PRIQ))
    }

    // ---- idle CPUs --------------------------------------------------------------------

    select_cpu_dfl(m, p, prev_cpu, wake_flags, is_idle) {
        let found = m.select_from_kfunc(p, prev_cpu as i32, wake_flags, None, 0);
        m.set_or_fail(is_idle, u8::from(found.is_ok()));
        found.map_or(number(prev_cpu as i32), u64::from)
    }

    select_cpu_and(m, p, prev_cpu, wake_flags, allowed, flags) {
        let found = m.select_from_kfunc(p, prev_cpu as i32, wake_flags, Some(allowed), flags);
        found.map_or_else(number, u64::from)
    }

    select_cpu_and_args(m, p, allowed, args) {
        let fields = m.ext.fields;
        let prev_cpu: i32 = m.memory.get(args.wrapping_add(fields.and_prev_cpu));
        let wake_flags = m.memory.get(args.wrapping_add(fields.and_wake_flags));
        let flags = m.memory.get(args.wrapping_add(fields.and_flags));
        let found = m.select_from_kfunc(p, prev_cpu, wake_flags, Some(allowed), flags);
        found.map_or_else(number, u64::from)
    }

    get_idle_cpumask(m) { m.idle_mask(false) }

    get_idle_smtmask(m) { m.idle_mask(true) }

    get_idle_cpumask_node(m, node) { m.idle_mask_of_node(node as i32, false) }

    get_idle_smtmask_node(m, node) { m.idle_mask_of_node(node as i32, true) }

    test_and_clear_cpu_idle(m, cpu) {
        if !m.ext.on || !m.builtin_idle_enabled() {
            return 0;
        }
        let cpu = m.ops_cpu_valid(cpu as i32, "");
        cpu.map_or(0, |cpu| u64::from(m.idle_test_and_clear_cpu(cpu)))
    }

    pick_idle_cpu(m, allowed, flags) {
        if !m.ext.on {
            return number(-libc::ENODEV);
        }
        if m.refuse_per_node("per-node idle tracking is enabled") || !m.builtin_idle_enabled() {
            return number(EBUSY);
        }
        let allowed = m.read_mask(allowed);
        cpu_or_busy(m.pick_idle_cpu(&allowed, None, flags))
    }

    pick_idle_cpu_node(m, allowed, node, flags) {
        if !m.ext.on {
            return number(-libc::ENODEV);
        }
        let allowed = m.read_mask(allowed);
        match m.validate_node(node as i32) {
            Ok(node) => cpu_or_busy(m.pick_idle_cpu(&allowed, Some(node), flags)),
            Err(error) => number(error),
        }
    }

    pick_any_cpu(m, allowed, flags) {
        if !m.ext.on {
            return number(-libc::ENODEV);
        }
        if m.refuse_per_node("per-node idle tracking is enabled") {
            return number(EBUSY);
        }
        let allowed = m.read_mask(allowed);
        let idle = match m.is_builtin_idle() {
            true => m.pick_idle_cpu(&allowed, None, flags),
            false => None,
        };
        cpu_or_busy(idle.or_else(|| m.any_distribute(&allowed)))
    }

    pick_any_cpu_node(m, allowed, node, flags) {
        if !m.ext.on {
            return number(-libc::ENODEV);
        }
        let allowed = m.read_mask(allowed);
        let node = match m.validate_node(node as i32) {
            Ok(node) => node,
            Err(error) => return number(error),
        };
        let idle = m.pick_idle_cpu(&allowed, Some(node), flags);
        let among = match flags & super::consts::pick::IN_NODE {
            0 => allowed,
            _ => allowed.and(&m.cpus_of_node(node)),
        };
        cpu_or_busy(idle.or_else(|| m.any_distribute(&among)))
    }

    cpu_node(m, cpu) {
        match m.ops_cpu_valid(cpu as i32, "") {
            Some(cpu) => u64::from(m.topology.cpus[cpu as usize].node),
            None => number(-1),
        }
    }

    kick_cpu(m, cpu, flags) {
        if m.ext.on {
            m.kick_cpu(cpu as i32, flags);
        }
        0
    }

    // ---- the end, and dumps --------------------------------------------------------------

    exit_bstr(m, code, format, data, size) {
        if let Some(text) = m.bstr(format, data, size) {
            m.scx_exit(ExitKind::UnregBpf, code as i64, text);
        }
        0
    }

    error_bstr(m, format, data, size) {
        if let Some(text) = m.bstr(format, data, size) {
            m.scx_exit(ExitKind::ErrorBpf, 0, text);
        }
        0
    }

    dump_bstr(m, format, data, size) {
        let text = m.bstr(format, data, size);
        if !text.is_some_and(|text| m.add_to_dump(&text)) {
            m.scx_error("scx_bpf_dump() must only be called from ops.dump() and friends".into());
        }
        0
    }

    // ---- CPUs and tasks --------------------------------------------------------------------

    cpuperf_cap(m, cpu) {
        let cpu = m.ops_cpu_valid(cpu as i32, "");
        u64::from(cpu.map_or(CPUPERF_ONE, |cpu| m.capacity(cpu)))
    }

    // FIDELITY: a CPU has one frequency; what scx_bpf_cpuperf_set() sets is kept and does nothing.
    cpuperf_cur(m, cpu) {
        m.ops_cpu_valid(cpu as i32, "");
        u64::from(CPUPERF_ONE)
    }

    cpuperf_set(m, cpu, perf) {
        m.set_cpuperf(cpu as i32, perf as u32);
        0
    }

    nr_node_ids(m) {
        let nodes = m.topology.cpus.iter().map(|cpu| cpu.node + 1);
        u64::from(nodes.max().unwrap_or(1))
    }

    nr_cpu_ids(m) { u64::from(m.nr_cpus) }

    all_cpus(m) { m.all_cpus() }

    task_running(m, p) {
        let t = m.known_task(p);
        u64::from(t.is_some_and(|t| m.ext.rq(m.ext.task(t).cpu).curr == t))
    }

    task_cpu(m, p) {
        u64::from(m.memory.get::<u32>(p.wrapping_add(m.ext.fields.cpu)))
    }

    cpu_rq(m, cpu) {
        let cpu = m.ops_cpu_valid(cpu as i32, "").filter(|_| m.ext.on);
        cpu.map_or(0, |cpu| m.ext.rq(cpu).address)
    }

    locked_rq(m) {
        match m.ext.context.locked() {
            Some(cpu) => m.ext.rq(cpu).address,
            None => {
                m.scx_error("accessing rq without holding rq lock".into());
                0
            }
        }
    }

    cpu_curr(m, cpu) {
        let cpu = m.ops_cpu_valid(cpu as i32, "").filter(|_| m.ext.on);
        cpu.map_or(0, |cpu| m.curr_address(cpu))
    }

    task_cgroup(m, p) {
        let t = m.known_task(p);
        if t.is_none_or(|t| !m.ext.context.is_about(t)) {
            m.scx_error("called on a task not being operated on".into());
            return m.root_cgroup();
        }
        m.cgroup_scheduled(p)
    }

    now(m) { m.now_ns }

    events(m, to, size) {
        let e = *m.ext.events();
        let all = [
            e.select_cpu_fallback, 0, e.dispatch_keep_last, 0, 0, e.reenq_immed, e.reenq_local_repeat,
            e.refill_slice_dfl, 0, 0, 0, e.insert_not_owned, 0,
        ];
        for (i, value) in (0..).zip(all).take(size as usize / 8) {
            m.set_or_fail(to.wrapping_add(8 * i), value);
        }
        0
    }

    task_set_slice(m, p, slice) {
        let Some(t) = m.known_task(p) else {
            return 0;
        };
        m.set_slice(t, slice);
        1
    }

    task_set_dsq_vtime(m, p, vtime) {
        let Some(t) = m.known_task(p) else {
            return 0;
        };
        m.set_dsq_vtime(t, vtime);
        1
    }
}

impl Machine {
    /// The task a program's pointer means.
    #[inline]
    fn known_task(&self, p: u64) -> Option<u32> {
        let t = self.task_at(p)?.0;
        ((t as usize) < self.ext.tasks.len()).then_some(t)
    }

    /// What a CPU runs: rq->curr.
    pub(super) fn curr_address(&self, cpu: u32) -> u64 {
        let rq = self.ext.rq(cpu);
        self.address_on(cpu, rq.curr)
    }

    /// Address of a task of a CPU, or of its idle task.
    pub(super) fn address_on(&self, cpu: u32, t: u32) -> u64 {
        match t {
            NONE | super::STOPPER => self.ext.rq(cpu).idle,
            t => self.ext.task(t).address,
        }
    }

    /// Is one of these operations being called?  The kernel asks when it loads a program
    /// (scx_kfunc_context_filter()); here it is an error when it happens.
    #[inline]
    fn may_be_called(&mut self, kfunc: &str, by: &[Op]) -> bool {
        let op = self.ext.context.op();
        let may = op.is_some_and(|op| by.contains(&op));
        if !may {
            self.called_by_wrong_op(kfunc);
        }
        may
    }

    #[cold]
    fn called_by_wrong_op(&mut self, kfunc: &str) {
        let op = self.ext.context.op();
        let place = op.map_or("outside all operations".into(), |op| {
            format!("from ops.{}", op.name())
        });
        self.scx_error(format!(
            "{kfunc}() called {place}, where the kernel allows no such call"
        ));
    }

    /// scx_vet_enq_flags(): the flags, if they are allowed for this queue.
    fn vet_enq_flags(&mut self, id: u64, flags: u64) -> Option<u64> {
        let local = id == dsq::LOCAL || id & dsq::LOCAL_ON == dsq::LOCAL_ON;
        if flags & enq::IMMED != 0 && !local {
            self.scx_error(format!("SCX_ENQ_IMMED on a non-local DSQ 0x{id:x}"));
            return None;
        }
        let always = local && self.ext.flags & ops::ALWAYS_ENQ_IMMED != 0;
        Some(if always { flags | enq::IMMED } else { flags })
    }

    /// scx_bpf_dsq_insert() and _vtime().
    fn insert(&mut self, p: u64, id: u64, slice: u64, vtime: Option<u64>, flags: u64) -> bool {
        if !self.ext.on {
            return false;
        }
        let may = [Op::SelectCpu, Op::Enqueue, Op::Dispatch];
        if !self.may_be_called("scx_bpf_dsq_insert", &may) {
            return false;
        }
        if p == 0 {
            self.scx_error("called with NULL task".into());
            return false;
        }
        if flags & enq::INTERNAL != 0 {
            self.scx_error(format!("invalid enq_flags 0x{flags:x}"));
            return false;
        }
        let owned = self.known_task(p).filter(|&t| !self.ext.task(t).dead);
        let Some(t) = owned else {
            self.ext.events.insert_not_owned += 1;
            return false;
        };
        let Some(mut flags) = self.vet_enq_flags(id, flags) else {
            return false;
        };
        let slice = match slice {
            0 => self.slice(t).max(1),
            slice => slice,
        };
        self.set_slice(t, slice);
        if let Some(vtime) = vtime {
            self.set_dsq_vtime(t, vtime);
            flags |= enq::DSQ_PRIQ;
        }
        self.dsq_insert_commit(t, id, flags);
        true
    }

    /// scx_bpf_dsq_move_to_local()
    fn move_to_local(&mut self, id: u64, flags: u64) -> bool {
        if !self.ext.on || !self.may_be_called("scx_bpf_dsq_move_to_local", &[Op::Dispatch]) {
            return false;
        }
        let Some(flags) = self.vet_enq_flags(dsq::LOCAL, flags) else {
            return false;
        };
        let cpu = self.this_cpu;
        self.flush_dispatch_buf(cpu);
        let Some(queue) = self.ext.dsqs.find(id) else {
            self.scx_error(format!("invalid DSQ ID 0x{id:016x}"));
            return false;
        };
        let moved = self.consume_dispatch_q(cpu, queue, flags);
        self.ext.rq_mut(cpu).dispatched += u32::from(moved);
        moved
    }

    /// The cursor of an iterator in a program's memory.
    fn iterator(&self, it: u64) -> Option<u32> {
        let [mark, cursor]: [u64; 2] = self.memory.get(it);
        (mark == ITERATOR).then_some(cursor as u32)
    }

    /// scx_dsq_move()
    fn move_between(&mut self, it: u64, p: u64, id: u64, flags: u64) -> bool {
        let Some(cursor) = self.iterator(it) else {
            return false;
        };
        let Some(flags) = self.vet_enq_flags(id, flags) else {
            return false;
        };
        let held = self
            .known_task(p)
            .filter(|&t| self.ext.dsqs.holds(cursor, t));
        let overrides: [u64; 3] = self.memory.get(it.wrapping_add(16));
        self.set_or_fail(it.wrapping_add(16), 0_u64);
        let Some(t) = held else {
            return false;
        };
        let to = self.find_dsq_for_dispatch(self.this_cpu, id, self.ext.task(t).cpu);
        if overrides[0] & HAS_VTIME != 0 {
            self.set_dsq_vtime(t, overrides[2]);
        }
        if overrides[0] & HAS_SLICE != 0 {
            self.set_slice(t, overrides[1]);
        }
        self.move_task_between_dsqs(t, flags, to);
        true
    }

    /// scx_bpf_dsq_reenq()
    fn reenq_of(&mut self, id: u64, flags: u64) {
        if !self.ext.on {
            return;
        }
        if flags & !reenq::ANY != 0 {
            return self.scx_error(format!("invalid SCX_REENQ flags 0x{flags:x}"));
        }
        let flags = match flags & reenq::FILTER_MASK {
            0 => reenq::ANY,
            flags => flags,
        };
        let cpu = self.this_cpu;
        let queue: DsqIndex = self.find_dsq_for_dispatch(cpu, id, cpu);
        self.schedule_dsq_reenq(queue, flags);
    }

    /// select_cpu_from_kfunc()
    fn select_from_kfunc(
        &mut self,
        p: u64,
        prev_cpu: i32,
        wake_flags: u64,
        within: Option<u64>,
        flags: u64,
    ) -> Result<u32, i32> {
        if !self.ext.on {
            return Err(-libc::ENODEV);
        }
        let prev_cpu = self.ops_cpu_valid(prev_cpu, "").ok_or(-libc::EINVAL)?;
        if !self.builtin_idle_enabled() {
            return Err(EBUSY);
        }
        let t = self.known_task(p).ok_or(EBUSY)?;
        let within = within.map(|within| self.read_mask(within));
        if self.nr_cpus_allowed(t) != 1 {
            let found = self.select_idle_cpu(t, prev_cpu, wake_flags, within.as_ref(), flags);
            return found.ok_or(EBUSY);
        }
        let allowed = match &within {
            Some(within) => within.has(prev_cpu),
            None => self.allowed_on(t, prev_cpu),
        };
        let idle = allowed && self.idle_test_and_clear_cpu(prev_cpu);
        if idle {
            Ok(prev_cpu)
        } else {
            Err(EBUSY)
        }
    }

    fn idle_mask(&mut self, cores: bool) -> u64 {
        let refused = !self.ext.on
            || self.refuse_per_node("SCX_OPS_BUILTIN_IDLE_PER_NODE enabled")
            || !self.builtin_idle_enabled();
        match refused {
            true => self.no_cpus(),
            false => self.idle_set(None, cores),
        }
    }

    fn idle_mask_of_node(&mut self, node: i32, cores: bool) -> u64 {
        if !self.ext.on {
            return self.no_cpus();
        }
        match self.validate_node(node) {
            Ok(node) => self.idle_set(Some(node), cores),
            Err(_) => self.no_cpus(),
        }
    }

    /// arch_scale_cpu_capacity(): 1024 is the best CPU's.
    fn capacity(&self, cpu: u32) -> u32 {
        let all = &self.ext.hardware.capacities;
        let best = all.iter().copied().max().unwrap_or(0).max(1);
        let own = all.get(cpu as usize).copied().unwrap_or(best);
        (u64::from(own) * u64::from(CPUPERF_ONE) / u64::from(best)).max(1) as u32
    }

    /// scx_bpf_cpuperf_set()
    fn set_cpuperf(&mut self, cpu: i32, perf: u32) {
        if perf > CPUPERF_ONE {
            return self.scx_error(format!("Invalid cpuperf target {perf} for CPU {cpu}"));
        }
        let Some(cpu) = self.ops_cpu_valid(cpu, "").filter(|_| self.ext.on) else {
            return;
        };
        if self
            .ext
            .context
            .locked()
            .is_some_and(|locked| locked != cpu)
        {
            return self.scx_error(format!("Invalid target CPU {cpu}"));
        }
        self.ext.rq_mut(cpu).cpuperf_target = perf;
        let field = self.ext.fields.rq_cpuperf_target;
        self.store_rq(cpu, field, perf);
    }

    /// bstr_format(): none if the arguments are no arguments.
    fn bstr(&mut self, format: u64, data: u64, size: u64) -> Option<String> {
        let size = u64::from(size as u32);
        if size % 8 != 0 || size > 12 * 8 || (size != 0 && data == 0) {
            self.scx_error(format!("invalid data={data:x} and data__sz={size}"));
            return None;
        }
        let arguments: Vec<u64> = (0..size / 8)
            .map(|i| self.memory.get(data.wrapping_add(8 * i)))
            .collect();
        let format = self.memory.string(format, super::consts::EXIT_MSG_LEN);
        Some(self.format(&format, &arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kfunc_is_there_once() {
        let mut names: Vec<&str> = KFUNCS.iter().map(|kfunc| kfunc.name).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
