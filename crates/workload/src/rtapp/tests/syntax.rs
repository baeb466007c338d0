use super::*;

#[test]
fn json_c_takes_all_this_and_so_do_we() {
    let text = "/* a */ { // b\n 'tasks': {\"t\": {\"run\": 010, \"loop\": 1,},},} garbage";
    let workload = read(text);
    assert_eq!(ops(&workload, "t"), [run(10)]);
    assert_eq!(
        workload.warnings,
        ["file.json:2: the text after the end is ignored, as in rt-app"]
    );
}

#[test]
fn null_is_as_good_as_nothing() {
    let workload = task("\"run\": 1, \"loop\": null, \"priority\": null");
    assert_eq!(ops(&workload, "t")[0], repeat(FOREVER, 2));
}

#[test]
fn repeated_keys_as_json_c_keeps_them() {
    // The spec's example: {"run":1,"sleep":2,"run":3} becomes {"run":3,"sleep":2}.
    let text = "{\"tasks\":{\"t\":{\"loop\":1,\"run\":1,\"sleep\":2,\"run\":3}}}";
    assert_eq!(ops(&read(text), "t"), [run(1), sleep(2), run(3)]);
    let options = Options {
        repeated: RepeatedKeys::JsonC,
        ..Options::default()
    };
    let workload = with(text, options);
    assert_eq!(ops(&workload, "t"), [run(3), sleep(2)]);
    assert!(workload.warnings[0].contains("the last value counts"));
}

#[test]
fn broken_files_say_where() {
    let cases = [
        ("", "file.json:1: the file ends here; expected a value"),
        (
            "{\"tasks\":\n{",
            "file.json:2: the file ends here; expected a key in quotes",
        ),
        (
            "{\n\"a\":1 \"b\":2}",
            "file.json:2: \"\\\"\" does not belong here; expected \",\" or \"}\"",
        ),
        (
            "{\"a\": /* x",
            "file.json:1: this comment has no end; expected \"*/\"",
        ),
        (
            "{\"a\": \"x\n\n",
            "file.json:1: this string has no end; expected a closing quote",
        ),
        (
            "{\"a\": 1-2}",
            "file.json:1: \"1-2\" is not a number; expected a number",
        ),
        (
            "{\"a\": yes}",
            "file.json:1: \"yes\" is not a value; expected strings in quotes",
        ),
        (
            "[1",
            "file.json:1: the file ends here; expected \",\" or \"]\"",
        ),
        (
            "[]",
            "file.json:1: is an array; expected an object (rt-app stops without it)",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(refused(text), message);
    }
    let deep = "[".repeat(100_000);
    assert_eq!(
        refused(&deep),
        "file.json:1: this is nested deeper than 32 levels; expected what json-c can read"
    );
}
