//! Reaching into an instance: who carries the bytes, and what it uses now.

use std::sync::Arc;

use base::{InstanceId, NodeId, Result};
use control::Engines;
use domain::device::DeviceSample;
use engine::remote::AgentEngine;
use engine::{Engine, Stats};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// A pipe of stream frames.
pub trait Pipe: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Pipe for T {}

/// The way into instances.
pub trait Reach: Send + Sync + 'static {
    /// A new stream into an instance on a node.
    fn open<'a>(&'a self, node: &'a NodeId, instance: &'a InstanceId) -> BoxFuture<'a, Result<Box<dyn Pipe>>>;

    /// What an instance uses now.
    fn stats<'a>(&'a self, node: &'a NodeId, instance: &'a InstanceId) -> BoxFuture<'a, Result<Stats>>;

    /// The latest sample of a device.
    fn sample(&self, uuid: &str) -> Option<DeviceSample>;
}

/// Through the agents.
pub struct Agents(pub Arc<Engines<AgentEngine>>);

impl Reach for Agents {
    fn open<'a>(&'a self, node: &'a NodeId, instance: &'a InstanceId) -> BoxFuture<'a, Result<Box<dyn Pipe>>> {
        async move {
            let stream = self.0.of(node)?.open_stream(instance).await?;
            Ok(Box::new(stream) as Box<dyn Pipe>)
        }
        .boxed()
    }

    fn stats<'a>(&'a self, node: &'a NodeId, instance: &'a InstanceId) -> BoxFuture<'a, Result<Stats>> {
        async move { self.0.of(node)?.stats(instance).await }.boxed()
    }

    fn sample(&self, uuid: &str) -> Option<DeviceSample> {
        self.0.sample(uuid)
    }
}
