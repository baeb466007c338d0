//! JSON in the dialect of rt-app's library and rt-app's users.
//!
//! json-c takes comments, trailing commas, single quotes, leading zeros, NaN and anything after
//! the end.  rt-app's own examples also repeat keys, in an order that matters, and omit the
//! value of `"suspend",`.  So an object here is a list of members with their lines.

use std::collections::BTreeMap;

use schedlab_input::Diagnostic;

/// A value and the line it begins in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub line: usize,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// Any number that is no integer; rt-app has no use for one.
    Double,
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
    /// The value of a bare key.
    Missing,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub line: usize,
    pub key: String,
    pub node: Node,
}

impl Value {
    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Double => "a number with a fraction or exponent",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
            Value::Missing => "nothing",
        }
    }
}

/// A document and its deviations from JSON.
pub(super) struct Document {
    pub root: Node,
    /// Keys that occur again in their object, in order of appearance.
    pub repeated: Vec<(usize, String)>,
    /// The line of whatever follows the root value.
    pub garbage: Option<usize>,
}

/// The deepest nesting of json-c.
const DEPTH_MAX: usize = 32;

/// Reads a document.  With `json_c`, exactly as json-c does: the last value of a repeated key
/// goes to the key's first place, and a key needs a value.
pub(super) fn parse(text: &str, json_c: bool) -> Result<Document, Diagnostic> {
    let mut parser = Parser {
        rest: text,
        line: 1,
        json_c,
        repeated: Vec::new(),
    };
    parser.space()?;
    let root = parser.value(0)?;
    // A comment without its end is garbage too.
    let garbage = (parser.space().is_err() || !parser.rest.is_empty()).then_some(parser.line);
    Ok(Document {
        root,
        repeated: parser.repeated,
        garbage,
    })
}

struct Parser<'a> {
    rest: &'a str,
    line: usize,
    json_c: bool,
    repeated: Vec<(usize, String)>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Takes this number of bytes, which must end between two characters.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Takes the longest run of such characters.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c));
        self.take(end.unwrap_or(self.rest.len()))
    }

    /// Takes this character if it is next.
    fn accept(&mut self, wanted: char) -> bool {
        let found = self.rest.starts_with(wanted);
        if found {
            self.take(wanted.len_utf8());
        }
        found
    }

    fn error(&self, problem: impl Into<String>, expected: &str) -> Diagnostic {
        Diagnostic {
            line: self.line,
            problem: problem.into(),
            expected: expected.to_string(),
            ..Diagnostic::default()
        }
    }

    /// Something else is here.
    fn unexpected(&self, expected: &str) -> Diagnostic {
        let found = match self.peek() {
            Some(c) => format!("\"{}\" does not belong here", c.escape_debug()),
            None => "the file ends here".to_string(),
        };
        self.error(found, expected)
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), Diagnostic> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest[2..].find("*/") else {
                    return Err(self.error("this comment has no end", "\"*/\""));
                };
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Diagnostic> {
        if depth >= DEPTH_MAX {
            let problem = format!("this is nested deeper than {DEPTH_MAX} levels");
            return Err(self.error(problem, "what json-c can read"));
        }
        let line = self.line;
        let value = match self.peek() {
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"' | '\'') => Value::String(self.string()?),
            Some(c) if c.is_ascii_digit() || c == '-' => self.number()?,
            Some(c) if c.is_ascii_alphabetic() => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { line, value })
    }

    fn object(&mut self, depth: usize) -> Result<Value, Diagnostic> {
        let mut members = Vec::new();
        let mut places = BTreeMap::new();
        self.accept('{');
        loop {
            self.space()?;
            if self.accept('}') {
                return Ok(Value::Object(members));
            }
            let member = self.member(depth)?;
            let place = *places.entry(member.key.clone()).or_insert(members.len());
            if place < members.len() {
                self.repeated.push((member.line, member.key.clone()));
            }
            match members.get_mut(place) {
                Some(known) if self.json_c => *known = member,
                _ => members.push(member),
            }
            self.space()?;
            if !self.accept(',') && !self.rest.starts_with('}') {
                return Err(self.unexpected("\",\" or \"}\""));
            }
        }
    }

    fn member(&mut self, depth: usize) -> Result<Member, Diagnostic> {
        let line = self.line;
        if !matches!(self.peek(), Some('"' | '\'')) {
            return Err(self.unexpected("a key in quotes"));
        }
        let key = self.string()?;
        self.space()?;
        let node = if self.accept(':') {
            self.space()?;
            self.value(depth + 1)?
        } else if !self.json_c && matches!(self.peek(), Some(',' | '}')) {
            let value = Value::Missing;
            Node { line, value }
        } else {
            let problem = format!("the key \"{key}\" has no value");
            return Err(self.error(problem, "\":\" and a value (json-c stops without them)"));
        };
        Ok(Member { line, key, node })
    }

    fn array(&mut self, depth: usize) -> Result<Value, Diagnostic> {
        let mut nodes = Vec::new();
        self.accept('[');
        loop {
            self.space()?;
            if self.accept(']') {
                return Ok(Value::Array(nodes));
            }
            nodes.push(self.value(depth + 1)?);
            self.space()?;
            if !self.accept(',') && !self.rest.starts_with(']') {
                return Err(self.unexpected("\",\" or \"]\""));
            }
        }
    }

    fn string(&mut self) -> Result<String, Diagnostic> {
        let start = self.line;
        let quote = if self.accept('\'') { '\'' } else { '"' };
        if quote == '"' {
            self.accept('"');
        }
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| c != quote && c != '\\'));
            if self.accept(quote) {
                return Ok(text);
            }
            if !self.accept('\\') {
                self.line = start;
                return Err(self.error("this string has no end", "a closing quote"));
            }
            text.push(self.escape()?);
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<char, Diagnostic> {
        let plain = match self.peek() {
            Some(c @ ('"' | '\'' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode(),
            _ => return Err(self.unexpected("an escape of JSON after \"\\\"")),
        };
        self.take(1);
        Ok(plain)
    }

    /// uXXXX; halves of surrogate pairs become the replacement character.
    fn unicode(&mut self) -> Result<char, Diagnostic> {
        let digits = self.rest.get(1..5);
        let code = digits
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|d| u32::from_str_radix(d, 16).ok());
        match code {
            Some(code) => {
                self.take(5);
                Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            None => Err(self.unexpected("\"u\" and four hexadecimal digits")),
        }
    }

    /// An integer of 64 bits, or some other number.
    fn number(&mut self) -> Result<Value, Diagnostic> {
        const INFINITE: &str = "-infinity";
        let next = self.rest.get(..INFINITE.len());
        if next.is_some_and(|next| next.eq_ignore_ascii_case(INFINITE)) {
            self.take(INFINITE.len());
            return Ok(Value::Double);
        }
        let text = self.take_while(|c| c.is_ascii_digit() || "+-.eE".contains(c));
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text),
        };
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            let size: Result<i64, _> = digits.parse();
            let range = format!("{} to {}", i32::MIN, i32::MAX);
            let size = size.map_err(|_| self.error(format!("{text} is out of range"), &range))?;
            return Ok(Value::Int(sign * size));
        }
        match text.parse::<f64>() {
            Ok(_) => Ok(Value::Double),
            Err(_) => Err(self.error(format!("\"{text}\" is not a number"), "a number")),
        }
    }

    fn word(&mut self) -> Result<Value, Diagnostic> {
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        match word.to_ascii_lowercase().as_str() {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "nan" | "infinity" => Ok(Value::Double),
            _ => Err(self.error(format!("\"{word}\" is not a value"), "strings in quotes")),
        }
    }
}
