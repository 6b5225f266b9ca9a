//! Pages of one file, without network and scripts: their frame, their style, escaped text and tables.

use super::output::printable;
use super::text::{Align, Table};

/// What all pages look like: light or dark as the reader wants it, wide tables scroll by themselves.
const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2128; --paper: #ffffff; --faint: #d0d7de; --mark: #0b63c4; }
@media (prefers-color-scheme: dark) { :root { --ink: #d7dde4; --paper: #12161b; --faint: #3a434d; --mark: #6db3ff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 1140px; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
svg { width: 100%; height: auto; } svg text { font-size: 13px; fill: var(--ink); stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }
.axis { stroke: var(--ink); stroke-width: 1; } .grid { stroke: var(--faint); stroke-width: 1; }
.wide { overflow-x: auto; } table { border-collapse: collapse; white-space: nowrap; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--faint); text-align: right; } th { border-bottom: 2px solid var(--ink); }
td.text, th.text { text-align: left; } code { font-size: 13px; user-select: all; }
";

/// A page with this title, which is text, a style of its own behind the common one, and a body of HTML.
pub fn page(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>{STYLE}{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(title)
    )
}

/// Text that HTML takes for nothing else; what is not printable stands as in all other output.
pub fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A table under a caption; the first cell of each row says what the others are of. It scrolls by itself where it is wider than the
/// page, by the keyboard too.
pub fn table(caption: &str, table: &Table) -> String {
    let mut html = format!("{}<table>\n<caption>{}</caption>\n", wide(caption), escaped(caption));
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

/// The beginning of what may be wider than the page: a `div` that scrolls, which is closed by its user.
pub fn wide(label: &str) -> String {
    format!("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">", escaped(label))
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
