//! Finds this machine's Debian mirror in its apt sources.

use std::fs;
use std::path::{Path, PathBuf};

/// A Debian archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mirror {
    /// Its URI, as in apt's sources.
    pub uri: String,
    /// The file with its signing keys, if the entry names one; otherwise apt's own keys are used.
    pub signed_by: Option<String>,
}

/// The mirror of Debian's main archive in `/etc/apt`.
pub fn mirror() -> Option<Mirror> {
    mirror_in(Path::new("/etc/apt"))
}

fn mirror_in(folder: &Path) -> Option<Mirror> {
    let mut files = vec![folder.join("sources.list")];
    let parts = fs::read_dir(folder.join("sources.list.d"))
        .into_iter()
        .flatten();
    let mut parts: Vec<PathBuf> = parts.filter_map(|part| Some(part.ok()?.path())).collect();
    parts.sort();
    files.extend(parts);
    files.iter().find_map(|file| {
        let text = fs::read_to_string(file).ok()?;
        match file.extension()?.to_str()? {
            "list" => text.lines().find_map(one_line),
            "sources" => paragraphs(&text).find_map(|fields| deb822(&fields)),
            _ => None,
        }
    })
}

/// True for the main archive; false for security updates, which have no unstable suite.
fn is_debian(uri: &str, suites: &str) -> bool {
    let path = uri.trim_end_matches('/');
    let is_main = path.ends_with("/debian") || path.contains("/archive/debian/");
    is_main && !suites.contains("-security")
}

/// A line such as "deb [signed-by=/k.gpg] http://mirror/debian trixie main".
fn one_line(line: &str) -> Option<Mirror> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    let signed_by = options
        .split_whitespace()
        .find_map(|o| o.strip_prefix("signed-by="));
    let mirror = Mirror {
        uri: uri.into(),
        signed_by: signed_by.map(str::to_string),
    };
    (is_debian(uri, suite) && words.any(|component| component == "main")).then_some(mirror)
}

/// A paragraph's fields: names in lower case, values with their continued lines.
type Fields = Vec<(String, String)>;

fn paragraphs(text: &str) -> impl Iterator<Item = Fields> + '_ {
    text.split("\n\n").map(|paragraph| {
        let mut fields = Fields::new();
        for line in paragraph.lines().filter(|line| !line.starts_with('#')) {
            match (line.starts_with([' ', '\t']), line.split_once(':')) {
                (true, _) => {
                    if let Some((_, value)) = fields.last_mut() {
                        *value = format!("{value}\n{}", line.trim());
                    }
                }
                (false, Some((name, value))) => {
                    fields.push((name.to_ascii_lowercase(), value.trim().into()));
                }
                (false, None) => {}
            }
        }
        fields
    })
}

fn deb822(fields: &Fields) -> Option<Mirror> {
    let field = |name: &str| {
        fields
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    };
    let has = |name: &str, word: &str| {
        let mut words = field(name).unwrap_or_default().split_whitespace();
        words.any(|w| w == word)
    };
    if !has("types", "deb") || !has("components", "main") || has("enabled", "no") {
        return None;
    }
    let uris = field("uris")?.split_whitespace();
    let uri = uris
        .into_iter()
        .find(|uri| is_debian(uri, field("suites").unwrap_or_default()))?;
    // The field may contain the key itself, in several lines; apt's own keys are then used.
    let signed_by = field("signed-by").filter(|path| path.starts_with('/') && !path.contains('\n'));
    Some(Mirror {
        uri: uri.into(),
        signed_by: signed_by.map(str::to_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Option<(String, Option<String>)> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sources.list.d")).unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        mirror_in(folder.path()).map(|mirror| (mirror.uri, mirror.signed_by))
    }

    #[test]
    fn sources_in_paragraphs() {
        let text = "# comment\nTypes: deb\n# another\nURIs: http://m.example/debian-security\n\
                    Suites: trixie-security\nComponents: main\n\n\
                    Types: deb deb-src\nURIs: http://m.example/debian\nSuites: trixie trixie-updates\n\
                    Components: main contrib\nSigned-By: /usr/share/keyrings/k.gpg\n";
        let key = Some("/usr/share/keyrings/k.gpg".to_string());
        assert_eq!(
            found(&[("sources.list.d/debian.sources", text)]),
            Some(("http://m.example/debian".into(), key))
        );
        let disabled = text.replace("Types: deb deb-src", "Enabled: no\nTypes: deb");
        assert_eq!(found(&[("sources.list.d/debian.sources", &disabled)]), None);
    }

    #[test]
    fn sources_in_lines() {
        let text = "# deb http://no.example/debian sid main\n\
                    deb-src http://m.example/debian trixie main\n\
                    deb http://m.example/other trixie main\n\
                    deb [arch=amd64 signed-by=/k.gpg] https://m.example/debian/ trixie contrib main\n";
        assert_eq!(
            found(&[("sources.list", text)]),
            Some(("https://m.example/debian/".into(), Some("/k.gpg".into())))
        );
        assert_eq!(
            found(&[(
                "sources.list.d/a.list",
                "deb http://m.example/debian sid main"
            )]),
            Some(("http://m.example/debian".into(), None))
        );
    }

    #[test]
    fn machines_without_debian_have_no_mirror() {
        assert_eq!(found(&[]), None);
        let other = "deb http://m.example/ubuntu noble main";
        assert_eq!(found(&[("sources.list", other)]), None);
        assert_eq!(
            found(&[("sources.list.d/x.list.off", "deb http://m/debian sid main")]),
            None
        );
    }

    #[test]
    fn dated_snapshots_are_mirrors_too() {
        let uri = "http://s.example/archive/debian/20260101T000000Z";
        let line = format!("deb {uri} trixie main");
        assert_eq!(found(&[("sources.list", &line)]), Some((uri.into(), None)));
    }
}
