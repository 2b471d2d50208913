//! Aligned tables.

use super::{Paint, Style, clean};

/// One field of a table.
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A field in a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: clean(&text.into()), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::Plain)
    }
}

/// Rows under headings. A heading that begins with `>` aligns its column right.
pub struct Table {
    headings: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table; without headings it is a list of names and values.
    pub fn new(headings: &[&str]) -> Self {
        Self {
            headings: headings.iter().map(|h| h.trim_start_matches('>').to_owned()).collect(),
            right: headings.iter().map(|h| h.starts_with('>')).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) -> &mut Self {
        self.rows.push(cells);
        self
    }

    /// Adds a name and its value, for tables without headings.
    pub fn fact(&mut self, name: &str, value: impl Into<Cell>) -> &mut Self {
        self.row(vec![Cell::styled(name, Style::Dim), value.into()])
    }

    /// The table as lines, each with a line end.
    pub fn render(&self, paint: Paint) -> String {
        let columns = self.rows.iter().map(Vec::len).chain([self.headings.len()]).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for (i, heading) in self.headings.iter().enumerate() {
            widths[i] = width(heading);
        }
        for row in &self.rows {
            // The last field of a short row has the rest of the line to itself.
            let own = if row.len() < columns { row.len().saturating_sub(1) } else { row.len() };
            for (i, cell) in row[..own].iter().enumerate() {
                widths[i] = widths[i].max(width(&cell.text));
            }
        }
        let heads: Vec<Cell> = self.headings.iter().map(|h| Cell::styled(h.as_str(), Style::Bold)).collect();
        let head_row = (!heads.is_empty()).then_some(&heads);
        let mut text = String::new();
        for row in head_row.into_iter().chain(&self.rows) {
            let mut line = String::new();
            for (i, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[i].saturating_sub(width(&cell.text)));
                let painted = paint.text(cell.style, &cell.text);
                let last = i + 1 == row.len();
                if self.right.get(i).copied().unwrap_or(false) {
                    line.push_str(&pad);
                    line.push_str(&painted);
                } else {
                    line.push_str(&painted);
                    if !last {
                        line.push_str(&pad);
                    }
                }
                if !last {
                    line.push_str("  ");
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Columns that `text` takes on a terminal.
fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// East Asian wide characters take two columns, combining marks none.
fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0x33ff
        | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xa000..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_with_wide_characters_and_colours() {
        let mut table = Table::new(&["NAME", ">FREE"]);
        table.row(vec!["训练".into(), "3".into()]);
        table.row(vec![Cell::styled("a", Style::Red), "12".into()]);
        assert_eq!(table.render(Paint::fixed(false)), "NAME  FREE\n训练     3\na       12\n");
        assert!(table.render(Paint::fixed(true)).contains("\x1b[31ma\x1b[0m       12"));
    }

    #[test]
    fn the_end_of_a_short_row_widens_no_column() {
        let mut table = Table::new(&["A", "B", "C"]);
        table.row(vec!["1".into(), "2".into(), "3".into()]).row(vec!["1".into(), "a long remark".into()]);
        assert_eq!(table.render(Paint::fixed(false)), "A  B  C\n1  2  3\n1  a long remark\n");
    }

    #[test]
    fn nothing_hangs_over_at_the_end_of_a_line() {
        let mut table = Table::new(&[]);
        table.fact("longer name", "x").fact("n", "");
        assert_eq!(table.render(Paint::fixed(false)), "longer name  x\nn\n");
    }
}
