//! The price book.

use std::path::{Path, PathBuf};

use api::operator::{Finding, LintView, PriceBookText};
use base::{Cause, Error, Result};
use clap::Subcommand;
use domain::catalogue::Catalogue;

use super::{Failure, Outcome};
use crate::login_file;
use crate::output::{Output, Style, clean, error_object, json, note, print};

/// The price book: show, check, load
#[derive(Debug, Subcommand)]
pub enum Price {
    /// Show the price book in force
    Show,
    /// Check a price book without loading it; needs no server
    Lint {
        /// The TOML file
        file: PathBuf,
    },
    /// Put a price book into force (operator)
    Load {
        /// The TOML file
        file: PathBuf,
    },
}

impl Price {
    pub async fn run(self, out: &Output) -> Outcome {
        match self {
            Self::Show => {
                let prices = login_file::client()?.prices().await?;
                out.result(&prices, |_| prices.text.clone());
                if !out.json {
                    note(&format!("version {}, in force since {}", prices.version, out.zone.show(prices.loaded_at)));
                    tell(&[], &prices.warnings, out);
                }
                Ok(0)
            }
            Self::Lint { file } => lint(&file, out),
            Self::Load { file } => {
                let book = PriceBookText { text: read(&file)? };
                let prices = login_file::client()?.load_prices(&book).await?;
                out.result(&prices, |out| {
                    format!("version {} is in force since {}\n", prices.version, out.zone.show(prices.loaded_at))
                });
                if !out.json {
                    tell(&[], &prices.warnings, out);
                }
                Ok(0)
            }
        }
    }
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).map_err(|e| {
        let cause = if e.kind() == std::io::ErrorKind::NotFound { Cause::NotFound } else { Cause::InvalidRequest };
        Error::new(cause, format!("{} cannot be read: {e}", file.display())).hint("name a price book in TOML")
    })
}

fn lint(file: &Path, out: &Output) -> Outcome {
    let found = billing::book::lint(&read(file)?, Catalogue::builtin(), None);
    let list = |findings: Vec<billing::book::Finding>| findings.into_iter().map(finding).collect::<Vec<_>>();
    let view = LintView { errors: list(found.errors), warnings: list(found.warnings) };
    let error = (!view.errors.is_empty()).then(|| {
        Error::new(Cause::InvalidPriceBook, format!("{} has {} errors", file.display(), view.errors.len()))
            .hint("mend them, then check again; nothing was loaded")
    });
    if out.json {
        let mut value = serde_json::to_value(&view).map_err(Error::internal)?;
        if let Some(error) = &error {
            value["error"] = error_object(error);
        }
        json(&value);
    } else {
        tell(&view.errors, &view.warnings, out);
        if error.is_none() {
            print(&format!("{} can be loaded ({} warnings)\n", file.display(), view.warnings.len()));
        }
    }
    match error {
        None => Ok(0),
        Some(error) if out.json => Err(Failure::shown(error)),
        Some(error) => Err(Failure::refused(error)),
    }
}

fn finding(found: billing::book::Finding) -> Finding {
    let path = match found.line {
        Some(line) if found.path.is_empty() => format!("line {line}"),
        Some(line) => format!("line {line}: {}", found.path),
        None => found.path,
    };
    Finding { path, message: found.message, hint: Some(found.hint).filter(|hint| !hint.is_empty()) }
}

fn tell(errors: &[Finding], warnings: &[Finding], out: &Output) {
    for (kind, style, findings) in [("error", Style::Red, errors), ("warning", Style::Yellow, warnings)] {
        for finding in findings {
            let head = out.paint.text(style, kind);
            let path = if finding.path.is_empty() { String::new() } else { format!("{}: ", clean(&finding.path)) };
            note(&format!("{head}: {path}{}", clean(&finding.message)));
            if let Some(hint) = &finding.hint {
                note(&format!("    {}", clean(hint)));
            }
        }
    }
}
