//! Programs run: calls, stacks, loops, faults, images.

use schedlab_scx::{FaultKind, MapKind};

use crate::assembler::*;

#[test]
fn a_program_returns_r0() {
    assert_eq!(run_on(&mut machine(1), &[mov(0, 42), EXIT]), Ok(42));
    assert_eq!(run_on(&mut machine(1), &[mov(0, -1), EXIT]), Ok(u64::MAX));
}

#[test]
fn globals_are_shared_with_the_loader_and_not_between_runs() {
    let mut m = machine(2);
    let mut bss = spec(MapKind::Array, 4, 16, 1);
    bss.flags = schedlab_scx::maps::F_MMAPABLE;
    let bss = m.create_map(bss).unwrap();
    let count = [
        &value(1, bss, 8)[..],
        &[load(0, 1, 0), add(0, 1), store(1, 0, 0), EXIT],
    ]
    .concat();
    let count = load_insns(&mut m, &count);
    assert_eq!(m.run_syscall(count, &mut []), Ok(1));
    assert_eq!(m.map_lookup(bss, &[0; 4]).unwrap()[8], 1);
    m.map_update(bss, &[0; 4], &[5; 16], 0).unwrap();
    let image = m.freeze().unwrap();
    let five = 0x0505_0505_0505_0505;
    let mut one = image.machine(&topology(2), 1).unwrap();
    let mut two = image.machine(&topology(2), 1).unwrap();
    assert_eq!(one.run_syscall(count, &mut []), Ok(five + 1));
    assert_eq!(one.run_syscall(count, &mut []), Ok(five + 2));
    assert_eq!(two.run_syscall(count, &mut []), Ok(five + 1));
    assert!(image.machine(&topology(3), 1).is_err());
}

#[test]
fn arguments_and_contexts() {
    let mut m = machine(1);
    let sum = load_insns(
        &mut m,
        &[load(0, 1, 0), load(2, 1, 8), insn(0x0f, 0, 2, 0, 0), EXIT],
    );
    assert_eq!(m.call(sum, &[30, 12]), Ok(42));
    let mut context = [7_u8; 16];
    let write = load_insns(&mut m, &[store_imm(1, 8, 3), mov(0, 0), EXIT]);
    m.run_syscall(write, &mut context).unwrap();
    assert_eq!(context, [7, 7, 7, 7, 7, 7, 7, 7, 3, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn functions_have_frames_of_their_own() {
    // main: *(r10-8) = 5; f(r10-8); return *(r10-8);     f(p): *(r10-8) = 9; *p += 1;
    let program = [
        store_imm(10, -8, 5),
        copy(1, 10),
        add(1, -8),
        call(2),
        load(0, 10, -8),
        EXIT,
        store_imm(10, -8, 9),
        load(2, 1, 0),
        add(2, 1),
        store(1, 0, 2),
        mov(0, 0),
        EXIT,
    ];
    assert_eq!(run_on(&mut machine(1), &program), Ok(6));
}

#[test]
fn stacks_are_zeroed() {
    let program = [
        call(3),
        call(2),
        mov(0, 0),
        EXIT,
        copy(2, 10),
        add(2, -16),
        load(0, 2, 0),
        store_imm(2, 0, 77),
        insn(0x0f, 0, 6, 0, 0),
        EXIT,
    ];
    let mut m = machine(1);
    assert_eq!(
        run_on(
            &mut m,
            &[&program[..2], &[EXIT], &[EXIT], &program[4..]].concat()
        ),
        Ok(0)
    );
}

#[test]
fn endless_loops_and_recursion_end_in_faults() {
    let kind = |program: &[u64]| run_on(&mut machine(1), program).unwrap_err().kind;
    assert_eq!(kind(&[jump(-1), EXIT]), FaultKind::Looped);
    assert_eq!(kind(&[insn(0x06, 0, 0, 0, -1), EXIT]), FaultKind::Looped);
    assert_eq!(kind(&[call(-1), EXIT]), FaultKind::TooDeep);
    assert_eq!(
        kind(&[mov(6, 0), call(1), EXIT, call(1), EXIT, call(-3), EXIT]),
        FaultKind::TooDeep
    );
}

#[test]
fn may_goto_ends_a_loop_without_a_fault() {
    // r0 = 0; loop: may_goto end; r0++; goto loop; end: exit
    let program = [mov(0, 0), insn(0xe5, 0, 0, 2, 0), add(0, 1), jump(-3), EXIT];
    assert_eq!(run_on(&mut machine(1), &program), Ok(8 << 20));
}

#[test]
fn loads_outside_give_zero_and_stores_are_faults() {
    for address in [
        0,
        0x1000,
        0x7fff_0000_0000,
        0xffff_8880_0000_0000 - 8,
        u64::MAX - 7,
    ] {
        let mut m = machine(1);
        let at = constant(1, address);
        assert_eq!(
            run_on(
                &mut m,
                &[&at[..], &[mov(0, 1), load(0, 1, 0), EXIT]].concat()
            ),
            Ok(0)
        );
        assert_eq!(m.zero_loads, 1);
        let fault = run_on(
            &mut m,
            &[&at[..], &[store_imm(1, 0, 1), mov(0, 0), EXIT]].concat(),
        )
        .unwrap_err();
        let at = ("test".to_string(), 2);
        assert_eq!(fault.kind, FaultKind::Store { address, at });
        assert!(m.take_fault().is_some());
        assert_eq!(run_on(&mut m, &[mov(0, 3), EXIT]), Ok(3));
    }
}

#[test]
fn what_is_unknown_is_refused_by_name() {
    let refusal = |insns: &[u64]| machine(1).load(program(insns)).unwrap_err().to_string();
    assert!(
        refusal(&[helper(188), EXIT]).contains("bpf_xdp_get_buff_len"),
        "{}",
        refusal(&[helper(188), EXIT])
    );
    assert!(refusal(&[insn(0x20, 0, 0, 0, 0), EXIT]).contains("is none that this kernel knows"));
    assert!(refusal(&[jump(5), EXIT]).contains("jumps out"));
    assert!(refusal(&[mov(0, 0)]).contains("without an end"));
    assert!(refusal(&[insn(0x85, 0, 2, 0, 1), EXIT]).contains("kfunc"));
    assert!(refusal(&[insn(0xb7, 10, 0, 0, 0), EXIT]).contains("is none"));
    assert!(
        refusal(&[&map(1, schedlab_scx::MapId(0))[..], &[EXIT]].concat())
            .contains("does not exist")
    );
    // What a loader has found missing is a fault only if it is reached.
    let poisoned = [jump(1), helper(2_002_000_001), mov(0, 1), EXIT];
    assert_eq!(run_on(&mut machine(1), &poisoned), Ok(1));
    let fault = run_on(&mut machine(1), &poisoned[1..]).unwrap_err();
    assert!(
        fault
            .to_string()
            .contains("a kfunc that this kernel does not have"),
        "{fault}"
    );
}

#[test]
fn stores_through_a_null_arena_pointer_are_left_out() {
    let mut m = machine(1);
    let mut arena = spec(MapKind::Arena, 0, 0, 1);
    arena.extra = 1 << 32;
    m.create_map(arena).unwrap();
    assert_eq!(
        run_on(&mut m, &[mov(1, 0), store_imm(1, 16, 1), mov(0, 5), EXIT]),
        Ok(5)
    );
    assert_eq!(m.left_out_stores, 1);
}

#[test]
fn functions_that_are_alike_are_one() {
    let body = [load(0, 1, 0), add(0, 1), EXIT];
    let mut m = machine(1);
    for start in 0..3 {
        // Two copies in each program, and a main that differs.
        let main = [mov(2, start), call(2), call(4), EXIT];
        load_insns(&mut m, &[&main[..], &body, &body].concat());
    }
    let text = m.c_text();
    let functions = text.matches("\nFUNCTION u64 f").count();
    assert_eq!(functions, 3 + 1, "{text}");
}
