//! The plan of a sweep: the parameters that are combined.

use std::path::Path;

use schedlab_input::{read_text, Diagnostic, Document, Table};
use schedlab_lab::{exact, CommandLine, Seeds};
use schedlab_trace::Ns;

use crate::axis::{Axis, Values};
use crate::constraint::Constraint;

/// The parameters of a sweep.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// Policies as in `--policies`, one each.
    pub policies: Vec<String>,
    /// Workloads as in `--workload`.
    pub workloads: Vec<String>,
    /// Machines as in `--machine`.
    pub machines: Vec<String>,
    /// The seeds of each set-up.
    pub seeds: Option<Seeds>,
    /// Duration of each run; `None`: the workload's.
    pub duration: Option<Ns>,
    /// Tunables and options that are varied.
    pub vary: Vec<Axis>,
    /// Which combinations of their values are run.
    pub design: Design,
    /// Conditions for every set-up.
    pub constraints: Vec<Constraint>,
}

/// Which combinations of the varied values are run. Each is run with every policy, workload,
/// machine and seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Design {
    /// All combinations.
    #[default]
    Grid,
    /// Random combinations, each drawn independently.
    Random(Draw),
    /// Random combinations that cover each axis evenly.
    LatinHypercube(Draw),
}

/// Number of random combinations, and the seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draw {
    /// Their number.
    pub samples: usize,
    /// The seed.
    pub seed: u64,
}

/// The names of designs.
pub const DESIGNS: [&str; 3] = ["grid", "random", "latin-hypercube"];

/// The most samples of a design.
pub const MOST_SAMPLES: usize = 1_000_000;

const KEYS: [&str; 10] = [
    "policies",
    "workloads",
    "machines",
    "seeds",
    "duration",
    "design",
    "samples",
    "design_seed",
    "constraints",
    "vary",
];

impl Design {
    /// The design with this name.
    ///
    /// # Errors
    /// There is no such design, or a number of samples is missing or not allowed.
    pub fn new(name: &str, samples: Option<usize>, seed: u64) -> Result<Design, Diagnostic> {
        let drawn = |design: fn(Draw) -> Design| match samples {
            Some(samples) if (1..=MOST_SAMPLES).contains(&samples) => {
                Ok(design(Draw { samples, seed }))
            }
            _ => Err(Diagnostic::new(format!(
                "a {name} design needs a number of samples from 1 to {MOST_SAMPLES}"
            ))
            .expected("--samples, or samples = N in the plan")),
        };
        match name {
            "grid" if samples.is_some() => Err(Diagnostic::new(
                "a grid has all combinations; it takes no number of samples",
            )
            .expected("a design with random samples: random or latin-hypercube")),
            "grid" => Ok(Design::Grid),
            "random" => drawn(Design::Random),
            "latin-hypercube" => drawn(Design::LatinHypercube),
            _ => Err(Diagnostic::new(format!("there is no design \"{name}\""))
                .expected(format!("one of {}", DESIGNS.join(", ")))
                .suggest(name, DESIGNS)),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Design::Grid => DESIGNS[0],
            Design::Random(_) => DESIGNS[1],
            Design::LatinHypercube(_) => DESIGNS[2],
        }
    }

    /// Its samples and seed, if it is random.
    pub fn draw(&self) -> Option<Draw> {
        match *self {
            Design::Grid => None,
            Design::Random(draw) | Design::LatinHypercube(draw) => Some(draw),
        }
    }
}

impl Plan {
    /// Reads a plan from a file.
    ///
    /// # Errors
    /// The file cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Plan, Diagnostic> {
        Plan::parse(&path.display().to_string(), &read_text(path)?)
    }

    /// Parses the text of a plan.
    ///
    /// # Errors
    /// The text is invalid.
    pub fn parse(file: &str, text: &str) -> Result<Plan, Diagnostic> {
        let document = Document::parse(file, text)?;
        let table = document.root().only(&KEYS)?;
        let words = |key: &str| -> Result<Vec<String>, Diagnostic> {
            let words = table.words(key)?.unwrap_or_default();
            Ok(words.into_iter().map(|(_, word)| word).collect())
        };
        let mut plan = Plan {
            policies: words("policies")?,
            workloads: words("workloads")?,
            machines: words("machines")?,
            seeds: seeds(&table)?,
            duration: table.duration("duration")?,
            design: design(&table)?,
            ..Plan::default()
        };
        for (line, text) in table.words("constraints")?.unwrap_or_default() {
            let constraint = Constraint::parse(&text);
            plan.constraints
                .push(constraint.map_err(|mistake| mistake.at(file, line).key("constraints"))?);
        }
        if let Some(vary) = table.table("vary")? {
            axes(&vary, "", &mut plan)?;
        }
        Ok(plan)
    }

    /// Adds an axis. `policy`, `workload` and `machine` set lists of the plan.
    ///
    /// # Errors
    /// The axis exists already, or a range is given for a list.
    pub fn add(&mut self, axis: Axis) -> Result<(), Diagnostic> {
        let list = match axis.name.as_str() {
            "policy" => &mut self.policies,
            "workload" => &mut self.workloads,
            "machine" => &mut self.machines,
            _ => {
                if self.vary.iter().any(|other| other.name == axis.name) {
                    return Err(axis.mistake("given twice"));
                }
                self.vary.push(axis);
                return Ok(());
            }
        };
        match &axis.values {
            Values::List(values) if list.is_empty() => {
                list.extend(values.iter().cloned());
                Ok(())
            }
            Values::List(_) => Err(axis.mistake("given twice")),
            Values::Range { .. } => Err(axis.mistake("a list of names cannot be a range")),
        }
    }

    /// The seeds; by default only seed 1.
    pub fn seeds(&self) -> Vec<u64> {
        self.seeds
            .as_ref()
            .map_or(vec![1], |seeds| seeds.list.clone())
    }

    /// The flags that repeat a sweep of this plan.
    pub fn flags(&self, line: CommandLine) -> CommandLine {
        let vary = self.vary.iter().map(Axis::to_string);
        let draw = self.design.draw();
        line.flag("--policies", self.policies.join(","))
            .flags("--workload", &self.workloads)
            .flags("--machine", &self.machines)
            .flag_if("--seeds", self.seeds.as_ref().map(Seeds::to_string))
            .flag_if("--duration", self.duration.map(exact))
            .flags("--vary", vary)
            .flag_if("--design", draw.map(|_| self.design.name()))
            .flag_if("--samples", draw.map(|draw| draw.samples.to_string()))
            .flag_if("--design-seed", draw.map(|draw| draw.seed.to_string()))
            .flags("--constraint", self.constraints.iter().map(|c| &*c.text))
    }
}

impl std::fmt::Display for Axis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.values {
            Values::List(values) => write!(f, "{}={}", self.name, values.join(",")),
            Values::Range { low, high, log } => {
                let log = if *log { " log" } else { "" };
                write!(f, "{}={low}..{high}{log}", self.name)
            }
        }
    }
}

/// A number of seeds, a text as in `--seeds`, or a list.
fn seeds(table: &Table) -> Result<Option<Seeds>, Diagnostic> {
    let Some(words) = table.words("seeds")? else {
        return Ok(None);
    };
    let words: Vec<String> = words.into_iter().map(|(_, word)| word).collect();
    let read = words.join(",").parse();
    read.map(Some).map_err(|expected: String| {
        table
            .mistake("seeds", format!("\"{}\" is not valid", words.join(",")))
            .expected(expected)
    })
}

fn design(table: &Table) -> Result<Design, Diagnostic> {
    let name = table.string("design")?.unwrap_or("grid");
    let most = MOST_SAMPLES as i64;
    let samples = table.integer("samples", 1..=most)?;
    let seed = table.integer("design_seed", 0..=i64::MAX)?.unwrap_or(1);
    let design = Design::new(name, samples.map(|n| n as usize), seed as u64);
    design.map_err(|mistake| mistake.at(table.file(), table.line("design")).key("design"))
}

/// The keys of `[vary]`: `o1.max_timeslice_ms` is a table in a table.
fn axes(table: &Table, scope: &str, plan: &mut Plan) -> Result<(), Diagnostic> {
    for key in table.keys() {
        let name = match scope {
            "" => key.to_string(),
            scope => format!("{scope}.{key}"),
        };
        if let Some(inner) = table.has_table(key).then(|| table.table(key)).transpose()? {
            axes(&inner.expect("it is a table"), &name, plan)?;
            continue;
        }
        let words = table.words(key)?.unwrap_or_default();
        let words: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
        let origin = (table.file().to_string(), table.line(key));
        plan.add(Axis::new(&name, &words, origin)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "\
policies = [\"o1\", \"eevdf\"]
workloads = \"late\"
seeds = 3
duration = \"1s\"
design = \"random\"
samples = 7
constraints = [\"o1.min_timeslice_ms < o1.max_timeslice_ms\"]

[vary]
machine = [\"desktop\", \"server\"]
o1.max_timeslice_ms = [10, 20]
\"o1.min_timeslice_ms\" = \"1..9\"
";

    #[test]
    fn a_plan_is_read() {
        let plan = Plan::parse("plan.toml", PLAN).unwrap();
        assert_eq!(plan.policies, ["o1", "eevdf"]);
        assert_eq!(plan.machines, ["desktop", "server"]);
        assert_eq!(plan.seeds(), [1, 2, 3]);
        assert_eq!(plan.duration, Some(Ns::from_secs(1)));
        let names: Vec<&str> = plan.vary.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(names, ["o1.max_timeslice_ms", "o1.min_timeslice_ms"]);
        let draw = Draw {
            samples: 7,
            seed: 1,
        };
        assert_eq!(plan.design, Design::Random(draw));
        let line = plan.flags(CommandLine::new("sweep")).to_string();
        assert_eq!(
            line,
            "schedlab sweep --policies o1,eevdf --workload late --machine desktop --machine server --seeds 3 \
             --duration 1s --vary o1.max_timeslice_ms=10,20 --vary o1.min_timeslice_ms=1..9 --design random \
             --samples 7 --design-seed 1 --constraint \"o1.min_timeslice_ms < o1.max_timeslice_ms\""
                .replace('"', "'")
        );
    }

    #[test]
    fn mistakes_name_file_and_line() {
        let says = |from: &str, to: &str, start: &str| {
            let mistake = Plan::parse("plan.toml", &PLAN.replace(from, to)).unwrap_err();
            let message = mistake.to_string();
            assert!(message.starts_with(start), "{message}");
        };
        says(
            "policies",
            "polices",
            "plan.toml:1: polices: unknown key; expected one of",
        );
        says(
            "seeds = 3",
            "seeds = [3, 3]",
            "plan.toml:3: seeds: \"3,3\" is not valid",
        );
        says(
            "samples = 7\n",
            "",
            "plan.toml:5: design: a random design needs",
        );
        says(
            "\"random\"",
            "\"rnadom\"",
            "plan.toml:5: design: there is no design",
        );
        says(
            "[10, 20]",
            "[]",
            "plan.toml:11: o1.max_timeslice_ms: there is no value",
        );
        says(
            "[10, 20]",
            "[10, 10]",
            "plan.toml:11: o1.max_timeslice_ms: 10 is given twice",
        );
        says(
            " < ",
            " ? ",
            "plan.toml:7: constraints: \"o1.min_timeslice_ms ? ",
        );
    }
}
