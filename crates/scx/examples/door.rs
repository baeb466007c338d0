use schedlab_scx::door::*;
use std::sync::Arc;
fn main() {
    let mut args = std::env::args().skip(1);
    let m = args.next().unwrap();
    let program = args.next().unwrap();
    let machine = schedlab_machine::find(&m).unwrap();
    let kernel = schedlab_scx::Kernel::new().unwrap();
    let loader = Loader { name: program.clone(), program: program.into(), arguments: args.map(Into::into).collect() };
    let t = std::time::Instant::now();
    match load(&loader, &kernel, &machine, &|| false) {
        Ok(l) => println!("{:?} {} {:#x} {:?} {}", t.elapsed(), l.ops.name, l.ops.flags, l.idle, l.ops.programs.len()),
        Err(e) => println!("{:?} {e}", t.elapsed()),
    }
    let _ = Arc::new(1);
}
