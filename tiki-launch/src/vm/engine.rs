//! Bulk copies that are under way.

use super::block::Team;
use super::exec::Result;
use super::launch::Env;

#[derive(Debug, Default)]
pub(super) struct Engine {}

impl Team {
    /// Completes the oldest piece of work that was put off; whether there was one.
    pub(super) fn complete_something(&mut self, _env: &Env<'_>) -> Result<bool> {
        Ok(false)
    }
}
