//! Maps: what user space and programs do with them, against naive models.

use std::collections::{BTreeMap, VecDeque};

use schedlab_scx::maps::{EXIST, NOEXIST};
use schedlab_scx::{Errno, Machine, MapId, MapKind, ProgramId};
use schedlab_trace::TaskId;

use crate::assembler::*;

fn errno<T: std::fmt::Debug>(result: Result<T, Errno>) -> i32 {
    result.unwrap_err().0
}

fn key(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

/// Programs that do with a map what user space does; the key is the first argument, the value the second.
struct Programs {
    lookup: ProgramId,
    update: ProgramId,
    delete: ProgramId,
}

impl Programs {
    fn new(m: &mut Machine, id: MapId) -> Programs {
        let arguments = [
            load(2, 1, 0),
            store(10, -8, 2),
            load(3, 1, 8),
            store(10, -16, 3),
            load(4, 1, 16),
        ];
        let pointers = [&arguments[..], &map(1, id), &frame(2, -8), &frame(3, -16)].concat();
        let found = [
            helper(1),
            jump_if(0, 0, 2),
            load(0, 0, 0),
            EXIT,
            mov(0, -1),
            EXIT,
        ];
        Programs {
            lookup: load_insns(m, &[&pointers[..], &found].concat()),
            update: load_insns(m, &[&pointers[..], &[helper(2), EXIT]].concat()),
            delete: load_insns(m, &[&pointers[..], &[helper(3), EXIT]].concat()),
        }
    }
}

#[test]
fn hash_maps_are_like_a_simple_model() {
    for kind in [MapKind::Hash, MapKind::LruHash] {
        let mut m = machine(2);
        let id = m.create_map(spec(kind, 4, 8, 20)).unwrap();
        let programs = Programs::new(&mut m, id);
        let mut model: BTreeMap<u32, u64> = BTreeMap::new();
        // The keys, the one that was used last at the end.
        let mut used: VecDeque<u32> = VecDeque::new();
        let mut state = 1_u64;
        for round in 0..4000_u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let number = (state >> 40) as u32 % 32;
            let by_program = state >> 60 & 1 != 0;
            let known = model.get(&number).copied();
            let mut touched;
            match state >> 33 & 3 {
                0 => {
                    let found = match by_program {
                        true => Some(m.call(programs.lookup, &[number.into(), 0, 0]).unwrap())
                            .filter(|&v| v != u64::MAX),
                        false => m
                            .map_lookup(id, &key(number))
                            .ok()
                            .map(|v| u64::from_le_bytes(v.try_into().unwrap())),
                    };
                    assert_eq!(found, known, "round {round}");
                    touched = known.is_some();
                }
                1 | 2 => {
                    let flags = (state >> 50) % 3;
                    let result = match by_program {
                        true => m
                            .call(programs.update, &[number.into(), round, flags])
                            .unwrap() as i64,
                        false => m
                            .map_update(id, &key(number), &round.to_le_bytes(), flags)
                            .map_or_else(|error| -i64::from(error.0), |()| 0),
                    };
                    let full = model.len() == 20 && known.is_none() && kind == MapKind::Hash;
                    let expected = match (known, flags) {
                        (Some(_), NOEXIST) => -libc::EEXIST,
                        (None, EXIST) => -libc::ENOENT,
                        _ if full => -libc::E2BIG,
                        _ => 0,
                    };
                    assert_eq!(result, i64::from(expected), "round {round}");
                    touched = known.is_some();
                    if result == 0 {
                        if model.len() == 20 && known.is_none() {
                            let oldest = used.pop_front().unwrap();
                            model.remove(&oldest);
                        }
                        model.insert(number, round);
                        touched = true;
                    }
                }
                _ => {
                    let result = match by_program {
                        true => m.call(programs.delete, &[number.into(), 0, 0]).unwrap() as i64,
                        false => m
                            .map_delete(id, &key(number))
                            .map_or_else(|error| -i64::from(error.0), |()| 0),
                    };
                    let expected = if known.is_some() { 0 } else { -libc::ENOENT };
                    assert_eq!(result, i64::from(expected), "round {round}");
                    model.remove(&number);
                    used.retain(|&other| other != number);
                    touched = false;
                }
            }
            if touched {
                used.retain(|&other| other != number);
                used.push_back(number);
            }
        }
        let mut found = Vec::new();
        let mut last: Option<Vec<u8>> = None;
        while let Ok(next) = m.map_next_key(id, last.as_deref()) {
            found.push(u32::from_le_bytes(next[..].try_into().unwrap()));
            last = Some(next);
        }
        found.sort();
        assert_eq!(found, model.keys().copied().collect::<Vec<u32>>());
    }
}

#[test]
fn arrays() {
    let mut m = machine(1);
    let id = m.create_map(spec(MapKind::Array, 4, 8, 3)).unwrap();
    let programs = Programs::new(&mut m, id);
    m.map_update(id, &key(2), &7_u64.to_le_bytes(), 0).unwrap();
    assert_eq!(m.call(programs.lookup, &[2, 0, 0]), Ok(7));
    assert_eq!(
        m.call(programs.lookup, &[3, 0, 0]),
        Ok(u64::MAX),
        "beyond the end"
    );
    assert_eq!(m.call(programs.update, &[1, 9, 0]), Ok(0));
    assert_eq!(m.map_lookup(id, &key(1)).unwrap(), 9_u64.to_le_bytes());
    assert_eq!(errno(m.map_lookup(id, &key(3))), libc::ENOENT);
    assert_eq!(errno(m.map_update(id, &key(3), &[0; 8], 0)), libc::E2BIG);
    assert_eq!(
        errno(m.map_update(id, &key(0), &[0; 8], NOEXIST)),
        libc::EEXIST
    );
    assert_eq!(errno(m.map_update(id, &key(0), &[0; 7], 0)), libc::EINVAL);
    assert_eq!(errno(m.map_delete(id, &key(0))), libc::EINVAL);
    assert_eq!(m.map_next_key(id, None).unwrap(), key(0));
    assert_eq!(m.map_next_key(id, Some(&key(1))).unwrap(), key(2));
    assert_eq!(errno(m.map_next_key(id, Some(&key(2)))), libc::ENOENT);
    m.map_freeze(id);
    assert_eq!(errno(m.map_update(id, &key(0), &[0; 8], 0)), libc::EPERM);
}

#[test]
fn each_cpu_has_values_of_its_own() {
    for kind in [MapKind::PerCpuArray, MapKind::PerCpuHash] {
        let mut m = machine(3);
        let id = m.create_map(spec(kind, 4, 4, 8)).unwrap();
        let values: Vec<u8> = (1..=3_u64).flat_map(u64::to_le_bytes).collect();
        m.map_update(id, &key(5), &values, 0).unwrap();
        let programs = Programs::new(&mut m, id);
        for cpu in 0..3 {
            m.this_cpu = cpu;
            assert_eq!(
                m.call(programs.lookup, &[5, 0, 0]).map(|v| v as u32),
                Ok(cpu + 1)
            );
        }
        m.this_cpu = 1;
        assert_eq!(m.call(programs.update, &[5, 40, 0]), Ok(0));
        let found = m.map_lookup(id, &key(5)).unwrap();
        assert_eq!(found, [1_u64, 40, 3].map(u64::to_le_bytes).concat());
        // Another CPU's value.
        let other = [
            &[store_imm(10, -8, 5), load(3, 1, 0)][..],
            &map(1, id),
            &frame(2, -8),
            &[helper(195), EXIT],
        ];
        let other = load_insns(&mut m, &other.concat());
        let at = m.call(other, &[2]).unwrap();
        assert_eq!(m.memory.get::<u32>(at), 3);
        assert_eq!(m.call(other, &[3]), Ok(0));
    }
}

#[test]
fn maps_of_maps() {
    for kind in [MapKind::ArrayOfMaps, MapKind::HashOfMaps] {
        let mut m = machine(1);
        let inner = m.create_map(spec(MapKind::Array, 4, 8, 2)).unwrap();
        let mut outer = spec(kind, 4, 4, 4);
        assert_eq!(errno(m.create_map(outer.clone())), libc::EINVAL);
        outer.inner = Some(inner);
        let outer = m.create_map(outer).unwrap();
        m.map_update(outer, &key(1), &inner.0.to_le_bytes(), 0)
            .unwrap();
        m.map_update(inner, &key(1), &77_u64.to_le_bytes(), 0)
            .unwrap();
        assert_eq!(m.map_lookup(outer, &key(1)).unwrap(), inner.0.to_le_bytes());
        let start = [
            &[store_imm(10, -8, 1)][..],
            &map(1, outer),
            &frame(2, -8),
            &[helper(1), jump_if(0, 0, 6)],
        ];
        let then = [
            &[copy(1, 0)][..],
            &frame(2, -8),
            &[helper(1), jump_if(0, 0, 1), load(0, 0, 0), EXIT],
        ];
        assert_eq!(
            run_on(&mut m, &[start.concat(), then.concat()].concat()),
            Ok(77)
        );
    }
}

#[test]
fn queues_and_stacks() {
    for (kind, expected) in [(MapKind::Queue, [1, 1, 2]), (MapKind::Stack, [3, 3, 2])] {
        let mut m = machine(1);
        let id = m.create_map(spec(kind, 0, 8, 3)).unwrap();
        let operation = |m: &mut Machine, number: i32| {
            let insns = [
                &[load(4, 1, 0), store(10, -8, 4)][..],
                &map(1, id),
                &frame(2, -8),
                &[mov(3, 0), helper(number)],
            ];
            let insns = [
                insns.concat(),
                vec![insn(0x55, 0, 0, 1, 0), load(0, 10, -8), EXIT],
            ]
            .concat();
            load_insns(m, &insns)
        };
        let [push, pop, peek] = [87, 88, 89].map(|number| operation(&mut m, number));
        for value in 1..=3 {
            m.call(push, &[value]).unwrap();
        }
        assert_eq!(m.call(push, &[4]).unwrap() as i32, -libc::E2BIG);
        let found = [peek, pop, pop].map(|program| m.call(program, &[0]).unwrap());
        assert_eq!(found, expected);
        m.map_take(id, &[]).unwrap();
        assert_eq!(m.call(pop, &[0]).unwrap() as i32, -libc::ENOENT);
    }
}

#[test]
fn storage_belongs_to_tasks() {
    let mut m = machine(1);
    let id = m.create_map(spec(MapKind::TaskStorage, 4, 8, 0)).unwrap();
    let insns = [
        &[load(2, 1, 0), load(4, 1, 8)][..],
        &map(1, id),
        &[mov(3, 0), helper(156), EXIT],
    ];
    let get = load_insns(&mut m, &insns.concat());
    let (one, two) = (m.add_task(TaskId(0)), m.add_task(TaskId(1)));
    assert_eq!(m.call(get, &[one, 0]), Ok(0));
    let first = m.call(get, &[one, 1]).unwrap();
    let second = m.call(get, &[two, 1]).unwrap();
    assert!(first != 0 && second != 0 && first != second);
    m.memory.set(first, 5_u64).unwrap();
    assert_eq!(m.call(get, &[one, 0]), Ok(first));
    assert_eq!(m.call(get, &[0, 1]), Ok(0), "no task");
    assert_eq!(
        (m.task_at(one), m.task_at(two + 8)),
        (Some(TaskId(0)), None)
    );
    m.remove_task(TaskId(0));
    assert_eq!(m.task_at(one), None);
    let third = m.add_task(TaskId(2));
    let fresh = m.call(get, &[third, 1]).unwrap();
    assert_eq!(m.memory.get::<u64>(fresh), 0);
    // What has no room for pointers has storage, too.
    let other = m.memory.allocate(64);
    let kept = m.call(get, &[other, 1]).unwrap();
    assert_eq!(m.call(get, &[other, 0]), Ok(kept));
    m.forget_storage(other);
    assert_eq!(m.call(get, &[other, 0]), Ok(0));
}

#[test]
fn records_reach_whoever_reads() {
    let mut m = machine(1);
    let id = m.create_map(spec(MapKind::RingBuf, 0, 0, 4096)).unwrap();
    let reserve = [
        &map(1, id)[..],
        &[mov(2, 8), mov(3, 0), helper(131), jump_if(0, 0, 4)],
    ];
    let submit = [
        store_imm(0, 0, 42),
        copy(1, 0),
        mov(2, 0),
        helper(132),
        mov(0, 0),
        EXIT,
    ];
    let program = load_insns(&mut m, &[&reserve.concat()[..], &submit].concat());
    for _ in 0..1000 {
        m.call(program, &[]).unwrap();
    }
    let records = m.take_records(id);
    assert_eq!(records.len(), 1000);
    assert!(records.iter().all(|record| record == &42_u64.to_le_bytes()));
    let too_long = [
        &map(1, id)[..],
        &[mov(2, 5000), mov(3, 0), helper(131), EXIT],
    ]
    .concat();
    assert_eq!(run_on(&mut m, &too_long), Ok(0));
    assert!(m.map_file(id).is_some());
}

#[test]
fn what_cannot_be_created() {
    let mut m = machine(1);
    for (kind, key, value, entries) in [
        (MapKind::Array, 8, 8, 1),
        (MapKind::Array, 4, 0, 1),
        (MapKind::Array, 4, 8, 0),
        (MapKind::Hash, 0, 8, 1),
        (MapKind::RingBuf, 0, 0, 100),
        (MapKind::TaskStorage, 4, 8, 1),
        (MapKind::Queue, 4, 8, 1),
        (MapKind::Arena, 0, 0, 0),
    ] {
        assert_eq!(
            errno(m.create_map(spec(kind, key, value, entries))),
            libc::EINVAL,
            "{kind:?}"
        );
    }
    assert_eq!(MapKind::from_number(29), Some(MapKind::TaskStorage));
    assert_eq!(MapKind::from_number(7), None);
}
