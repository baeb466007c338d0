use libbpf_rs::*;
fn main() {
    let name = std::env::args().nth(1).unwrap();
    let prog = std::env::args().nth(2).filter(|s| !s.is_empty());
    let code = std::fs::read(format!("/obj/{}.o", name.split(':').next().unwrap())).unwrap();
    let (n, v) = name
        .split_once(':')
        .map_or((name.as_str(), None), |(n, v)| (n, Some(v)));
    let tuned =
        schedlab_policy::Tuned::new(schedlab_policy::Policy::find(n).unwrap(), v, &[]).unwrap();
    let tun: Vec<u8> = tuned
        .values()
        .iter()
        .flat_map(|v| v.to_ne_bytes())
        .collect();
    set_print(Some((PrintLevel::Debug, |_, t| {
        if !t.contains("insns processed")
            && !t.contains("failed")
            && !t.contains("BEGIN PROG LOAD LOG")
        {
            return;
        }
        let l: Vec<&str> = t.lines().collect();
        let n = std::env::var("HEAD")
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(0usize);
        for x in l
            .iter()
            .filter(|l| std::env::var("GREP").map_or(true, |g| l.contains(&g)))
            .take(n)
        {
            println!("{x}");
        }
        let s = l.len().saturating_sub(14).max(n.min(l.len()));
        println!("{}", l[s..].join("\n"))
    })));
    let t = std::time::Instant::now();
    let mut o = ObjectBuilder::default().open_memory(&code).unwrap();
    if let Some(prog) = prog {
        for mut p in o.progs_mut() {
            if p.name() == prog.as_str() {
                p.set_log_level(
                    std::env::var("LEVEL")
                        .ok()
                        .and_then(|l| l.parse().ok())
                        .unwrap_or(4),
                );
            }
        }
    }
    for mut m in o.maps_mut() {
        if m.name() == "host_kernel_tasks" {
            m.set_max_entries(1024).unwrap();
        }
        if m.name() == ".rodata.tunables" {
            m.set_initial_value(&tun).unwrap();
        }
    }
    match o.load() {
        Ok(o) => {
            println!("ok {:?}", t.elapsed());
            for p in o.progs() {
                use std::os::fd::*;
                let mut i = libbpf_sys::bpf_prog_info::default();
                let mut sz = size_of_val(&i) as u32;
                unsafe {
                    libbpf_sys::bpf_obj_get_info_by_fd(
                        p.as_fd().as_raw_fd(),
                        (&raw mut i).cast(),
                        &mut sz,
                    );
                }
                println!("  {:?} {}", p.name(), i.verified_insns);
            }
        }
        Err(e) => println!("{e} {:?}", t.elapsed()),
    }
}
