//! Policies that misbehave: each gives a message with its hook, and leaves no file.

use crate::common::{argument, failure, names, refusal, refused, root, schedlab, text};
use crate::common::{BAD_INPUT, POLICY_FAULT};

/// The message about a policy of tests/policies that runs two tasks on two CPUs.
#[track_caller]
fn message(policy: &str) -> String {
    let source = root().join(format!("crates/cli/tests/policies/{policy}.c"));
    let folder = tempfile::tempdir().unwrap();
    let (trace, report) = (folder.path().join("x.ftrace"), folder.path().join("x.html"));
    let output = schedlab(&[
        "run",
        "--policy",
        argument(&source),
        "--workload",
        "hogs --count 2",
        "--machine",
        "ideal-2",
        "--duration",
        "1s",
        "--hook-timeout",
        "500ms",
        "--trace",
        argument(&trace),
        "--report",
        argument(&report),
    ])
    .output()
    .unwrap();
    let message = failure(POLICY_FAULT, output);
    let told = format!(
        "{} contains the trace up to the failure\nschedlab: ",
        trace.display()
    );
    match message.strip_prefix(&told) {
        Some(message) => {
            assert_eq!(names(folder.path()), ["x.ftrace"]);
            message.to_string()
        }
        None => {
            // The process died.
            assert_eq!(names(folder.path()), Vec::<String>::new(), "left behind");
            message
        }
    }
}

/// The other policies' results are printed, and what went before the fault is in its trace.
#[test]
fn a_fault_ends_its_own_run_alone() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("x.ftrace");
    let output = schedlab(&[
        "compare",
        "--policies",
        "crates/cli/tests/policies/losing.c,o1",
        "--workload",
        "hogs --count 2",
        "--duration",
        "1s",
        "--trace",
        argument(&trace),
    ])
    .output()
    .unwrap();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(POLICY_FAULT), "{said}");
    assert!(
        shown.contains("o1 2.6.11") && !shown.contains("losing "),
        "{shown}"
    );
    assert!(
        said.contains("losing seed 1: ") && said.contains("task lost"),
        "{said}"
    );
    let files = ["x-losing.ftrace", "x-o1-2.6.11.ftrace"];
    assert_eq!(names(folder.path()), files);
}

#[track_caller]
fn says(policy: &str, hook: &str, what: &str) {
    let message = message(policy);
    let who = format!("policy {policy}, hook {hook}: ");
    assert!(
        message.contains(&who) && message.contains(what),
        "{message}"
    );
    let warned = message.contains(" compiles with warnings:\n");
    assert!(warned || message.lines().count() == 1, "{message}");
}

#[test]
fn stray_pointer() {
    says("stray", "enqueue", "crashed");
}

/// When, on which CPU, for which task and on which line.
#[test]
fn a_crash_is_placed() {
    let source = root().join("crates/cli/tests/policies/trapping.c");
    let source = std::fs::read_to_string(source).unwrap();
    let line = 1 + source
        .lines()
        .position(|line| line.contains("__builtin_trap"))
        .unwrap();
    assert_eq!(
        message("trapping"),
        format!(
            "at 0.000000000 on CPU 0, task 0: policy trapping, hook enqueue: \
             crashed (it reached code marked unreachable) at trapping.c:{line}"
        )
    );
}

#[test]
fn a_loop_is_placed() {
    let message = message("looping");
    assert!(message.contains("at 0.000000000 on CPU 0: "), "{message}");
    assert!(message.contains(" when called for task 0"), "{message}");
}

/// The compiler's warnings are shown, and what it warns of is found when it happens.
#[test]
fn undefined_behaviour_is_found() {
    let source = root().join("crates/cli/tests/policies/uninitialised.c");
    let run = |flags: &[&str]| {
        let mut command = schedlab(&["run", "--policy", argument(&source)]);
        let workload = ["--workload", "hogs --count 2", "--duration", "1s"];
        command.args(workload).args(flags).output().unwrap()
    };
    let output = run(&[]);
    let said = text(&output.stderr);
    assert!(
        said.contains("uninitialised.c compiles with warnings"),
        "{said}"
    );
    assert_eq!(said.matches("-Wuninitialized]").count(), 1, "{said}");

    let said = failure(POLICY_FAULT, run(&["--sanitize"]));
    let found = "hook enqueue: crashed (undefined behaviour";
    assert!(said.contains(found), "{said}");

    // A run that is done again to be explained is done in the same way.
    let again = format!(
        "run --policy {} --workload hogs --sanitize",
        argument(&source)
    );
    let explained = schedlab(&["explain", &again]).output().unwrap();
    let said = failure(POLICY_FAULT, explained);
    assert!(said.contains(found), "{said}");
}

#[test]
fn division_by_zero() {
    says("dividing", "enqueue", "crashed (division by zero");
}

#[test]
fn unreachable_code() {
    says(
        "trapping",
        "enqueue",
        "crashed (it reached code marked unreachable)",
    );
}

#[test]
fn endless_loop() {
    says("looping", "enqueue", "looped without end");
}

#[test]
fn endless_recursion_that_needs_no_stack() {
    says("recursive", "enqueue", "does not return");
}

#[test]
fn endless_recursion_that_fills_the_stack() {
    says("overflowing", "enqueue", "crashed");
}

#[test]
fn lost_task() {
    says("losing", "enqueue", "task lost: task 0 (hog");
}

/// Only the silence that follows shows it, so any hook of the policy may be named.
#[test]
fn task_never_picked() {
    let message = message("lazy");
    assert!(
        message.contains("policy lazy, hook ") && message.contains("task lost"),
        "{message}"
    );
}

#[test]
fn own_complaint() {
    says(
        "complaining",
        "enqueue",
        "policy_error: cannot cope (task 0)",
    );
}

#[test]
fn source_that_does_not_compile() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("broken.c");
    std::fs::write(&source, "#include \"policy.h\"\nint x = ;\n").unwrap();
    let message = refused(&["run", "--policy", argument(&source), "--workload", "hogs"]);
    assert!(
        message.starts_with(&format!("--policy: {} does not compile:", source.display())),
        "{message}"
    );
    assert!(message.contains("broken.c:2:"), "{message}");
}

#[test]
fn source_without_a_policy() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("empty.c");
    std::fs::write(&source, "#include \"policy.h\"\n").unwrap();
    let message = refused(&["run", "--policy", argument(&source), "--workload", "hogs"]);
    assert!(
        message.contains("does not end with POLICY(empty, ...)"),
        "{message}"
    );
}

/// State that runs at the same time would share, however the compiler calls it, and code that runs before any hook.
#[test]
fn state_outside_the_run_queues_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read_to_string(root().join("policies/fifo/fifo.c")).unwrap();
    let refused_with = |line: &str, compiler: &str| {
        let source = folder.path().join("fifo.c");
        std::fs::write(&source, format!("{whole}{line}\n")).unwrap();
        let output = schedlab(&["run", "--policy", argument(&source), "--workload", "hogs"])
            .env("CC", compiler)
            .output()
            .unwrap();
        refusal(output)
    };
    for compiler in ["cc", "clang-19"] {
        let of_the_file = refused_with("u32 picked = 1;", compiler);
        assert!(
            of_the_file.contains("fifo.c: the static variable \"picked\" is writable"),
            "{of_the_file}"
        );
        let counts = "u32 times(void) { static u32 calls; return ++calls; }";
        let of_a_function = refused_with(counts, compiler);
        assert!(
            of_a_function.contains("variable \"calls\" is writable"),
            "{of_a_function}"
        );
        let first = "__attribute__((constructor)) void first(void) { __asm__ volatile(\"\"); }";
        let constructor = refused_with(first, compiler);
        assert!(
            constructor.contains("fifo.c has a constructor"),
            "{constructor}"
        );
    }
}

#[test]
fn missing_compiler() {
    let source = root().join("crates/cli/tests/policies/losing.c");
    let output = schedlab(&["run", "--policy", argument(&source), "--workload", "hogs"])
        .env("CC", "no-such-compiler")
        .output()
        .unwrap();
    let message = refusal(output);
    assert!(
        message.starts_with(
            "--policy: cannot run the C compiler \"no-such-compiler\" (set CC to choose another)"
        ),
        "{message}"
    );
}

/// As make has it: options after the compiler's name.
#[test]
fn compiler_with_options() {
    let source = root().join("crates/cli/tests/policies/losing.c");
    let compile = |compiler: &str, status: i32| {
        let output = schedlab(&["run", "--policy", argument(&source), "--workload", "hogs"])
            .env("CC", compiler)
            .output()
            .unwrap();
        failure(status, output)
    };
    assert!(compile("cc -O1", POLICY_FAULT).contains("policy losing, hook enqueue"));
    let silent = compile("false", BAD_INPUT);
    assert!(
        silent.ends_with(
            "losing.c does not compile:\nfalse printed nothing and ended with exit status: 1"
        ),
        "{silent}"
    );
}
