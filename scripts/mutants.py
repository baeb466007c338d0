#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Mutants of policies: one small change of a policy's C each, by a table of operators; who notices?

    scripts/mutants.py [--sample N] [--seed S] [--runs R] [--schedlab PROGRAM] [POLICY ...]

Every policy's own file, without comments, its tunables and its table, is changed in one place. A mutant that does not
compile, or compiles to the same code, does not count. The others are run

  checks   on six workloads of this tree, under the checks of the simulator alone
  check    by "schedlab check --runs R"

A mutant is killed if a run fails. Findings are no failure, so they kill only if the policy itself has none of that name.
The last lines are the kill rates; before them each survivor is shown as a line and what became of it.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
POLICIES = os.path.join(ROOT, "policies")
DEFAULT = ["o1", "cfs", "eevdf", "ule", "linux24", "mlfq", "rr", "stride"]
WORKLOADS = ["mixed", "hogs --count 3", "hackbench", "massive-intr", "fiftyp", "wake-storm"]
LIMIT_S = 120

# What is replaced by what: the operators for C.
OPERATORS = [
    ("comparison", r"(?<![-<>=!])<(?![<=])", ["<="]),
    ("comparison", r"(?<![->])>(?![>=])", [">="]),
    ("comparison", r"<=", ["<"]),
    ("comparison", r">=", [">"]),
    ("comparison", r"==", ["!="]),
    ("comparison", r"!=", ["=="]),
    ("sign", r"(?<=[\w)\]]) \+ (?=[\w(])", [" - "]),
    ("sign", r"(?<=[\w)\]]) - (?=[\w(])", [" + "]),
    ("sign", r"\+=", ["-="]),
    ("sign", r"-=", ["+="]),
    ("sign", r"\+\+", ["--"]),
    ("sign", r"(?<!-)--(?!>)", ["++"]),
    ("logic", r"&&", ["||"]),
    ("logic", r"\|\|", ["&&"]),
    ("logic", r"(?<=[(&| ])!(?=[\w(])", [""]),
    ("constant", r"(?<![\w.])0(?![\w.])", ["1"]),
    ("constant", r"(?<![\w.])1(?![\w.])", ["0", "2"]),
    ("constant", r"\btrue\b", ["false"]),
    ("constant", r"\bfalse\b", ["true"]),
]
STATEMENT = re.compile(r"^\t+(?!return|case|default|break|else)[\w>\-\[\]().&*]+(?: [-+|&]?= [^;]*|\([^;]*\))?;$|^\t+\w+\([^;]*\);$")
CALL = re.compile(r"\b(\w+)\((\w+), (\w+), (\w+)\)")


def code_lines(text):
    """The numbers of the lines that mutants may change: functions' bodies, without comments."""
    lines, inside, comment = [], False, False
    for number, line in enumerate(text.split("\n")):
        if line == "{":
            inside = True
        elif line == "}":
            inside = False
        starts = comment or line.strip().startswith("/*")
        comment = starts and "*/" not in line
        if inside and not starts and line.startswith("\t"):
            lines.append(number)
    return lines


def mutants_of(text):
    """Every mutant, as (line number, operator, new line)."""
    lines = text.split("\n")
    for number in code_lines(text):
        line = lines[number]
        for kind, pattern, others in OPERATORS:
            for found in re.finditer(pattern, line):
                for other in others:
                    yield number, kind, line[: found.start()] + other + line[found.end() :]
        if STATEMENT.match(line):
            yield number, "dropped statement", "\t;"
        for found in CALL.finditer(line):
            name, first, second, third = found.groups()
            swapped = f"{name}({first}, {third}, {second})"
            yield number, "swapped arguments", line[: found.start()] + swapped + line[found.end() :]


class Laboratory:
    def __init__(self, program, runs, folder):
        self.program, self.runs, self.folder = program, runs, folder

    def call(self, *words):
        """Exit status and output; a run that takes too long counts as one that fails."""
        try:
            done = subprocess.run(
                [self.program, *words], capture_output=True, text=True, timeout=LIMIT_S, cwd=self.folder, check=False
            )
        except subprocess.TimeoutExpired:
            return 3, ""
        return done.returncode, done.stdout + done.stderr

    def findings(self, policy):
        """What a search breaks: "FAILURE id" and "finding id"."""
        status, out = self.call("check", policy, "--runs", str(self.runs), "--jobs", "2", "--no-shrink")
        found = set(re.findall(r"^((?:FAILURE|finding) [\w-]+)", out, re.M))
        return found | ({"FAILURE"} if status not in (0, 2) else set())

    def checks_kill(self, policy):
        """Do the simulator's checks end a run of one of the workloads?"""
        for workload in WORKLOADS:
            words = ["run", "--policy", policy, "--workload", workload, "--machine", "ideal-2", "--duration", "2s"]
            if self.call(*words)[0] == 3:
                return True
        return False


def compiled(file):
    """The policy in assembler, None if it does not compile."""
    with open(os.path.join(ROOT, "crates/native/src/cflags.txt"), encoding="utf-8") as flags:
        flags = [*flags.read().split(), "-O1", "-g0", "-S", "-o", "-"]
    include = [os.path.join(ROOT, part) for part in ("policy", "policies", "crates/native/include")]
    words = ["cc", *flags, *[f"-I{part}" for part in include], file]
    done = subprocess.run(words, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=200, help="mutants to try; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--runs", type=int, default=500, help="runs of each search")
    parser.add_argument("--schedlab", default="schedlab", help="the program")
    parser.add_argument("policies", nargs="*", default=DEFAULT)
    chosen = parser.parse_args()
    everything = []
    for policy in chosen.policies:
        text = open(os.path.join(POLICIES, policy, f"{policy}.c"), encoding="utf-8").read()
        everything += [(policy, text, *mutant) for mutant in mutants_of(text)]
    print(f"mutants of {len(chosen.policies)} policies: {len(everything)}")
    random.Random(chosen.seed).shuffle(everything)
    with tempfile.TemporaryDirectory() as folder:
        counts, kinds = dict.fromkeys(("tried", "checks", "check", "either"), 0), {}
        try:
            tried(chosen, everything, Laboratory(chosen.schedlab, chosen.runs, folder), counts, kinds)
        except KeyboardInterrupt:
            print("interrupted")
        report(counts, kinds)


def tried(chosen, everything, laboratory, counts, kinds):
    own, originals = {}, {}
    for policy, text, number, kind, line in everything:
        if chosen.sample and counts["tried"] == chosen.sample:
            break
        file = os.path.join(laboratory.folder, f"{policy}.c")
        if policy not in own:
            shutil.copy(os.path.join(POLICIES, policy, f"{policy}.c"), file)
            own[policy], originals[policy] = laboratory.findings(file), compiled(file)
        lines = text.split("\n")
        lines[number] = line
        with open(file, "w", encoding="utf-8") as out:
            out.write("\n".join(lines))
        code = compiled(file)
        if code is None or code == originals[policy]:
            continue
        by_checks = laboratory.checks_kill(file)
        new = laboratory.findings(file) - own[policy]
        counts["tried"] += 1
        counts["checks"] += by_checks
        counts["check"] += bool(new)
        counts["either"] += by_checks or bool(new)
        of_kind = kinds.setdefault(kind, [0, 0])
        of_kind[0] += 1
        of_kind[1] += bool(new)
        if not new:
            where = f"policies/{policy}/{policy}.c:{number + 1}"
            old = text.split("\n")[number].strip()
            print(f"survives{' check' if by_checks else ''}: {where}: {kind}: {old} -> {line.strip()}", flush=True)


def report(counts, kinds):
    tried_ones = max(counts["tried"], 1)
    for kind, (all_of, killed) in sorted(kinds.items()):
        print(f"{kind}: {killed} of {all_of}")
    for name in ("checks", "check", "either"):
        print(f"killed by {name}: {counts[name]} of {counts['tried']} ({100 * counts[name] // tried_ones} %)")


if __name__ == "__main__":
    sys.exit(main())
