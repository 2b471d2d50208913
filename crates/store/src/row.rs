//! Reading typed values out of rows.

use std::str::FromStr;

use base::{Error, Money, Rate, Timestamp};
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::Outcome;

/// A text column that is parsed: an id, an enum.
pub(crate) fn parsed<T>(row: &AnyRow, column: &str) -> Outcome<T>
where
    T: FromStr<Err = Error>,
{
    let text: String = row.try_get(column)?;
    text.parse().map_err(|e: Error| Error::internal(e).context(format!("column {column}")).into())
}

/// Like [`parsed`], where the column may be empty.
pub(crate) fn parsed_opt<T>(row: &AnyRow, column: &str) -> Outcome<Option<T>>
where
    T: FromStr<Err = Error>,
{
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| text.parse().map_err(|e: Error| Error::internal(e).context(format!("column {column}")).into()))
        .transpose()
}

/// A text column that holds JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &AnyRow, column: &str) -> Outcome<T> {
    let text: String = row.try_get(column)?;
    serde_json::from_str(&text).map_err(|e| Error::internal(e).context(format!("column {column}")).into())
}

/// Like [`json`], where the column may be empty.
pub(crate) fn json_opt<T: DeserializeOwned>(row: &AnyRow, column: &str) -> Outcome<Option<T>> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| {
        serde_json::from_str(&text).map_err(|e| Error::internal(e).context(format!("column {column}")).into())
    })
    .transpose()
}

/// A value as JSON text.
pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Outcome<String> {
    serde_json::to_string(value).map_err(|e| Error::internal(e).into())
}

/// An instant.
pub(crate) fn time(row: &AnyRow, column: &str) -> Outcome<Timestamp> {
    Ok(Timestamp::from_micros(row.try_get(column)?))
}

/// An instant that may be missing.
pub(crate) fn time_opt(row: &AnyRow, column: &str) -> Outcome<Option<Timestamp>> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(Timestamp::from_micros))
}

/// An amount of money.
pub(crate) fn money(row: &AnyRow, column: &str) -> Outcome<Money> {
    Ok(Money::from_micros(row.try_get(column)?))
}

/// A rate.
pub(crate) fn rate(row: &AnyRow, column: &str) -> Outcome<Rate> {
    Ok(Rate::from_micros_per_hour(row.try_get(column)?))
}
