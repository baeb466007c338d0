//! bpf_printk() and the like: printf() with arguments of 8 bytes each.

use std::fmt::Write;

use super::error;
use crate::machine::Machine;

/// Most bytes of a format, and of a string argument.
const MOST: usize = 1024;

/// Most lines that are kept for whoever wants them.
const MOST_LINES: usize = 1000;

calls! {
    trace_printk(m, format, len, one, two, three) {
        let format = m.memory.string(format, (len as usize).min(MOST));
        let line = m.format(&format, &[one, two, three]);
        m.print(line)
    }

    trace_vprintk(m, format, len, data, size) {
        let format = m.memory.string(format, (len as usize).min(MOST));
        let line = m.format_from(&format, data, size);
        m.print(line)
    }

    stream_vprintk(m, _stream, format, data, size) {
        let format = m.memory.string(format, MOST);
        let line = m.format_from(&format, data, size);
        m.print(line)
    }

    snprintf(m, to, len, format, data, size) {
        let format = m.memory.string(format, MOST);
        let text = m.format_from(&format, data, size);
        let room = u64::from(len as u32);
        if room > 0 {
            let kept = &text.as_bytes()[..text.len().min(room as usize - 1)];
            let written = m.memory.write(to, kept);
            if written.and_then(|()| m.memory.set(to + kept.len() as u64, 0_u8)).is_err() {
                return error(libc::EFAULT);
            }
        }
        text.len() as u64 + 1
    }
}

impl Machine {
    fn print(&mut self, line: String) -> u64 {
        let len = line.len() as u64;
        if self.printed.len() < MOST_LINES {
            self.printed.push(line);
        }
        len
    }

    fn format_from(&self, format: &str, data: u64, size: u64) -> String {
        let count = u64::from(size as u32) / 8;
        let arguments = (0..count.min(16)).map(|i| self.memory.get(data.wrapping_add(8 * i)));
        self.format(format, &arguments.collect::<Vec<u64>>())
    }

    /// printf() as BPF has it, with arguments of 8 bytes each.
    pub fn format(&self, format: &str, arguments: &[u64]) -> String {
        let mut text = String::new();
        let mut arguments = arguments.iter().copied();
        let mut rest = format.chars().peekable();
        while let Some(c) = rest.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            let mut spec = Spec::default();
            let conversion = loop {
                match rest.next() {
                    Some(flag @ ('-' | '0' | '+' | ' ' | '#')) if spec.width.is_none() => {
                        spec.flag(flag)
                    }
                    Some(digit @ '0'..='9') => spec.digit(digit),
                    Some('.') => spec.precision = Some(0),
                    Some('l') => spec.longs += 1,
                    Some('h') => spec.shorts += 1,
                    Some('z' | 't' | 'j') => spec.longs += 2,
                    other => break other,
                }
            };
            match conversion {
                Some('%') => text.push('%'),
                Some(kind) => {
                    if kind == 'p' {
                        // %pK, %px, %pB and the like.
                        while rest.peek().is_some_and(|c| "KxBsSi".contains(*c)) {
                            rest.next();
                        }
                    }
                    let value = arguments.next().unwrap_or(0);
                    text += &spec.pad(&self.convert(&spec, kind, value));
                }
                None => {}
            }
        }
        text
    }

    fn convert(&self, spec: &Spec, kind: char, value: u64) -> String {
        let mut text = String::new();
        let short = value & spec.mask();
        let _ = match kind {
            'd' | 'i' => write!(text, "{}", spec.signed(value)),
            'u' => write!(text, "{short}"),
            'x' => write!(text, "{}{short:x}", if spec.prefix { "0x" } else { "" }),
            'X' => write!(text, "{}{short:X}", if spec.prefix { "0X" } else { "" }),
            'o' => write!(text, "{short:o}"),
            'p' => write!(text, "{value:016x}"),
            'c' => write!(text, "{}", char::from(value as u8)),
            's' => {
                let most = spec.precision.unwrap_or(MOST);
                text = match value {
                    0 => "(null)".into(),
                    value => self.memory.string(value, most.min(MOST)),
                };
                Ok(())
            }
            other => write!(text, "%{other}"),
        };
        text
    }
}

/// What is between % and the letter.
#[derive(Default)]
struct Spec {
    left: bool,
    zeros: bool,
    prefix: bool,
    width: Option<usize>,
    precision: Option<usize>,
    longs: u32,
    shorts: u32,
}

impl Spec {
    fn flag(&mut self, flag: char) {
        match flag {
            '-' => self.left = true,
            '0' => self.zeros = true,
            '#' => self.prefix = true,
            _ => {}
        }
    }

    fn digit(&mut self, digit: char) {
        let digit = digit as usize - '0' as usize;
        let number = match &mut self.precision {
            Some(precision) => precision,
            None => self.width.get_or_insert(0),
        };
        *number = (*number * 10 + digit).min(MOST);
    }

    fn mask(&self) -> u64 {
        match (self.longs, self.shorts) {
            (0, 0) => u64::from(u32::MAX),
            (0, 1) => u64::from(u16::MAX),
            (0, _) => u64::from(u8::MAX),
            _ => u64::MAX,
        }
    }

    fn signed(&self, value: u64) -> i64 {
        match (self.longs, self.shorts) {
            (0, 0) => i64::from(value as i32),
            (0, 1) => i64::from(value as i16),
            (0, _) => i64::from(value as i8),
            _ => value as i64,
        }
    }

    fn pad(&self, text: &str) -> String {
        let width = self.width.unwrap_or(0);
        match (self.left, self.zeros) {
            (true, _) => format!("{text:<width$}"),
            (false, false) => format!("{text:>width$}"),
            (false, true) => match text.strip_prefix('-') {
                Some(digits) => format!("-{digits:0>width$}", width = width.saturating_sub(1)),
                None => format!("{text:0>width$}"),
            },
        }
    }
}
