//! HTML pages in one file, without network and scripts: frame, style, and tables.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::svg::escaped;
use super::text::{Align, Table};
use crate::clock::now;
use crate::error::{Error, Result};

/// Start of every page.
const BEGIN: &str = "<!doctype html>";

/// Style of all pages: light or dark by the reader's preference, wide tables scroll separately. Eight colours
/// for the colour-blind (Okabe and Ito, 2008), paler in dark mode.
const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2128; --paper: #ffffff; --faint: #d0d7de;
  --c0: #0072b2; --c1: #c65102; --c2: #00805c; --c3: #a8397f; --c4: #5b6400; --c5: #7a4fc0; --c6: #9c2222; --c7: #4d5966; }
@media (prefers-color-scheme: dark) { :root { --ink: #d7dde4; --paper: #12161b; --faint: #3a434d;
  --c0: #56b4e9; --c1: #f0a04b; --c2: #2fc79a; --c3: #e08fc0; --c4: #cfd24a; --c5: #b79bf0; --c6: #ff8a80; --c7: #aab6c2; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 1140px; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { font-size: 1rem; margin: 1.5rem 0 .3rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1rem 1.5rem; }
figure { margin: 0; } svg { display: block; width: 100%; max-width: 640px; height: auto; } figcaption, caption, .made { text-align: left; opacity: .8; font-size: 14px; }
svg text { font-size: 13px; fill: var(--ink); stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }
.axis { stroke: var(--ink); } .grid { stroke: var(--faint); } .ideal { stroke: var(--ink); stroke-dasharray: 6 4; } .point { fill: var(--c0); opacity: .6; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; } .curve:hover { stroke-width: 5; opacity: 1; } .train { stroke-dasharray: 7 4; } .test { stroke-dasharray: 2 3; }
.other { stroke-width: 1.2; opacity: .4; } .dot { fill: var(--paper); stroke-width: 2; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); } .c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); } .c6 { stroke: var(--c6); } .c7 { stroke: var(--c7); } .ink { stroke: var(--ink); }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; } .legend svg { display: inline-block; width: 34px; height: 10px; }
.wide { overflow-x: auto; margin: .8rem 0; } table { border-collapse: collapse; white-space: nowrap; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--faint); text-align: right; } th[scope=row], td.text, th.text { text-align: left; }
.images { list-style: none; padding: 0; display: grid; gap: .8rem; font-size: 13px; grid-template-columns: repeat(auto-fill, minmax(165px, 1fr)); }
.images li { display: flex; gap: .6rem; } .images img { width: 64px; height: auto; flex: none; align-self: start; image-rendering: pixelated; border: 1px solid var(--faint); }
code { font-size: 13px; user-select: all; } summary { cursor: pointer; } @media print { .wide { overflow: visible; } }
";

/// Returns a page with this title, as text, and this body, as HTML, followed by version, date and command.
pub fn page(title: &str, body: &str, command: &str) -> String {
    let title = escaped(title);
    let date = now().strftime("%Y-%m-%d");
    let made = format!(
        "<p class=\"made\">tinytrain {}, {date}: <code>{}</code></p>\n",
        env!("CARGO_PKG_VERSION"),
        escaped(command)
    );
    format!(
        "{BEGIN}\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}{made}</main>\n</body>\n</html>\n",
    )
}

/// Refuses to overwrite files other than pages, such as data or files of a run or a sweep.
///
/// # Errors
/// [`Error::Config`] with the file's name; [`Error::Read`].
pub fn spare_other_files(out: &Path) -> Result<()> {
    if !out.is_file() {
        return Ok(());
    }
    let mut start = Vec::new();
    File::open(out)
        .and_then(|file| file.take(BEGIN.len() as u64).read_to_end(&mut start))
        .map_err(|source| Error::Read { path: out.to_owned(), source })?;
    if start.is_empty() || start.eq_ignore_ascii_case(BEGIN.as_bytes()) {
        return Ok(());
    }
    let expected = "is there and is not a page; choose another name";
    Err(Error::Config(format!("--out: cannot write to {}, which {expected}", out.display())))
}

/// Returns a table under a caption; the first cell of each row is its header. A table wider than the page
/// scrolls separately, also by keyboard.
pub fn table(caption: &str, table: &Table) -> String {
    let caption = escaped(caption);
    let mut html = format!(
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\"><table>\n<caption>{caption}</caption>\n"
    );
    for (number, row) in [&table.names].into_iter().chain(&table.rows).enumerate() {
        html += "<tr>";
        for (place, (cell, align)) in row.iter().zip(&table.align).enumerate() {
            let class = if *align == Align::Left { " class=\"text\"" } else { "" };
            let (open, close) = match (number, place) {
                (0, _) => ("th scope=\"col\"", "th"),
                (_, 0) => ("th scope=\"row\"", "th"),
                _ => ("td", "td"),
            };
            html += &format!("<{open}{class}>{}</{close}>", escaped(cell));
        }
        html += "</tr>\n";
    }
    html + "</table></div>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("a<b> & \"c\"\u{202e}\n"), "a&lt;b&gt; &amp; &quot;c&quot;\\u{202e}\\n");
        let html = table("x & y", &Table::new(&["", "><n>"], [vec!["a".into(), "1".into()]]));
        let expected = "<tr><th scope=\"col\" class=\"text\"></th><th scope=\"col\">&lt;n&gt;</th></tr>\n\
                        <tr><th scope=\"row\" class=\"text\">a</th><td>1</td></tr>\n";
        assert!(html.contains("<caption>x &amp; y</caption>") && html.contains(expected), "{html}");
    }
}
