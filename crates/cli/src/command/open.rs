//! `schedlab open`: the site on the loopback address.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

use schedlab_input::Diagnostic;
use tiny_http::{Header, Method, Request, Response, Server};

use super::print;
use crate::arguments::OpenArguments;
use crate::failure::Failure;

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
    let site = site(arguments.folder.as_deref())?;
    let server = Server::http((Ipv4Addr::LOCALHOST, arguments.port)).map_err(|e| {
        Failure::Other(format!(
            "port {} of the loopback address: {e}",
            arguments.port
        ))
    })?;
    let address = format!("http://{}/", server.server_addr());
    print(&format!("{address}  (Ctrl-C ends it)\n"))?;
    if !arguments.no_browser {
        show(&address);
    }
    for request in server.incoming_requests() {
        // A browser that went away is no error.
        let _ = answer(&site, request);
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

fn answer(site: &Path, request: Request) -> io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(Response::empty(405));
    }
    let opened =
        file_of(site, request.url()).and_then(|path| Some((File::open(&path).ok()?, path)));
    match opened {
        Some((file, path)) => {
            let response = Response::from_file(file).with_header(content_type(&path));
            request.respond(response)
        }
        None => {
            let text = Response::from_string("There is no such page.\n");
            request.respond(text.with_status_code(404))
        }
    }
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

fn content_type(path: &Path) -> Header {
    let extension = path.extension().unwrap_or_default();
    let known = TYPES.iter().find(|(name, _)| extension == *name);
    let known = known.map_or("application/octet-stream", |(_, kind)| kind);
    Header::from_bytes("Content-Type", known).expect("a type is plain text")
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
}
