//! What the engine is told of an instance.

use engine::{InstanceRef, InstanceSpec};
use store::instances::Instance;

/// Names this generation to the engine.
pub(super) fn reference(instance: &Instance) -> InstanceRef {
    InstanceRef { id: instance.id.clone(), slug: instance.slug.clone(), generation: instance.generation }
}

/// Everything the engine needs.
pub(super) fn spec(instance: &Instance, devices: Vec<String>, token: Option<String>, url: String) -> InstanceSpec {
    let mut env = instance.env.clone();
    if !url.is_empty() {
        env.insert("SUANLI_URL".into(), url);
    }
    env.insert("SUANLI_INSTANCE".into(), instance.id.to_string());
    env.insert("SUANLI_SLUG".into(), instance.slug.to_string());
    env.insert("SUANLI_GPU".into(), instance.gpu.clone());
    env.insert("SUANLI_GPU_COUNT".into(), devices.len().to_string());
    InstanceSpec {
        instance: reference(instance),
        devices,
        cpus: instance.cpus,
        memory_mib: instance.memory_mib,
        disk_mib: instance.disk_mib,
        max_processes: instance.cpus.saturating_mul(1_024).clamp(4_096, 131_072),
        env,
        on_start: instance.on_start.clone(),
        token,
    }
}
