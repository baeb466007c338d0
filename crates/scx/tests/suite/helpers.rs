//! Helpers and kfuncs, called as programs call them.

use schedlab_scx::machine::TimerRequest;
use schedlab_scx::{FaultKind, Machine, MapKind};

use crate::assembler::*;

#[test]
fn loops_with_callbacks() {
    // r0 = bpf_loop(10, f, &sum, 0); return sum;    f(i, ctx) { *ctx += i; return i == 6; }
    let program = [
        &[store_imm(10, -8, 0), mov(1, 10)][..],
        &function(2, 7),
        &frame(3, -8),
        &[mov(4, 0), helper(181), load(0, 10, -8), EXIT],
        &[mov(9, 9)],
        &[
            load(3, 2, 0),
            insn(0x0f, 3, 1, 0, 0),
            store(2, 0, 3),
            mov(0, 0),
            insn(0x55, 1, 0, 1, 6),
            mov(0, 1),
            EXIT,
        ],
    ];
    let mut program = program.concat();
    // The callback begins after the function that was put between.
    program[10] = EXIT;
    assert_eq!(run_on(&mut machine(1), &program), Ok(1 + 2 + 3 + 4 + 5 + 6));
}

#[test]
fn entries_of_a_map_one_by_one() {
    let mut m = machine(1);
    let array = m.create_map(spec(MapKind::Array, 4, 8, 5)).unwrap();
    let hash = m.create_map(spec(MapKind::Hash, 4, 8, 5)).unwrap();
    for (id, i) in [array, hash]
        .into_iter()
        .flat_map(|id| (0..5_u32).map(move |i| (id, i)))
    {
        m.map_update(id, &i.to_le_bytes(), &u64::from(i * i).to_le_bytes(), 0)
            .unwrap();
    }
    for id in [array, hash] {
        // sum of (key << 32) + value
        let main = [
            &[store_imm(10, -8, 0)][..],
            &map(1, id),
            &function(2, 6),
            &frame(3, -8),
            &[mov(4, 0), helper(164), load(0, 10, -8), EXIT],
        ];
        let callback = [
            insn(0x61, 5, 2, 0, 0),
            insn(0x67, 5, 0, 0, 32),
            load(6, 3, 0),
            insn(0x0f, 5, 6, 0, 0),
            load(6, 4, 0),
            insn(0x0f, 5, 6, 0, 0),
            store(4, 0, 5),
            mov(0, 0),
            EXIT,
        ];
        let program = [main.concat(), callback.to_vec()].concat();
        assert_eq!(run_on(&mut m, &program), Ok((10 << 32) + 30));
    }
}

#[test]
fn a_callback_without_end_is_a_fault() {
    let program = [
        &[mov(1, 100)][..],
        &function(2, 3),
        &[mov(3, 0), mov(4, 0), helper(181), EXIT],
        &[jump(-1), EXIT],
    ];
    let mut program = program.concat();
    program[1..3].copy_from_slice(&function(2, 4));
    let fault = run_on(&mut machine(1), &program).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Looped);
    assert_eq!(fault.program, "test");
}

#[test]
fn time_and_place() {
    let mut m = machine(4);
    m.now_ns = 1234;
    m.this_cpu = 3;
    assert_eq!(run_on(&mut m, &[helper(5), EXIT]), Ok(1234));
    assert_eq!(run_on(&mut m, &[helper(8), EXIT]), Ok(3));
    let jiffies = run_on(&mut m, &[helper(118), EXIT]).unwrap();
    m.now_ns += 5_000_000;
    assert_eq!(run_on(&mut m, &[helper(118), EXIT]), Ok(jiffies + 5));
}

#[test]
fn the_same_seed_gives_the_same_random_numbers() {
    let numbers = |seed| {
        let mut m = machine(2);
        let program = load_insns(&mut m, &[helper(7), EXIT]);
        let mut m = m.freeze().unwrap().machine(&topology(2), seed).unwrap();
        (0..5)
            .map(|_| m.call(program, &[]).unwrap())
            .collect::<Vec<u64>>()
    };
    assert_eq!(numbers(1), numbers(1));
    assert_ne!(numbers(1), numbers(2));
    assert!(numbers(3)
        .iter()
        .all(|&number| number <= u64::from(u32::MAX)));
}

#[test]
fn timers_are_handed_over() {
    let mut m = machine(2);
    let id = m.create_map(spec(MapKind::Array, 4, 24, 2)).unwrap();
    let timer = |m: &mut Machine, then: &[u64]| {
        let insns = [&value(6, id, 24)[..], then].concat();
        run_on(m, &insns).unwrap() as i64
    };
    let init = [
        &[copy(1, 6)][..],
        &map(2, id),
        &[mov(3, 0), helper(169), EXIT],
    ]
    .concat();
    // The callback counts in the value's third word, and returns.
    let set = [
        &[copy(1, 6)][..],
        &function(2, 2),
        &[helper(170), EXIT],
        &[load(4, 3, 16), add(4, 1), store(3, 16, 4), mov(0, 0), EXIT],
    ];
    let start = [copy(1, 6), mov(2, 500), mov(3, 0), helper(171), EXIT];
    let cancel = [copy(1, 6), helper(172), EXIT];
    assert_eq!(timer(&mut m, &start), -i64::from(libc::EINVAL));
    assert_eq!(timer(&mut m, &init), 0);
    assert_eq!(timer(&mut m, &init), -i64::from(libc::EBUSY));
    assert_eq!(timer(&mut m, &set.concat()), 0);
    (m.now_ns, m.this_cpu) = (1000, 1);
    assert_eq!(timer(&mut m, &start), 0);
    let requests = m.take_timers();
    let [TimerRequest::Start {
        timer: at,
        at_ns: 1500,
        cpu: 1,
    }] = requests[..]
    else {
        panic!("{requests:?}");
    };
    m.timer_expired(at).unwrap();
    m.timer_expired(at).unwrap();
    let value = m.map_lookup(id, &[1, 0, 0, 0]).unwrap();
    assert_eq!(value[16], 1, "it expires once for each start");
    assert_eq!(timer(&mut m, &start), 0);
    assert_eq!(timer(&mut m, &cancel), 1);
    assert_eq!(m.take_timers().len(), 2);
}

/// Calls a kfunc with arguments.
fn call_kfunc(m: &mut Machine, name: &str, arguments: &[u64]) -> u64 {
    let setup = (1..)
        .zip(arguments)
        .flat_map(|(r, &argument)| constant(r, argument));
    let insns = setup.chain([kfunc(m, name), EXIT]).collect::<Vec<u64>>();
    run_on(m, &insns).unwrap()
}

#[test]
fn masks_of_cpus() {
    let mut m = machine(70);
    let one = call_kfunc(&mut m, "bpf_cpumask_create", &[]);
    let two = call_kfunc(&mut m, "bpf_cpumask_create", &[]);
    let cpus = |m: &mut Machine, mask| {
        (0..72)
            .filter(|&cpu| call_kfunc(m, "bpf_cpumask_test_cpu", &[cpu, mask]) != 0)
            .collect::<Vec<u64>>()
    };
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_first", &[one]), 70);
    for cpu in [3, 64, 69, 70, 1000] {
        call_kfunc(&mut m, "bpf_cpumask_set_cpu", &[cpu, one]);
    }
    assert_eq!(cpus(&mut m, one), [3, 64, 69]);
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_first", &[one]), 3);
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_first_zero", &[one]), 0);
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_weight", &[one]), 3);
    call_kfunc(&mut m, "bpf_cpumask_setall", &[two]);
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_full", &[two]), 1);
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_first_zero", &[two]), 70);
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_subset", &[one, two]), 1);
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_subset", &[two, one]), 0);
    assert_eq!(
        call_kfunc(&mut m, "bpf_cpumask_test_and_clear_cpu", &[64, two]),
        1
    );
    assert_eq!(
        call_kfunc(&mut m, "bpf_cpumask_test_and_clear_cpu", &[64, two]),
        0
    );
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_and", &[two, two, one]), 1);
    assert_eq!(cpus(&mut m, two), [3, 69]);
    let any = [(); 3].map(|()| call_kfunc(&mut m, "bpf_cpumask_any_distribute", &[one]));
    assert_eq!(any, [3, 64, 69]);
    assert_eq!(
        call_kfunc(&mut m, "bpf_cpumask_any_and_distribute", &[one, two]),
        3
    );
    call_kfunc(&mut m, "bpf_cpumask_clear", &[two]);
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_empty", &[two]), 1);
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_intersects", &[one, two]), 0);
    call_kfunc(&mut m, "bpf_cpumask_release", &[one]);
    assert_eq!(
        call_kfunc(&mut m, "bpf_cpumask_create", &[]),
        one,
        "freed ones are used again"
    );
    assert_eq!(call_kfunc(&mut m, "bpf_cpumask_empty", &[one]), 1);
}

#[test]
fn loops_over_numbers_and_bits() {
    let mut m = machine(1);
    // sum = 0; bpf_for(i, 3, 8) sum += i
    let program = [
        &[mov(6, 0)][..],
        &frame(1, -8),
        &[mov(2, 3), mov(3, 8), kfunc(&m, "bpf_iter_num_new")],
        &frame(1, -8),
        &[
            kfunc(&m, "bpf_iter_num_next"),
            jump_if(0, 0, 3),
            insn(0x61, 1, 0, 0, 0),
            insn(0x0f, 6, 1, 0, 0),
            jump(-7),
        ],
        &frame(1, -8),
        &[kfunc(&m, "bpf_iter_num_destroy"), copy(0, 6), EXIT],
    ];
    assert_eq!(run_on(&mut m, &program.concat()), Ok(3 + 4 + 5 + 6 + 7));
    let iterator = m.memory.allocate(64);
    assert_eq!(
        call_kfunc(&mut m, "bpf_iter_num_new", &[iterator, 8, 3]) as i32,
        -libc::EINVAL
    );
    assert_eq!(call_kfunc(&mut m, "bpf_iter_num_next", &[iterator]), 0);
    assert_eq!(
        call_kfunc(&mut m, "bpf_iter_num_new", &[iterator, 0, 9 << 20]) as i32,
        -libc::E2BIG
    );
    let words = m.memory.allocate(16);
    m.memory.set(words, [1_u64 << 5 | 1 << 63, 1 << 7]).unwrap();
    assert_eq!(
        call_kfunc(&mut m, "bpf_iter_bits_new", &[iterator, words, 2]),
        0
    );
    let bits: Vec<u32> = std::iter::from_fn(|| {
        let at = call_kfunc(&mut m, "bpf_iter_bits_next", &[iterator]);
        (at != 0).then(|| m.memory.get(at))
    })
    .collect();
    assert_eq!(bits, [5, 63, 71]);
    call_kfunc(&mut m, "bpf_iter_bits_destroy", &[iterator]);
    assert_eq!(
        call_kfunc(&mut m, "bpf_iter_bits_new", &[iterator, 0, 2]) as i32,
        -libc::EINVAL
    );
}

#[test]
fn pages_of_an_arena() {
    let user = 0x1_0000_0000_u64;
    let mut m = machine(1);
    let mut arena = spec(MapKind::Arena, 0, 0, 4);
    arena.extra = user;
    let id = m.create_map(arena).unwrap();
    let address = run_on(&mut m, &[&map(0, id)[..], &[EXIT]].concat()).unwrap();
    let allocate = |m: &mut Machine, at: u64, count: u64| {
        call_kfunc(m, "bpf_arena_alloc_pages", &[address, at, count, 0, 0])
    };
    assert_eq!(allocate(&mut m, 0, 1), user);
    assert_eq!(allocate(&mut m, 0, 2), user + 4096);
    assert_eq!(allocate(&mut m, 0, 2), 0, "one page is left");
    call_kfunc(&mut m, "bpf_arena_free_pages", &[address, user, 1]);
    assert_eq!(allocate(&mut m, user, 1), user);
    assert_eq!(allocate(&mut m, user, 1), 0);
    assert_eq!(allocate(&mut m, 0, 1), user + 3 * 4096);
    // What the loader touches is in use.
    call_kfunc(&mut m, "bpf_arena_free_pages", &[address, user, 4]);
    let file = std::fs::File::from(m.map_file(id).unwrap().try_clone_to_owned().unwrap());
    std::os::unix::fs::FileExt::write_all_at(&file, &[1], 3 * 4096).unwrap();
    assert_eq!(allocate(&mut m, 0, 4), 0);
    assert_eq!(allocate(&mut m, 0, 3), user);
}

#[test]
fn lists_and_trees() {
    let mut m = machine(1);
    let (list, root) = (0xffff_8880_0010_0000_u64, 0xffff_8880_0010_0100_u64);
    let node = |i: u64| 0xffff_8880_0020_0000 + 64 * i;
    for i in 1..=3 {
        let kind = if i == 3 {
            "bpf_list_push_front_impl"
        } else {
            "bpf_list_push_back_impl"
        };
        assert_eq!(call_kfunc(&mut m, kind, &[list, node(i), 0, 0]), 0);
    }
    let popped = ["front", "back", "front", "back"]
        .map(|end| call_kfunc(&mut m, &format!("bpf_list_pop_{end}"), &[list]));
    assert_eq!(popped, [node(3), node(2), node(1), 0]);
    // less(a, b): by the first word.
    for (i, key) in [(1, 50_u64), (2, 20), (3, 50), (4, 70)] {
        m.memory.set(node(i), key).unwrap();
        let add = [
            &constant(1, root)[..],
            &constant(2, node(i)),
            &function(3, 4),
            &[mov(4, 0), mov(5, 0), kfunc(&m, "bpf_rbtree_add_impl"), EXIT],
            &[
                load(3, 1, 0),
                load(4, 2, 0),
                mov(0, 1),
                insn(0xad, 3, 4, 1, 0),
                mov(0, 0),
                EXIT,
            ],
        ];
        assert_eq!(run_on(&mut m, &add.concat()), Ok(0));
    }
    let mut order = Vec::new();
    loop {
        let first = call_kfunc(&mut m, "bpf_rbtree_first", &[root]);
        if first == 0 {
            break;
        }
        assert_eq!(
            call_kfunc(&mut m, "bpf_rbtree_remove", &[root, first]),
            first
        );
        order.push(first);
    }
    assert_eq!(
        order,
        [2, 1, 3, 4].map(node),
        "equal ones in the order they came"
    );
}

#[test]
fn printf() {
    let mut m = machine(1);
    let text = m.memory.allocate(64);
    m.memory.write(text, b"name\0").unwrap();
    let all = m.format(
        "%d %5u|%-5x|%05d %llx %lu %s %c %% %p %03d",
        &[
            (-1_i64) as u64,
            7,
            0xabc,
            42,
            u64::MAX,
            9,
            text,
            65,
            0x10,
            (-5_i64) as u64,
        ],
    );
    assert_eq!(
        all,
        "-1     7|abc  |00042 ffffffffffffffff 9 name A % 0000000000000010 -05"
    );
    assert_eq!(m.format("%d %s", &[]), "0 (null)");
    assert_eq!(m.format("%u %d", &[u64::MAX, 0xffff_ffff]), "4294967295 -1");
}

#[test]
fn reading_what_may_not_be_there() {
    let mut m = machine(1);
    let read = |m: &mut Machine, number: i32, len: i32, from: u64| {
        let insns = [
            &[store_imm(10, -8, -1)][..],
            &frame(1, -8),
            &[mov(2, len)],
            &constant(3, from),
            &[helper(number), store(10, -16, 0), load(0, 10, -8), EXIT],
        ];
        run_on(m, &insns.concat()).unwrap()
    };
    let text = m.memory.allocate(16);
    m.memory.write(text, b"abcdefghi\0").unwrap();
    assert_eq!(read(&mut m, 113, 8, text), u64::from_le_bytes(*b"abcdefgh"));
    assert_eq!(read(&mut m, 113, 8, 8), 0);
    assert_eq!(
        read(&mut m, 115, 4, text),
        u64::from_le_bytes(*b"abc\0\xff\xff\xff\xff")
    );
}

#[test]
fn variables_of_the_kernel_are_per_cpu() {
    let mut m = machine(2);
    let base = m.variable("runqueues").unwrap();
    let id = m
        .kernel
        .btf
        .find(schedlab_scx::btf::Kind::Var, "runqueues")
        .unwrap();
    let program = load_insns(
        &mut m,
        &[
            &[load(2, 1, 0)][..],
            &wide(1, 3, id.0 as i32, 0),
            &[helper(153), EXIT],
        ]
        .concat(),
    );
    assert_eq!(m.call(program, &[0]), Ok(base));
    assert_eq!(
        m.call(program, &[1]),
        Ok(base + schedlab_scx::memory::PER_CPU_STRIDE)
    );
    assert_eq!(m.call(program, &[2]), Ok(0));
}

#[test]
fn another_number_of_cpus_moves_no_map() {
    let addresses = |nr_cpus| {
        let mut m = machine(nr_cpus);
        let map_of = |m: &mut Machine, kind, entries| {
            let id = m.create_map(spec(kind, 4, 64, entries)).unwrap();
            run_on(m, &[&map(0, id)[..], &[EXIT]].concat()).unwrap()
        };
        [
            map_of(&mut m, MapKind::Array, nr_cpus),
            map_of(&mut m, MapKind::PerCpuArray, 1),
            map_of(&mut m, MapKind::Hash, nr_cpus * 10),
            map_of(&mut m, MapKind::Array, 5),
        ]
    };
    assert_eq!(addresses(2), addresses(64));
}
