//! The table of rights in `docs/rights.md` is the one that the program goes by.

#![allow(clippy::unwrap_used, reason = "tests may")]

use suanli_domain::rights::{OperatorRole, RIGHTS, Role};

fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<_> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

fn table() -> String {
    let roles = Role::ALL.iter().map(ToString::to_string);
    let operators = OperatorRole::ALL.iter().map(|role| format!("op. {role}"));
    let head: Vec<_> =
        ["action".to_owned()].into_iter().chain(roles).chain(operators).chain(["scope".into()]).collect();
    let mut text = row(head.clone()) + &row(head.iter().map(|_| "---".to_owned()));
    let mark = |yes: bool| if yes { "yes" } else { "–" }.to_owned();
    for right in RIGHTS {
        let cells = [format!("`{}`", right.action)].into_iter();
        let cells = cells.chain(Role::ALL.iter().map(|role| mark(right.allows(*role))));
        let cells = cells.chain(OperatorRole::ALL.iter().map(|role| mark(right.allows_operator(*role))));
        text += &row(cells.chain([format!("`{}`", right.scope)]));
    }
    text
}

#[test]
fn the_page_has_the_table() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rights.md")).unwrap();
    let table = table();
    assert!(page.contains(&table), "docs/rights.md has to have this table:\n{table}");
}
