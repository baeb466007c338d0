//! Time, CPUs, reading memory, loops.

use super::error;
use crate::fault::FaultKind;
use crate::memory::PER_CPU_STRIDE;

/// What jiffies are when the kernel starts: INITIAL_JIFFIES, 5 minutes before 32 bits overflow, with HZ=1000.
const INITIAL_JIFFIES: u64 = (-300_000_i32) as u32 as u64;

/// Most rounds of bpf_loop().
const MOST_ROUNDS: u32 = 8 << 20;

calls! {
    zero(_m) { 0 }

    same(_m, argument) { argument }

    no_such_entry(_m) { error(libc::ENOENT) }

    ktime(m) { m.now_ns }

    jiffies(m) { INITIAL_JIFFIES + m.now_ns / 1_000_000 }

    prandom(m) { u64::from(m.random()) }

    processor_id(m) { u64::from(m.this_cpu) }

    numa_node_id(m) {
        let place = m.topology.cpus.get(m.this_cpu as usize);
        place.map_or(0, |place| u64::from(place.node))
    }

    per_cpu_ptr(m, pointer, cpu) {
        let cpu = cpu as u32;
        match pointer != 0 && cpu < m.nr_cpus {
            true => pointer.wrapping_add(u64::from(cpu) * PER_CPU_STRIDE),
            false => 0,
        }
    }

    this_cpu_ptr(m, pointer) {
        pointer.wrapping_add(u64::from(m.this_cpu) * PER_CPU_STRIDE)
    }

    throw(m, cookie) {
        m.fail(FaultKind::Error(format!("bpf_throw({cookie})")));
        0
    }

    probe_read(m, to, len, from) {
        let len = u64::from(len as u32);
        if m.memory.copy(to, from, len).is_ok() {
            return 0;
        }
        if let Some(bytes) = m.memory.bytes_mut(to, len) {
            bytes.fill(0);
        }
        error(libc::EFAULT)
    }

    probe_read_str(m, to, len, from) {
        let len = u64::from(len as u32);
        if len == 0 {
            return 0;
        }
        if !m.memory.contains(from) {
            let _ = m.memory.set(to, 0_u8);
            return error(libc::EFAULT);
        }
        for i in 0..len {
            let byte = m.memory.get::<u8>(from.wrapping_add(i));
            let byte = if i == len - 1 { 0 } else { byte };
            if m.memory.set(to.wrapping_add(i), byte).is_err() {
                return error(libc::EFAULT);
            }
            if byte == 0 {
                return i + 1;
            }
        }
        len
    }

    bpf_loop(m, rounds, callback, context, flags) {
        let rounds = rounds as u32;
        if flags != 0 {
            return error(libc::EINVAL);
        }
        if rounds > MOST_ROUNDS {
            return error(libc::E2BIG);
        }
        for round in 0..u64::from(rounds) {
            if !m.tick() {
                return round;
            }
            if m.call_function(callback, [round, context, 0, 0, 0]) != 0 {
                return round + 1;
            }
        }
        u64::from(rounds)
    }
}
