//! Making a history that breaks a law as short as it gets.

use std::time::{Duration, Instant};

use crate::action::Action;
use crate::laws::Broken;
use crate::story::tell;

/// Leaves out stretches, then single actions, for as long as the same law is broken
/// and at most `patience`. The law as the shortest history breaks it, and that history.
///
/// # Errors
/// A world could not be made.
pub fn shorten(
    seed: u64,
    actions: &[Action],
    law: &Broken,
    patience: Duration,
) -> Result<(Vec<Action>, Broken), Broken> {
    let began = Instant::now();
    let (mut best, mut last) = (actions.to_vec(), law.clone());
    let mut piece = best.len().div_ceil(2);
    while piece > 0 {
        let mut from = 0;
        let mut any = false;
        while from < best.len() && began.elapsed() < patience {
            let to = (from + piece).min(best.len());
            let mut fewer = best.clone();
            fewer.drain(from..to);
            match tell(seed, &fewer)?.broken {
                Some((at, found)) if found.law == law.law => {
                    fewer.truncate(at + 1);
                    (best, last, any) = (fewer, found, true);
                }
                _ => from = to,
            }
        }
        if began.elapsed() >= patience {
            break;
        }
        // Once more with single actions after something could be left out.
        piece = if piece == 1 && any { 1 } else { piece / 2 };
    }
    Ok((best, last))
}
