//! The CPUs, caches and memory nodes of a description.

use schedlab_input::{Diagnostic, Table};

use crate::read::limited;
use crate::{Cache, Cpu, Machine, MAX_CPUS};

pub(crate) const CLUSTER_KEYS: [&str; 8] = [
    "count", "cores", "threads", "numbers", "package", "node", "capacity", "cache",
];
pub(crate) const CACHE_KEYS: [&str; 3] = ["size", "line", "refill"];

/// What a description says of CPUs, caches and nodes.
pub(crate) struct Topology {
    pub cpus: Vec<Cpu>,
    pub caches: Vec<Cache>,
    pub distances: Vec<Vec<u32>>,
}

/// The topology: described here, or that of the base, or of its first `cpus`.
pub(crate) fn topology(root: &Table<'_>, base: Option<&Machine>) -> Result<Topology, Diagnostic> {
    let keep = root.integer("cpus", 1..=i64::from(MAX_CPUS))?;
    let (cpus, caches) = match (base, keep) {
        (Some(base), None) if !root.has("cluster") => (base.cpus.clone(), base.caches.clone()),
        (Some(base), Some(keep)) if !root.has("cluster") => first_cpus(root, base, keep as usize)?,
        (_, Some(_)) => {
            return Err(root
                .mistake("cpus", "the number of CPUs follows from the clusters")
                .expected("\"cpus\" only with \"base\" and without [[cluster]]"))
        }
        (_, None) => clusters(root)?,
    };
    let inherited = base.filter(|_| !root.has("cluster"));
    let distances = match root.matrix("distances", 10..=254)? {
        Some(distances) => distances,
        None => inherited.map_or(Vec::new(), |base| base.distances.clone()),
    };
    Ok(Topology {
        cpus,
        caches,
        distances,
    })
}

/// A machine reduced to its first CPUs, without the caches that none of these uses.
fn first_cpus(
    root: &Table<'_>,
    base: &Machine,
    keep: usize,
) -> Result<(Vec<Cpu>, Vec<Cache>), Diagnostic> {
    if keep > base.cpus.len() {
        return Err(root
            .mistake(
                "cpus",
                format!("{} has only {} CPUs", base.name, base.cpus.len()),
            )
            .expected(format!("1 to {}", base.cpus.len())));
    }
    let mut cpus = base.cpus[..keep].to_vec();
    let mut used: Vec<u32> = cpus.iter().map(|cpu| cpu.cache).collect();
    used.sort_unstable();
    used.dedup();
    for cpu in &mut cpus {
        cpu.cache = used.partition_point(|&cache| cache < cpu.cache) as u32;
    }
    let caches = used.iter().map(|&cache| base.caches[cache as usize]);
    Ok((cpus, caches.collect()))
}

/// Cores of one kind around a last-level cache, as often as there are such groups.
struct Cluster {
    count: u32,
    cores: u32,
    threads: u32,
    /// CPU numbers of the first threads of all cores, of the second ones and so on.
    numbers: Option<Vec<Vec<u32>>>,
    package: u32,
    node: u32,
    capacity: u32,
    /// None: the cache of the cluster before.
    cache: Option<Cache>,
}

impl Cluster {
    fn nr_cores(&self) -> u32 {
        self.count.saturating_mul(self.cores)
    }

    fn nr_cpus(&self) -> u64 {
        u64::from(self.nr_cores()) * u64::from(self.threads)
    }
}

fn clusters(root: &Table<'_>) -> Result<(Vec<Cpu>, Vec<Cache>), Diagnostic> {
    let tables = root.list("cluster")?;
    let read: Vec<Cluster> = tables
        .iter()
        .enumerate()
        .map(|(index, table)| cluster(table, index == 0))
        .collect::<Result<_, _>>()?;
    if read.is_empty() {
        return Err(root
            .mistake("cluster", "missing")
            .expected("at least one table [[cluster]]"));
    }
    let nr_cpus: u64 = read.iter().map(Cluster::nr_cpus).sum();
    if nr_cpus > u64::from(MAX_CPUS) {
        return Err(root
            .mistake("cluster", format!("the clusters have {nr_cpus} CPUs"))
            .expected(format!("at most {MAX_CPUS}")));
    }
    let (cores, caches) = cores(&read);
    let cpus = match read.iter().filter(|c| c.numbers.is_some()).count() {
        0 => by_thread(&cores),
        all if all == read.len() => numbered(root, &read, &cores, nr_cpus as usize)?,
        _ => {
            let without = read.iter().position(|c| c.numbers.is_none()).unwrap_or(0);
            return Err(tables[without]
                .mistake("numbers", "missing, but other clusters have it")
                .expected("CPU numbers in all clusters, or in none"));
        }
    };
    Ok((cpus, caches))
}

/// All cores in the order of the file, each with its number of threads; and the caches.
fn cores(clusters: &[Cluster]) -> (Vec<(u32, Cpu)>, Vec<Cache>) {
    let (mut cores, mut caches) = (Vec::new(), Vec::new());
    for cluster in clusters {
        for _ in 0..cluster.count {
            caches.extend(cluster.cache);
            for _ in 0..cluster.cores {
                let cpu = Cpu {
                    core: cores.len() as u32,
                    package: cluster.package,
                    node: cluster.node,
                    cache: caches.len() as u32 - 1,
                    capacity: cluster.capacity,
                };
                cores.push((cluster.threads, cpu));
            }
        }
    }
    (cores, caches)
}

/// Numbers CPUs as Linux on x86 mostly does: the first threads of all cores, then the second ones.
fn by_thread(cores: &[(u32, Cpu)]) -> Vec<Cpu> {
    let most = cores.iter().map(|(threads, _)| *threads).max().unwrap_or(0);
    let nth = |n| {
        cores
            .iter()
            .filter(move |(threads, _)| n < *threads)
            .map(|(_, cpu)| *cpu)
    };
    (0..most).flat_map(nth).collect()
}

/// Numbers CPUs as the clusters say.
fn numbered(
    root: &Table<'_>,
    clusters: &[Cluster],
    cores: &[(u32, Cpu)],
    nr_cpus: usize,
) -> Result<Vec<Cpu>, Diagnostic> {
    let mut cpus: Vec<Option<Cpu>> = vec![None; nr_cpus];
    let mut first = 0;
    for cluster in clusters {
        let cores = &cores[first..][..cluster.nr_cores() as usize];
        first += cores.len();
        let threads = cluster.numbers.iter().flatten();
        for (&number, (_, cpu)) in threads.flat_map(|thread| thread.iter().zip(cores)) {
            match cpus.get_mut(number as usize) {
                Some(slot @ None) => *slot = Some(*cpu),
                taken => {
                    let problem = match taken {
                        Some(_) => format!("CPU {number} is there twice"),
                        None => format!("CPU {number} is beyond the {nr_cpus} CPUs there are"),
                    };
                    return Err(root
                        .mistake("cluster", problem)
                        .expected("each CPU number once, from 0 on"));
                }
            }
        }
    }
    // As many numbers as CPUs, none twice: all are there.
    Ok(cpus.into_iter().flatten().collect())
}

fn cluster(table: &Table<'_>, is_first: bool) -> Result<Cluster, Diagnostic> {
    let table = table.clone().only(&CLUSTER_KEYS)?;
    let number = |key, low: i64, high: u32, default| {
        let given = table.integer(key, low..=i64::from(high))?;
        Ok(given.map_or(default, |n| n as u32))
    };
    let cache = match table.table("cache")? {
        Some(cache) => Some(self::cache(cache)?),
        None if is_first => {
            let expected = "a table with size, line and refill";
            return Err(table.mistake("cache", "missing").expected(expected));
        }
        None => None,
    };
    let node = number("node", 0, MAX_CPUS - 1, 0)?;
    let mut cluster = Cluster {
        count: number("count", 1, MAX_CPUS, 1)?,
        cores: number("cores", 1, MAX_CPUS, 1)?,
        threads: number("threads", 1, 8, 1)?,
        numbers: None,
        package: number("package", 0, MAX_CPUS - 1, node)?,
        node,
        capacity: number("capacity", 1, 1024, 1024)?,
        cache,
    };
    cluster.numbers = numbers(&table, &cluster)?;
    Ok(cluster)
}

/// The CPU numbers of a cluster's threads: as many lists as threads, each with a number for each core.
fn numbers(table: &Table<'_>, cluster: &Cluster) -> Result<Option<Vec<Vec<u32>>>, Diagnostic> {
    let Some(lists) = table.cpu_lists("numbers")? else {
        return Ok(None);
    };
    let (threads, cores) = (cluster.threads as usize, cluster.nr_cores() as usize);
    if lists.len() != threads || lists.iter().any(|list| list.len() != cores) {
        let lengths: Vec<String> = lists.iter().map(|list| list.len().to_string()).collect();
        return Err(table
            .mistake(
                "numbers",
                format!("lists of {} CPUs", lengths.join(" and ")),
            )
            .expected(format!(
                "a list of {cores} CPUs for each of {threads} threads"
            )));
    }
    Ok(Some(lists))
}

/// A cache is described by what datasheets and benchmarks give: its size, its line and the time
/// until a missing line has come.
fn cache(table: Table<'_>) -> Result<Cache, Diagnostic> {
    let table = table.only(&CACHE_KEYS)?;
    let size_bytes = table.need("size", table.size("size")?, "a size such as \"512KiB\"")?;
    let line = table.need("line", table.size("line")?, "a size such as \"64B\"")?;
    if !(1..=4096).contains(&line) {
        return Err(table
            .mistake("line", format!("{line} bytes is out of range"))
            .expected("1 to 4096 bytes"));
    }
    let refill = table.need(
        "refill",
        table.duration("refill")?,
        "the time to fetch one line, such as \"80ns\"",
    )?;
    let refill = limited(&table, "refill", refill)?;
    Ok(Cache {
        size_bytes,
        refill_ps_per_byte: (refill.0 * 1000 + line / 2) / line,
    })
}

#[cfg(test)]
mod tests {
    use crate::Machine;

    const HYBRID: &str = r#"
title = "Two fast cores with two threads each, four slow ones"
base = "desktop"
smt_speed_milli = 600
[[cluster]]
cores = 2
threads = 2
numbers = ["0,2", "1,3"]
cache = { size = "8MiB", line = "64B", refill = "20ns" }
[[cluster]]
cores = 4
numbers = ["4-7"]
capacity = 512
"#;

    fn hybrid(from: &str, to: &str) -> Result<Machine, String> {
        assert!(HYBRID.contains(from));
        let text = HYBRID.replacen(from, to, 1);
        Machine::parse("h.toml", &text).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn clusters_share_a_cache_and_have_their_own_numbers() {
        let machine = hybrid("4-7", "4-7").unwrap();
        let cores: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.core).collect();
        assert_eq!(cores, [0, 0, 1, 1, 2, 3, 4, 5]);
        let capacities: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.capacity).collect();
        assert_eq!(capacities, [1024, 1024, 1024, 1024, 512, 512, 512, 512]);
        assert!(machine.cpus.iter().all(|cpu| cpu.cache == 0));
        assert_eq!(machine.caches.len(), 1);
    }

    #[test]
    fn numbers_are_complete_and_unique() {
        assert_eq!(
            hybrid("4-7", "3-6").unwrap_err(),
            "h.toml:5: cluster: CPU 3 is there twice; expected each CPU number once, from 0 on"
        );
        assert_eq!(
            hybrid("4-7", "5-8").unwrap_err(),
            "h.toml:5: cluster: CPU 8 is beyond the 8 CPUs there are; expected each CPU number once, from 0 on"
        );
        assert_eq!(
            hybrid("4-7", "4-6").unwrap_err(),
            "h.toml:12: cluster.numbers: lists of 3 CPUs; expected a list of 4 CPUs for each of 1 threads"
        );
        assert_eq!(
            hybrid("numbers = [\"4-7\"]\n", "").unwrap_err(),
            "h.toml:10: cluster.numbers: missing, but other clusters have it; expected CPU numbers in all clusters, or in none"
        );
    }

    #[test]
    fn distances_are_those_of_the_nodes() {
        let two = |distances: &str| {
            let text = format!("title = \"x\"\nbase = \"server\"\ndistances = {distances}\n");
            Machine::parse("d.toml", &text).map_err(|mistake| mistake.to_string())
        };
        let machine = two("[[10, 32], [32, 10]]").unwrap();
        assert_eq!((machine.distance(0, 1), machine.distance(1, 1)), (32, 10));
        for (wrong, said) in [
            ("[[10]]", "d.toml:1: distances between 1 nodes, but the machine has 2"),
            ("[[10, 32], [32]]", "d.toml:1: distances are not a square"),
            ("[[10, 32], [31, 10]]", "d.toml:1: the distance from node 0 to node 1 is 32, back it is 31"),
            ("[[11, 32], [32, 10]]", "d.toml:1: the distance of node 0 from itself is 11; it is 10"),
            ("[[10, 9], [9, 10]]", "d.toml:3: distances[0][1]: 9 is out of range; expected a whole number from 10 to 254"),
            ("10", "d.toml:3: distances: the number 10 is not valid here; expected rows of whole numbers, such as [[10, 20], [20, 10]]"),
        ] {
            assert_eq!(two(wrong).unwrap_err(), said);
        }
        assert_eq!(crate::find("desktop").unwrap().distance(0, 0), 10);
    }
}
