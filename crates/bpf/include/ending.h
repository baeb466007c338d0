/* SPDX-License-Identifier: GPL-2.0-only */
/* ending.h - tells the loader why a scheduler ended. */
#ifndef SCHEDLAB_BPF_ENDING_H
#define SCHEDLAB_BPF_ENDING_H

struct host_exit_record {
	s64 code;
	char reason[128];
	char message[1024];
	char dump[32768];
	u32 kind;			/* written last */
};
struct host_exit_record exit_record SEC(".data.exit");

OPS(exit) void exit_op(u64 *ctx)
{
	struct scx_exit_info *info = (void *)ctx[0];

	bpf_probe_read_kernel_str(exit_record.reason, sizeof(exit_record.reason), info->reason);
	bpf_probe_read_kernel_str(exit_record.message, sizeof(exit_record.message), info->msg);
	bpf_probe_read_kernel_str(exit_record.dump, sizeof(exit_record.dump), info->dump);
	exit_record.code = info->exit_code;
	__sync_val_compare_and_swap(&exit_record.kind, exit_record.kind, (u32)info->kind);
}
#endif
