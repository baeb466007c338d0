//! Writes the site's pages of text: the documentation, the READMEs of policies and of experiments.
//!
//! `cargo run --package schedlab-playground --example pages -- FOLDER`, at the root of the source. Links between the
//! source's files become links between pages; a link to a file without a page becomes its text.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::{env, fs, io};

use pulldown_cmark::{html, CowStr, Event, Options, Parser, Tag, TagEnd};

/// A page: its file in the source, its file in the site, its title and its kind.
struct Page {
    source: PathBuf,
    target: PathBuf,
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Docs,
    Policy,
    Experiment,
}

/// Pages at the root of the source, and their names in the site.
const ROOT: [(&str, &str); 5] = [
    ("README.md", "index"),
    ("ARCHITECTURE.md", "architecture"),
    ("CONTRIBUTING.md", "contributing"),
    ("CHANGELOG.md", "changelog"),
    ("SECURITY.md", "security-policy"),
];

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::args_os().nth(1).expect("usage: pages FOLDER"));
    let template = fs::read_to_string("site/page.template")?;
    let mut pages = pages()?;
    let list = policies(&pages);
    let first = pages.iter().position(|page| page.kind == Kind::Policy);
    pages.insert(first.unwrap_or(0), list);
    let targets: BTreeMap<PathBuf, PathBuf> = pages
        .iter()
        .map(|page| (page.source.clone(), page.target.clone()))
        .collect();
    for page in &pages {
        let (text, images) = html_of(page, &targets);
        let target = out.join(&page.target);
        fs::create_dir_all(target.parent().expect("pages are in folders"))?;
        fs::write(&target, filled(&template, page, &pages, &text))?;
        for image in images {
            let copy = target.with_file_name(image.file_name().expect("an image is a file"));
            fs::copy(image, copy)?;
        }
    }
    println!("{} pages of text", pages.len());
    Ok(())
}

/// All pages, those of each kind in the order of their files.
fn pages() -> io::Result<Vec<Page>> {
    let mut pages = Vec::new();
    let mut add = |source: PathBuf, target: PathBuf, kind| {
        pages.push(Page {
            text: fs::read_to_string(&source)?,
            source,
            target,
            kind,
        });
        io::Result::Ok(())
    };
    for (source, name) in ROOT {
        add(
            source.into(),
            format!("docs/{name}.html").into(),
            Kind::Docs,
        )?;
    }
    for source in sorted("docs")? {
        if source.extension().is_some_and(|e| e == "md") {
            let target = source.with_extension("html");
            add(source, target, Kind::Docs)?;
        }
    }
    for (folder, kind) in [
        ("policies", Kind::Policy),
        ("experiments", Kind::Experiment),
    ] {
        for folder in sorted(folder)? {
            let source = folder.join("README.md");
            if source.is_file() {
                add(source, folder.with_extension("html"), kind)?;
            }
        }
    }
    Ok(pages)
}

fn sorted(folder: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// The list of policies, each with its title.
fn policies(pages: &[Page]) -> Page {
    let mut text = String::from("# Schedulers\n\nEach is one C file, and its page teaches it: the idea, the source, what is omitted, known pathologies.\n\n");
    for page in pages.iter().filter(|page| page.kind == Kind::Policy) {
        let folder = page.target.file_stem().unwrap_or_default();
        let folder = folder.to_string_lossy();
        text += &format!("- [{}]({folder}/README.md)\n", title(&page.text));
    }
    Page {
        source: "policies/README.md".into(),
        target: "policies/index.html".into(),
        text,
        kind: Kind::Policy,
    }
}

/// The first heading.
fn title(markdown: &str) -> String {
    let heading = markdown.lines().find_map(|line| line.strip_prefix("# "));
    heading.unwrap_or("schedlab").replace('`', "")
}

/// The page's text as HTML, and the images it shows.
fn html_of(page: &Page, targets: &BTreeMap<PathBuf, PathBuf>) -> (String, Vec<PathBuf>) {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    let events: Vec<Event> = Parser::new_ext(&page.text, options).collect();
    let mut images = Vec::new();
    let mut dropped = Vec::new();
    let mut written = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let event = match event.clone() {
            Event::Start(Tag::Heading {
                level,
                classes,
                attrs,
                ..
            }) => Event::Start(Tag::Heading {
                level,
                id: Some(slug(&events[index + 1..]).into()),
                classes,
                attrs,
            }),
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }) => {
                let to = link(page, &dest_url, targets);
                dropped.push(to.is_none());
                let Some(to) = to else { continue };
                Event::Start(Tag::Link {
                    link_type,
                    dest_url: to,
                    title,
                    id,
                })
            }
            Event::End(TagEnd::Link) if dropped.pop() == Some(true) => continue,
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                title,
                id,
            }) => {
                let file = beside(&page.source, &dest_url);
                let name = file.file_name().unwrap_or_default();
                let dest_url = CowStr::from(name.to_string_lossy().into_owned());
                images.push(file);
                Event::Start(Tag::Image {
                    link_type,
                    dest_url,
                    title,
                    id,
                })
            }
            event => event,
        };
        written.push(event);
    }
    let mut text = String::new();
    html::push_html(&mut text, written.into_iter());
    // Wide tables and code scroll; the keyboard must reach them.
    let text = text.replace("<table>", "<table tabindex=\"0\">");
    let text = text.replace("<pre>", "<pre tabindex=\"0\">");
    (text.replace("<th></th>", "<td></td>"), images)
}

/// The anchor of a heading, as the usual hosts of source name it.
fn slug(events: &[Event]) -> String {
    let inside = events
        .iter()
        .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let text: String = inside
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.to_lowercase()),
            _ => None,
        })
        .collect();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Where a link leads in the site; none if there is no such page.
fn link<'a>(
    page: &Page,
    url: &CowStr<'a>,
    targets: &BTreeMap<PathBuf, PathBuf>,
) -> Option<CowStr<'a>> {
    if url.contains("://") || url.starts_with('#') || url.starts_with("mailto:") {
        return Some(url.clone());
    }
    let (path, anchor) = url.split_once('#').unwrap_or((url, ""));
    let file = beside(&page.source, path);
    let target = [file.clone(), file.join("README.md")]
        .into_iter()
        .find_map(|file| targets.get(&file))?;
    let anchor = match anchor {
        "" => String::new(),
        anchor => format!("#{anchor}"),
    };
    Some(format!("../{}{anchor}", target.display()).into())
}

/// A path written in a file, from the root of the source.
fn beside(file: &Path, path: &str) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut plain = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn filled(template: &str, page: &Page, pages: &[Page], text: &str) -> String {
    let same_kind = pages.iter().filter(|other| other.kind == page.kind);
    let contents: Vec<String> = same_kind.map(|other| entry(other, page)).collect();
    let current = |yes: bool| if yes { " aria-current=\"page\"" } else { "" };
    let results = page.target == Path::new("docs/results.html");
    let is_results = results || page.kind == Kind::Experiment;
    template
        .replace("{title}", &escaped(&title(&page.text)))
        .replace("{docs}", current(page.kind == Kind::Docs && !results))
        .replace("{policies}", current(page.kind == Kind::Policy))
        .replace("{results}", current(is_results))
        .replace("{contents}", &contents.join("\n"))
        .replace("{text}", text)
}

/// A line of the list of pages.
fn entry(other: &Page, page: &Page) -> String {
    let current = match other.target == page.target {
        true => " aria-current=\"page\"",
        false => "",
    };
    let name = other
        .target
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let name = match (&*name, other.kind) {
        ("index", Kind::Docs) => "overview",
        ("index", _) => "all schedulers",
        (name, _) => name,
    };
    format!(
        "<li><a href=\"../{}\"{current}>{}</a></li>",
        other.target.display(),
        escaped(name)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
