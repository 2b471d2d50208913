//! The part of the Incus REST API that Suanli uses, over a Unix socket or over TLS
//! with a client certificate.
//!
//! It knows nothing of rentals: names, projects and bodies come from the caller.
//! What this client was tried against is Incus 6.0 (the long-term release); newer
//! ones keep the API and say what they add in their list of extensions, which is
//! asked ([`Server::can`]) and never assumed.

mod endpoint;
mod events;
mod exec;
mod fault;
mod files;
mod images;
mod instances;
mod operation;
mod snapshots;
mod tls;
mod transport;
mod volumes;
mod wire;
mod zone;

pub use endpoint::Endpoint;
pub use events::{Event, Events};
pub use exec::{Exec, ExecRequest, Piece};
pub use files::FileKind;
pub use images::{Alias, Image};
pub use instances::Tagged;
pub use operation::{Operation, Progress};
pub use snapshots::{Copy, Snapshot};
pub use transport::Incus;
pub use volumes::{Volume, VolumeAt};
pub use wire::{
    Devices, Instance, InstanceState, Member, NewInstance, Pool, PoolResources, Resources, Server, Settings, Space,
    Status, Update,
};
pub use zone::NewProject;
