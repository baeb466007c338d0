/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scripted.c - random scripts in a real kernel: scripted SEED COUNT.  Each script is a few processes that compute, sleep,
 * yield, talk through a pipe, stop each other, and change nice values and classes, until all have ended.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;

/* SplitMix64. */
static uint32_t random_below(uint32_t n)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)(z >> 33) % n;
}

static void spin(uint32_t rounds)
{
	for (volatile uint32_t i = 0; i < rounds; i++)
		;
}

static void rest(uint32_t us)
{
	struct timespec time = { .tv_nsec = us * 1000 };

	nanosleep(&time, NULL);
}

static void change_class(int policy)
{
	struct sched_param param = { .sched_priority = policy == SCHED_FIFO ? 10 : 0 };

	sched_setscheduler(0, policy, &param);
}

static void step(int reader, int writer)
{
	static const int nice[] = { 0, 1, 5, 10, 19 };
	char byte = 0;

	switch (random_below(10)) {
	case 0:
	case 1:
		return spin(random_below(200000));
	case 2:
		return spin(random_below(3000000));
	case 3:
	case 4:
		return rest(1 + random_below(5000));
	case 5:
		sched_yield();
		return;
	case 6:
		setpriority(PRIO_PROCESS, 0, nice[random_below(5)]);
		return;
	case 7:
		return change_class(random_below(3) ? SCHED_OTHER : SCHED_FIFO);
	case 8:
		(void)!write(writer, &byte, 1);
		return;
	default:
		(void)!read(reader, &byte, 1);
		rest(1);
	}
}

/* One process: its own numbers, so that the order in which processes run changes no script. */
static void child(uint64_t seed, int reader, int writer)
{
	state = seed;
	for (uint32_t left = 1 + random_below(8); left; left--)
		step(reader, writer);
	_exit(0);
}

static void script(uint64_t seed)
{
	int ends[2], count;

	state = seed;
	if (pipe2(ends, O_NONBLOCK))
		exit(1);
	count = 1 + random_below(4);
	for (int i = 0; i < count; i++) {
		uint64_t theirs = seed * 16 + i + 1;

		if (fork() == 0)
			child(theirs << 20, ends[0], ends[1]);
		if (random_below(2))
			spin(random_below(100000));
	}
	if (random_below(3) == 0)
		rest(random_below(3000));
	while (wait(NULL) > 0)
		;
	close(ends[0]);
	close(ends[1]);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint32_t count = argc > 2 ? atoi(argv[2]) : 10;
	int marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY);

	for (uint32_t i = 0; i < count; i++) {
		/* What comes before a script's sleep does not matter to it: each can be replayed by itself. */
		dprintf(marker, "script %lu", (unsigned long)(seed + i));
		rest(1);
		script(seed + i);
	}
	return 0;
}
