//! The book of results: one HTML file with every figure beside the paper's numbers.

use askama::Template;
use pulldown_cmark::{html, Event as MarkdownEvent, Options, Parser, Tag};
use schedlab_report::svg::STYLE;
use schedlab_report::table::HtmlTable;
use schedlab_report::PAGE_STYLE;
use schedlab_trace::TraceHash;

use crate::{Claim, Exhibit, Findings, Report, Verdicts};

/// The origin of the book.
#[derive(Clone, Debug)]
pub struct BookInfo {
    /// The command that made it.
    pub command: String,
    /// The program and its version.
    pub version: String,
}

/// The book's page.
#[derive(Template)]
#[template(path = "book.html")]
struct Book<'a> {
    chapters: Vec<Chapter<'a>>,
    verdicts: Verdicts,
    command: &'a str,
    version: &'a str,
    figure_style: &'static str,
    page_style: &'static str,
    book_style: &'static str,
}

struct Chapter<'a> {
    id: &'a str,
    title: &'a str,
    paper: &'a str,
    testbed: &'a str,
    /// The README without its heading, as HTML.
    text: String,
    claims: &'a [Claim],
    exhibits: Vec<Shown<'a>>,
    tables: Vec<HtmlTable>,
    runs: Vec<(&'a String, &'a Vec<String>)>,
}

/// A figure with the runs it shows.
struct Shown<'a> {
    svg: String,
    title: &'a str,
    caption: &'a str,
    claims: &'a [String],
    runs: Vec<(&'a String, &'a Vec<String>)>,
    nr_runs: usize,
    /// One name for all traces it shows.
    digest: String,
}

/// The book.
pub fn render_book(reports: &[Report], info: &BookInfo) -> String {
    let claims = reports.iter().flat_map(|r| &r.findings.claims);
    let book = Book {
        chapters: reports.iter().map(chapter).collect(),
        verdicts: claims.collect(),
        command: &info.command,
        version: &info.version,
        figure_style: STYLE,
        page_style: PAGE_STYLE,
        book_style: include_str!("../templates/book.css"),
    };
    book.render().expect("a template writes into memory")
}

fn chapter(report: &Report) -> Chapter<'_> {
    let exhibits = report.findings.exhibits.iter();
    Chapter {
        id: report.experiment.id,
        title: &report.paper.title,
        paper: &report.paper.paper,
        testbed: &report.paper.testbed,
        text: markdown_to_html(report.experiment.readme),
        claims: &report.findings.claims,
        exhibits: exhibits.map(|e| shown(e, &report.findings)).collect(),
        tables: report.findings.tables.iter().map(|t| t.html()).collect(),
        runs: report.findings.runs.iter().collect(),
    }
}

fn shown<'a>(exhibit: &'a Exhibit, findings: &'a Findings) -> Shown<'a> {
    let commands = exhibit.commands.iter();
    let runs: Vec<_> = commands
        .filter_map(|c| findings.runs.get_key_value(c))
        .collect();
    let hashes = || runs.iter().flat_map(|(_, hashes)| hashes.iter());
    Shown {
        svg: exhibit.figure.inline(),
        title: &exhibit.figure.title,
        caption: &exhibit.caption,
        claims: &exhibit.claims,
        nr_runs: hashes().count(),
        digest: TraceHash::of_all(hashes().map(String::as_str)).to_string(),
        runs,
    }
}

/// Markdown of our own as HTML, without its first heading: the chapter has one.
fn markdown_to_html(text: &str) -> String {
    let body = match text.strip_prefix("# ") {
        Some(rest) => rest.split_once('\n').map_or("", |(_, body)| body),
        None => text,
    };
    let mut out = String::new();
    let parser = Parser::new_ext(body, Options::ENABLE_TABLES);
    html::push_html(&mut out, parser.map(to_chapter));
    out
}

/// A link to another experiment's README leads to its chapter.
fn to_chapter(event: MarkdownEvent<'_>) -> MarkdownEvent<'_> {
    let MarkdownEvent::Start(Tag::Link {
        link_type,
        dest_url,
        title,
        id,
    }) = event
    else {
        return event;
    };
    let other = dest_url.strip_prefix("../");
    let other = other.and_then(|rest| rest.strip_suffix("/README.md"));
    let dest_url = match other {
        Some(experiment) => format!("#{experiment}").into(),
        None => dest_url,
    };
    MarkdownEvent::Start(Tag::Link {
        link_type,
        dest_url,
        title,
        id,
    })
}
