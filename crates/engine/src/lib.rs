//! What runs instances: the life-cycle contract and the protocol that carries it
//! between the unprivileged server and the privileged agent.
//!
//! The agent's side of the contract is plain HTTP/2 over one connection, so a
//! connection that the *agent* dialled works exactly like a local Unix socket.

pub mod fault;
pub mod remote;
pub mod report;
pub mod spec;

use std::future::Future;

use base::{InstanceId, Result, Span};
pub use remote::AgentEngine;
pub use report::{Alive, CommandExit, Ended, NodeInfo, NodeReport, Proof};
pub use spec::{InstanceRef, InstanceSpec, Ready, Stats, Stopped};

/// The life cycle of instances in one zone. Every method is idempotent.
///
/// Errors keep one true cause: `disk-full`, `device-busy`, `host-incomplete`,
/// `stale-generation`, `not-ready-in-time`, `init-died`, `engine-failed`,
/// `not-found`, or `unavailable` when the engine cannot be reached (then nothing
/// is known about the outcome and the call is simply repeated).
pub trait Engine: Send + Sync + 'static {
    /// What the node is and has.
    fn info(&self) -> impl Future<Output = Result<NodeInfo>> + Send;

    /// Makes everything that `start` needs for this generation: disk space,
    /// cgroups, network, device access. Leaves nothing behind when it fails.
    /// Repeating it with the same generation changes nothing.
    fn create(&self, spec: &InstanceSpec) -> impl Future<Output = Result<()>> + Send;

    /// Starts the instance and returns once it is proven ready: the helper inside
    /// answers, sees exactly the device numbers of its cards, and a shell ran.
    fn start(&self, instance: &InstanceRef) -> impl Future<Output = Result<Ready>> + Send;

    /// Ends every process of the instance: first asks, after `grace` forces.
    /// Cards, network and cgroups are given back; the renter's data stays.
    fn stop(&self, instance: &InstanceRef, grace: Span) -> impl Future<Output = Result<Stopped>> + Send;

    /// Like `stop`, then removes the renter's data too.
    fn delete(&self, instance: &InstanceRef) -> impl Future<Output = Result<()>> + Send;

    /// Every instance that the engine has anything of, running or not.
    fn list(&self) -> impl Future<Output = Result<Vec<Alive>>> + Send;

    /// Current use of one instance.
    fn stats(&self, instance: &InstanceId) -> impl Future<Output = Result<Stats>> + Send;

    /// Everything proven after `after` (exclusive): waits up to `wait` for news.
    fn report(&self, after: base::Timestamp, wait: Span) -> impl Future<Output = Result<NodeReport>> + Send;
}
