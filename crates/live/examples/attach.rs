fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (name, secs) = (a[1].clone(), a[2].parse::<u64>().unwrap());
    let code = std::fs::read(format!("/obj/{name}.o")).unwrap();
    let tuned = schedlab_policy::Tuned::defaults(schedlab_policy::Policy::find(&name).unwrap());
    let program = schedlab_live::Program {
        tuned: &tuned,
        code: &code,
    };
    let t = std::time::Instant::now();
    let mut l = match schedlab_live::load(&program, &Default::default()) {
        Ok(l) => l,
        Err(e) => {
            println!("{e}");
            std::process::exit(1)
        }
    };
    println!("attached {name} after {:?}", t.elapsed());
    println!("{:?}", l.verified_instructions());
    let mut last = l.statistics().unwrap();
    for _ in 0..secs {
        std::thread::sleep(std::time::Duration::from_secs(1));
        let now = l.statistics().unwrap();
        let d = now.since(&last);
        println!("tasks {} sw {} calls {} ex/call {:.2} recalc {} migr {} wake {} ticks {} locks {}/{} p50 {:?} p99 {:?}", d.tasks, d.switches, d.schedule_calls, d.examined_per_call(), d.recalculations, d.migrations, d.wakeups, d.ticks, d.failed_locks, d.locks, d.delay.percentile_ns(0.5), d.delay.percentile_ns(0.99));
        last = now;
        if l.ending().is_some() {
            break;
        }
    }
    let e = l.unload();
    if let Some(e) = e {
        println!("ended {e}\n{}", e.dump);
    }
}
