//! `schedlab open`: the site on the loopback address.
//!
//! Files for GET, one answer a connection. `tiny_http`, tried first, left connections of a browser unanswered when many came at once;
//! servers that do not are built on a run time for asynchronous programs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, thread};

use schedlab_input::Diagnostic;

use super::print;
use crate::arguments::OpenArguments;
use crate::failure::Failure;

/// How long a browser may take to ask or to read.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest head of a request that is read.
const MOST_HEAD: u64 = 64 * 1024;

/// Types of the site's files by extension.
const TYPES: [(&str, &str); 8] = [
    ("css", "text/css; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("wasm", "application/wasm"),
];

/// Serves the site until a signal ends the program.
pub fn open(arguments: &OpenArguments) -> Result<(), Failure> {
    let site = Arc::new(site(arguments.folder.as_deref())?);
    let failed = |e| {
        let port = arguments.port;
        Failure::Other(format!("port {port} of the loopback address: {e}"))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).map_err(failed)?;
    let address = format!("http://{}/", listener.local_addr().map_err(failed)?);
    print(&format!("{address}  (Ctrl-C ends it)\n"))?;
    if !arguments.no_browser {
        show(&address);
    }
    // A browser that goes away is no error, and neither is one that never asks.
    for connection in listener.incoming().flatten() {
        let site = Arc::clone(&site);
        thread::spawn(move || answer(&site, connection));
    }
    Ok(())
}

/// The folder of the site: the user's, or the first that exists of the places where it is usually.
fn site(folder: Option<&Path>) -> Result<PathBuf, Failure> {
    let places = match folder {
        Some(folder) => vec![folder.to_path_buf()],
        None => usual_places(),
    };
    let found = places
        .iter()
        .find(|place| place.join("index.html").is_file());
    found.cloned().ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        Diagnostic::new("there is no site")
            .at("open", 0)
            .key(places.join(", "))
            .expected("a folder that \"make site\" wrote")
            .into()
    })
}

fn usual_places() -> Vec<PathBuf> {
    let program = env::current_exe().ok();
    let installed = program.and_then(|program| {
        let folder = program.parent()?.parent()?;
        Some(folder.join("share/schedlab/site"))
    });
    let built = PathBuf::from("out/site");
    [built].into_iter().chain(installed).collect()
}

/// Opens a browser if the desktop knows one; the address is printed in any case.
fn show(address: &str) {
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let mut command = Command::new(opener);
    let quiet = command
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let _ = quiet.stderr(Stdio::null()).spawn();
}

/// Reads a request and writes the answer.
fn answer(site: &Path, mut connection: TcpStream) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut head = BufReader::new((&connection).take(MOST_HEAD)).lines();
    let request = head.next().transpose()?.unwrap_or_default();
    // The rest of the head; a socket closed with unread bytes would lose the answer.
    for line in head {
        if line?.is_empty() {
            break;
        }
    }
    let mut words = request.split(' ');
    let (method, url) = (words.next(), words.next().unwrap_or_default());
    if !matches!(method, Some("GET" | "HEAD")) {
        return connection.write_all(refusal("405 Method Not Allowed").as_bytes());
    }
    let opened = file_of(site, url).and_then(|path| Some((File::open(&path).ok()?, path)));
    let Some((mut file, path)) = opened else {
        return connection.write_all(refusal("404 Not Found").as_bytes());
    };
    let head = head_of("200 OK", content_type(&path), file.metadata()?.len());
    connection.write_all(head.as_bytes())?;
    if method == Some("GET") {
        io::copy(&mut file, &mut connection)?;
    }
    Ok(())
}

/// An answer without a file.
fn refusal(status: &str) -> String {
    let text = format!("{status}\n");
    head_of(status, "text/plain", text.len() as u64) + &text
}

fn head_of(status: &str, kind: &str, length: u64) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n")
}

/// The file of an address; none outside the site, or without a plain name.
fn file_of(site: &Path, url: &str) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?.strip_prefix('/')?;
    let plain = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !plain || path.contains(['%', '\\']) {
        return None;
    }
    let path = site.join(path);
    let path = match path.is_dir() {
        true => path.join("index.html"),
        false => path,
    };
    path.is_file().then_some(path)
}

fn content_type(path: &Path) -> &'static str {
    let extension = path.extension().unwrap_or_default();
    let known = TYPES.iter().find(|(name, _)| extension == *name);
    known.map_or("application/octet-stream", |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_site_have_addresses() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site");
        std::fs::create_dir_all(site.join("docs")).unwrap();
        for file in ["site/index.html", "site/docs/index.html", "secret"] {
            std::fs::write(folder.path().join(file), file).unwrap();
        }
        let found = |url: &str| file_of(&site, url);
        assert_eq!(found("/"), Some(site.join("index.html")));
        assert_eq!(found("/index.html?x#y"), Some(site.join("index.html")));
        assert_eq!(found("/docs/"), Some(site.join("docs/index.html")));
        for outside in [
            "/../secret",
            "/docs/../../secret",
            "//secret",
            "/%2e%2e/secret",
            "secret",
            "/no",
        ] {
            assert_eq!(found(outside), None, "{outside}");
        }
    }

    /// As a browser asks: many connections at once, of which some never say anything.
    #[test]
    fn many_connections_are_answered_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let text = "x".repeat(300_000);
        std::fs::write(folder.path().join("index.html"), &text).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let silent: Vec<TcpStream> = (0..8)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let site = folder.path().to_path_buf();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let site = site.clone();
                thread::spawn(move || answer(&site, connection));
            }
        });
        let ask = |request: &'static str| {
            thread::spawn(move || {
                let mut connection = TcpStream::connect(address).unwrap();
                connection.write_all(request.as_bytes()).unwrap();
                let mut said = String::new();
                connection.read_to_string(&mut said).unwrap();
                said
            })
        };
        let pages: Vec<_> = (0..20)
            .map(|_| ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
            .collect();
        for page in pages {
            let said = page.join().unwrap();
            assert!(said.starts_with("HTTP/1.1 200 OK\r\n") && said.ends_with(&text));
        }
        let others = [
            ("POST / HTTP/1.1\r\n\r\n", "405"),
            ("GET /no HTTP/1.1\r\n\r\n", "404"),
            ("\r\n\r\n", "405"),
        ];
        for (request, status) in others {
            let said = ask(request).join().unwrap();
            assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{said}");
        }
        drop(silent);
    }
}
