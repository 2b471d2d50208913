//! One history from its beginning to its end.

use base::Span;
use sha2::{Digest, Sha256};

use crate::action::Action;
use crate::laws::Broken;
use crate::world::World;

/// What came of a history.
#[derive(Clone, Debug)]
pub struct Told {
    /// The first law that was broken, and after which action.
    pub broken: Option<(usize, Broken)>,
    /// How much simulated time passed.
    pub passed: Span,
    /// SHA-256 of everything that was done and answered, hex.
    pub history: String,
    /// SHA-256 of all tables at the end, hex.
    pub tables: String,
    /// What was done and answered, a line each.
    pub lines: Vec<String>,
}

/// Lives through `actions` in a fresh world whose ids come from `seed`.
///
/// # Errors
/// A world could not be made; a broken law is a result, not an error.
pub fn tell(seed: u64, actions: &[Action]) -> Result<Told, Broken> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Broken::world)?;
    runtime.block_on(async {
        let mut world = World::new(seed).await?;
        let mut broken = None;
        for (n, action) in actions.iter().enumerate() {
            world.note(format!("{} {action:?}", world.passed()));
            let done = match world.act(*action).await {
                Ok(()) => world.check(n % 8 == 7).await,
                Err(error) => Err(error),
            };
            if let Err(law) = done {
                world.note(format!("broken: {law}"));
                broken = Some((n, law));
                break;
            }
        }
        world.stand_still().await;
        let tables = world.tables().await?;
        let mut all = Sha256::new();
        for line in world.lines() {
            all.update(line.as_bytes());
            all.update(b"\n");
        }
        Ok(Told {
            broken,
            passed: world.passed(),
            history: hex::encode(all.finalize()),
            tables,
            lines: world.lines().to_vec(),
        })
    })
}
