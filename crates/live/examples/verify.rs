use libbpf_rs::*;
fn main() {
    let name = std::env::args().nth(1).unwrap();
    let code = std::fs::read(format!("/obj/{name}.o")).unwrap();
    set_print(Some((PrintLevel::Info, |_, t| { let l: Vec<&str> = t.lines().collect(); let s = l.len().saturating_sub(14); 
      let bad = t.contains("arg") && false || !t.contains("\nprocessed") ; let _ = bad; println!("{}", l[s..].join("\n")) })));
    let t = std::time::Instant::now();
    let mut o = ObjectBuilder::default().open_memory(&code).unwrap();
    if std::env::var("STATS").is_ok() { for mut p in o.progs_mut() { p.set_log_level(4); } }
    for mut m in o.maps_mut() { if m.name() == "host_kernel_tasks" { m.set_max_entries(1024).unwrap(); } }
    match o.load() { Ok(_) => println!("ok {:?}", t.elapsed()), Err(e) => println!("{e} {:?}", t.elapsed()) }
}
