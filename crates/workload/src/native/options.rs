//! `[options]`, which a user can set after the name of the file, as in `my.toml --clients 20`,
//! and `[constants]`, which the file calculates from them.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use schedlab_input::{quantity, Diagnostic, Table};

use super::expression::{fill, Scope, Unit, Value};
use super::names::check_name;
use crate::builtin::errors::{self, bad_option};

const KEYS: [&str; 7] = [
    "default", "short", "help", "least", "most", "words", "excludes",
];

/// One option, as its table declares it.
struct Declared<'a> {
    name: &'a str,
    table: Table<'a>,
    kind: Kind<'a>,
    /// As it is written on a command line.
    default: String,
}

/// What an option's value is.
enum Kind<'a> {
    /// Given or not.
    Flag,
    Number(Unit),
    /// Whole numbers with commas between them.
    Numbers,
    /// One of these words; any if there are none.
    Word(Vec<&'a str>),
}

/// The values of the options that these arguments give, and the constants.
pub(super) fn scope(root: &Table<'_>, name: &str, args: &[String]) -> Result<Scope, Diagnostic> {
    let options = declared(root)?;
    let matches = command(name, &options)?
        .no_binary_name(true)
        .try_get_matches_from(args)
        .map_err(|error| errors::diagnostic(name, &error))?;
    let mut scope = Scope::default();
    for option in &options {
        let value = option.value(name, &matches)?;
        scope.set(option.name, value);
    }
    for option in &options {
        option.check_range(name, &matches, &scope)?;
    }
    constants(root, &mut scope)?;
    Ok(scope)
}

/// The options with their meanings and defaults; none if there are none.
pub(super) fn help(
    root: &Table<'_>,
    name: &str,
    about: &str,
) -> Result<Option<String>, Diagnostic> {
    let options = declared(root)?;
    if options.is_empty() {
        return Ok(None);
    }
    let mut command = command(name, &options)?.about(about.to_string());
    Ok(Some(command.render_long_help().to_string()))
}

/// In the order of the file.
fn declared<'a>(root: &Table<'a>) -> Result<Vec<Declared<'a>>, Diagnostic> {
    let tables = root.tables("options")?.into_iter();
    let mut options = tables
        .map(|(name, table)| Declared::declare(name, table))
        .collect::<Result<Vec<_>, _>>()?;
    options.sort_by_key(|option| option.table.line(""));
    Ok(options)
}

/// `[constants]`, in the order of the file: each can use those before it.
fn constants(root: &Table<'_>, scope: &mut Scope) -> Result<(), Diagnostic> {
    let Some(table) = root.table("constants")? else {
        return Ok(());
    };
    let mut names: Vec<&str> = table.keys().collect();
    names.sort_by_key(|name| table.line(name));
    for name in names {
        check_value_name(&table, name, scope)?;
        let expected = "an expression in quotes, such as \"{2 * clients}\"";
        let value = table.quantity(name, expected, |text| {
            let filled = fill(text, scope)?;
            Ok(any_number(&filled).unwrap_or(Value::Word(filled)))
        })?;
        scope.set(name, value.expect("the key is there"));
    }
    Ok(())
}

fn check_value_name(table: &Table<'_>, name: &str, scope: &Scope) -> Result<(), Diagnostic> {
    let taken = ["i", "n", "of", "min", "max", "len", "power2", "help"].contains(&name);
    if taken || scope.get(name).is_some() {
        return Err(table
            .mistake(name, "this name is reserved or used already")
            .expected("another name"));
    }
    match check_name(name) {
        Ok(()) if !name.contains('-') => Ok(()),
        Ok(()) => Err(table
            .mistake(name, "\"-\" in a name of a value")
            .expected("\"_\" instead")),
        Err(problem) => Err(table.mistake(name, problem)),
    }
}

/// The options as a command of clap.
fn command(name: &str, options: &[Declared<'_>]) -> Result<Command, Diagnostic> {
    let mut command = Command::new(name.to_string());
    for option in options {
        command = command.arg(option.argument(options)?);
    }
    Ok(command.disable_version_flag(true))
}

impl<'a> Declared<'a> {
    fn declare(name: &'a str, table: Table<'a>) -> Result<Self, Diagnostic> {
        check_value_name(&table, name, &Scope::default()).map_err(|d| d.key(table.dotted("")))?;
        let table = table.only(&KEYS)?;
        let (kind, default) = kind(&table)?;
        table.need("help", table.string("help")?, "one sentence about it")?;
        Ok(Declared {
            name,
            table,
            kind,
            default,
        })
    }

    fn flag(&self) -> String {
        format!("--{}", self.name.replace('_', "-"))
    }

    fn argument(&self, all: &[Declared<'_>]) -> Result<Arg, Diagnostic> {
        let help = self.table.string("help")?.unwrap_or_default().to_string();
        let mut arg = Arg::new(self.name.to_string())
            .long(self.name.replace('_', "-"))
            .help(help);
        if let Some(letter) = self.short(all)? {
            arg = arg.short(letter);
        }
        if let Some(other) = self.table.string("excludes")? {
            let names = || all.iter().map(|option| option.name);
            if !names().any(|name| name == other) {
                let problem = format!("there is no option \"{other}\"");
                return Err(self
                    .table
                    .mistake("excludes", problem)
                    .suggest(other, names()));
            }
            arg = arg.conflicts_with(other.to_string());
        }
        let value_name = match self.kind {
            Kind::Flag => return Ok(arg.action(ArgAction::SetTrue)),
            Kind::Number(Unit::Time) => "TIME".to_string(),
            Kind::Number(Unit::Size) => "SIZE".to_string(),
            _ => self.name.to_uppercase(),
        };
        Ok(arg
            .value_name(value_name)
            .default_value(self.default.clone())
            .allow_negative_numbers(matches!(self.kind, Kind::Number(_)))
            .allow_hyphen_values(matches!(self.kind, Kind::Numbers | Kind::Word(_))))
    }

    fn short(&self, all: &[Declared<'_>]) -> Result<Option<char>, Diagnostic> {
        let Some(short) = self.table.string("short")? else {
            return Ok(None);
        };
        let mistake = |problem: &str| {
            Err(self
                .table
                .mistake("short", problem)
                .expected("one letter of its own"))
        };
        let same = |o: &&Declared<'_>| o.table.string("short") == Ok(Some(short));
        match short.chars().next() {
            Some(letter) if short.len() == 1 && letter.is_ascii_alphanumeric() => match letter {
                'h' => mistake("-h asks for help"),
                _ if all.iter().filter(same).count() > 1 => {
                    mistake("another option has this letter")
                }
                _ => Ok(Some(letter)),
            },
            _ => mistake("not a letter"),
        }
    }

    fn value(&self, file: &str, matches: &ArgMatches) -> Result<Value, Diagnostic> {
        if let Kind::Flag = self.kind {
            return Ok(Value::number(matches.get_flag(self.name).into()));
        }
        let text: &String = matches.get_one(self.name).expect("it has a default");
        self.read(text).map_err(|expected| {
            let problem = format!("\"{text}\" is not valid");
            let mistake = self.wrong(file, matches, problem, expected);
            match &self.kind {
                Kind::Word(words) => mistake.suggest(text, words.iter().copied()),
                _ => mistake,
            }
        })
    }

    /// The value of a text, or what was expected.
    fn read(&self, text: &str) -> Result<Value, String> {
        match &self.kind {
            Kind::Flag => read(text, Unit::One),
            Kind::Number(unit) => read(text, *unit),
            Kind::Numbers => text
                .split(',')
                .map(|number| number.trim().parse())
                .collect::<Result<_, _>>()
                .map(Value::List)
                .map_err(|_| "whole numbers with commas between them".to_string()),
            Kind::Word(words) if words.is_empty() || words.contains(&text) => {
                Ok(Value::Word(text.to_string()))
            }
            Kind::Word(words) => Err(format!("one of {}", words.join(", "))),
        }
    }

    /// Is the value within `least` and `most`?  Both can depend on other options.
    fn check_range(
        &self,
        file: &str,
        matches: &ArgMatches,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let (values, unit) = match scope.get(self.name) {
            Some(Value::Number(value, unit)) => (vec![*value], *unit),
            Some(Value::List(values)) => (values.clone(), Unit::One),
            _ => return Ok(()),
        };
        let least = self.bound("least", unit, scope)?.unwrap_or(0);
        let most = self.bound("most", unit, scope)?.unwrap_or(i64::MAX);
        let Some(out) = values.into_iter().find(|v| !(least..=most).contains(v)) else {
            return Ok(());
        };
        let text = |value: i64| Value::Number(value, unit).to_string();
        let range = match most {
            i64::MAX => format!("at least {}", text(least)),
            most => format!("{} to {}", text(least), text(most)),
        };
        let problem = format!("{} is out of range", text(out));
        Err(self.wrong(file, matches, problem, range))
    }

    /// A value that does not fit: one that was given, or the default in the file.
    fn wrong(
        &self,
        file: &str,
        matches: &ArgMatches,
        problem: String,
        expected: String,
    ) -> Diagnostic {
        match matches.value_source(self.name) {
            Some(ValueSource::CommandLine) => bad_option(file, &self.flag(), problem, expected),
            _ => self.table.mistake("default", problem).expected(expected),
        }
    }

    fn bound(&self, key: &str, unit: Unit, scope: &Scope) -> Result<Option<i64>, Diagnostic> {
        if let Ok(number) = self.table.integer(key, i64::MIN..=i64::MAX) {
            return Ok(number);
        }
        let expected = "a number, or a quantity or an expression in quotes";
        let bound = self.table.quantity(key, expected, |text| {
            let problem = format!("\"{text}\" is not valid");
            read(&fill(text, scope)?, unit)
                .map_err(|expected| Diagnostic::new(problem).expected(expected))
        })?;
        Ok(match bound {
            Some(Value::Number(bound, _)) => Some(bound),
            _ => None,
        })
    }
}

/// What kind of option it is, by its default, and the default as text.
fn kind<'a>(table: &Table<'a>) -> Result<(Kind<'a>, String), Diagnostic> {
    let words = table.string("words")?.unwrap_or_default();
    if let Ok(Some(true)) = table.boolean("default") {
        return Err(table
            .mistake("default", "a flag that is set by default cannot be given")
            .expected("false"));
    }
    if let Ok(Some(false)) = table.boolean("default") {
        return Ok((Kind::Flag, String::new()));
    }
    if let Ok(Some(number)) = table.integer("default", i64::MIN..=i64::MAX) {
        return Ok((Kind::Number(Unit::One), number.to_string()));
    }
    if let Ok(Some(numbers)) = table.integers("default") {
        let numbers = numbers.into_iter().map(|(_, number)| number).collect();
        return Ok((Kind::Numbers, Value::List(numbers).to_string()));
    }
    let expected = "false, a number, numbers in [ ], or a time, size or word in quotes";
    let text = table.need("default", table.string("default")?, expected)?;
    let units = [Unit::Time, Unit::Size, Unit::Milli];
    let unit = units.into_iter().find(|unit| read(text, *unit).is_ok());
    let kind = match unit {
        Some(unit) if words.is_empty() => Kind::Number(unit),
        _ => Kind::Word(words.split_whitespace().collect()),
    };
    Ok((kind, text.to_string()))
}

/// A number of this unit, or what was expected.  A time or a size of 0 needs no unit.
fn read(text: &str, unit: Unit) -> Result<Value, String> {
    let value = match unit {
        Unit::One => text.parse().map_err(|_| "a whole number".to_string()),
        Unit::Time | Unit::Size if text == "0" => Ok(0),
        Unit::Time => quantity::duration(text)
            .map(|ns| ns.0 as i64)
            .map_err(|d| d.expected),
        Unit::Size => quantity::size(text)
            .map(|bytes| bytes as i64)
            .map_err(|d| d.expected),
        Unit::Milli => quantity::thousandths(text)
            .map(i64::from)
            .map_err(|d| d.expected),
    };
    value.map(|value| Value::Number(value, unit))
}

/// A number of any unit.
fn any_number(text: &str) -> Option<Value> {
    let units = [Unit::One, Unit::Time, Unit::Size, Unit::Milli];
    units.into_iter().find_map(|unit| read(text, unit).ok())
}
