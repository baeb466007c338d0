/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * noted.h - a scheduler that notes each call of an operation: one queue for all, first in, first out, and an idle CPU
 * at once.  In a real kernel it is noted.bpf.c; in the model, a test of tests/suite/ext.
 */
OP(select_cpu) {
	_Bool idle = 0;
	s32 cpu;

	note("select_cpu", number_of(TASK), ctx[2]);
	cpu = scx_bpf_select_cpu_dfl(TASK, ctx[1], ctx[2], &idle);
	if (idle)
		scx_bpf_dsq_insert(TASK, SCX_DSQ_LOCAL, SLICE, 0);
	return cpu;
}
OP(enqueue) {
	note("enqueue", number_of(TASK), ctx[1]);
	scx_bpf_dsq_insert(TASK, 7, SLICE, ctx[1]);
	return 0;
}
OP(dequeue) { note("dequeue", number_of(TASK), ctx[1]); return 0; }
OP(dispatch) {
	note("dispatch", number_of((struct task_struct *)ctx[1]), ctx[0]);
	scx_bpf_dsq_move_to_local(7);
	return 0;
}
OP(tick) { note("tick", number_of(TASK), 0); return 0; }
OP(runnable) { note("runnable", number_of(TASK), ctx[1]); return 0; }
OP(running) { note("running", number_of(TASK), 0); return 0; }
OP(stopping) { note("stopping", number_of(TASK), ctx[1] & 1); return 0; }
OP(quiescent) { note("quiescent", number_of(TASK), ctx[1]); return 0; }
OP(set_weight) { note("set_weight", number_of(TASK), (u32)ctx[1]); return 0; }
OP(enable) { note("enable", number_of(TASK), 0); return 0; }
OP(disable) { note("disable", number_of(TASK), 0); return 0; }
OP(init_task) { note("init_task", number_of(TASK), 0); return 0; }
OP(exit_task) { note("exit_task", number_of(TASK), 0); return 0; }
OP_SLEEPS(init) { return scx_bpf_create_dsq(7, -1); }
