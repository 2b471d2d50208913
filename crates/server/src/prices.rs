//! The price book in force: read from the store at start, replaced by the operator.

use std::time::Duration;

use api::operator::Finding;
use base::{Error, Result, Timestamp};
use billing::PriceBook;
use domain::catalogue::Catalogue;
use futures_util::FutureExt;
use store::{Store, prices};

use crate::state::App;
use crate::trail::Note;

/// The book in force; a new site begins with the demonstration book.
///
/// # Errors
/// The stored book is not understood any more, or the database's.
pub async fn current(store: &Store, now: Timestamp) -> Result<PriceBook> {
    let stored = {
        let mut db = store.read().await?;
        prices::current(&mut db).await?
    };
    if let Some(stored) = stored {
        return PriceBook::parse(&stored.text, Catalogue::builtin()).map(|(book, _)| book);
    }
    let book = PriceBook::demonstration()?;
    load(store, &book.version, billing::book::DEMO, None, now).await?;
    Ok(book)
}

/// Stores a book as the one in force, by somebody or by the site itself.
///
/// # Errors
/// The database's.
pub async fn load(store: &Store, version: &str, text: &str, note: Option<Note>, now: Timestamp) -> Result<()> {
    let (version, text) = (version.to_owned(), text.to_owned());
    store
        .write(move |tx| {
            let (version, text, note) = (version.clone(), text.clone(), note.clone());
            async move {
                prices::load(tx, &version, &text, now).await?;
                match note {
                    Some(note) => note.write(tx, now).await,
                    None => Ok(()),
                }
            }
            .boxed()
        })
        .await
}

/// How long a book that another server has loaded may go unnoticed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Puts a book in force that another server on the same database has loaded.
/// Runs until the future is dropped.
pub async fn follow(app: App) {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        let found = async {
            let mut db = app.store.read().await?;
            Ok::<_, Error>(prices::current(&mut db).await?)
        };
        match found.await {
            Ok(Some(stored)) if stored.version != app.book().version => {
                match PriceBook::parse(&stored.text, Catalogue::builtin()) {
                    Ok((book, _)) => app.set_book(book),
                    Err(error) => {
                        tracing::error!(%error, "another server has loaded a price book that this one cannot read")
                    }
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "the price book is looked for again"),
        }
    }
}

/// What the linter found, on the wire.
pub fn findings(found: &[billing::book::Finding]) -> Vec<Finding> {
    let wire = |f: &billing::book::Finding| Finding {
        path: f.line.map_or_else(|| f.path.clone(), |line| format!("line {line}: {}", f.path)),
        message: f.message.clone(),
        hint: (!f.hint.is_empty()).then(|| f.hint.clone()),
    };
    found.iter().map(wire).collect()
}
