//! How the cards do.

use base::Timestamp;
use domain::device::{DeviceFacts, DeviceSample};
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

/// Every card that answers, then those of `known` that do not, in the library's order.
pub(super) fn read(lib: &Nvml, known: &[DeviceFacts], at: Timestamp) -> Vec<DeviceSample> {
    let mut found: Vec<(i64, DeviceSample)> = Vec::new();
    // By index, never by UUID: a search by UUID fails as a whole when any card is lost.
    for index in 0..lib.device_count().unwrap_or(0) {
        let sample = lib.device_by_index(index).and_then(|device| one(&device, at));
        if let Ok(sample) = sample {
            found.push((i64::from(index), sample));
        }
    }
    for old in known {
        if found.iter().all(|(_, sample)| sample.uuid != old.uuid) {
            found.push((old.index, lost(old.uuid.clone(), at)));
        }
    }
    found.sort_by(|a, b| (a.0, &a.1.uuid).cmp(&(b.0, &b.1.uuid)));
    found.into_iter().map(|(_, sample)| sample).collect()
}

/// Fails only when the card does not even tell its name.
fn one(device: &Device<'_>, at: Timestamp) -> Result<DeviceSample, NvmlError> {
    let uuid = device.uuid()?;
    let mut gone = false;
    let sample = DeviceSample {
        uuid: uuid.clone(),
        at,
        gpu_util_pct: told(device.utilization_rates().map(|rates| rates.gpu), &mut gone),
        memory_used_mib: told(device.memory_info().map(|memory| memory.used >> 20), &mut gone),
        power_mw: told(device.power_usage(), &mut gone),
        sm_clock_mhz: told(device.clock_info(Clock::SM), &mut gone),
        temperature_c: told(device.temperature(TemperatureSensor::Gpu), &mut gone),
        lost: false,
    };
    // Half a sample of a card that fell off in between would look healthy.
    Ok(if gone { lost(uuid, at) } else { sample })
}

/// A reading, or `None` where the card does not offer it; notes when it is gone.
fn told<T>(reading: Result<T, NvmlError>, gone: &mut bool) -> Option<i64>
where
    i64: TryFrom<T>,
{
    match reading {
        Ok(value) => i64::try_from(value).ok(),
        Err(NvmlError::GpuLost | NvmlError::ResetRequired) => {
            *gone = true;
            None
        }
        Err(_) => None,
    }
}

fn lost(uuid: String, at: Timestamp) -> DeviceSample {
    DeviceSample {
        uuid,
        at,
        gpu_util_pct: None,
        memory_used_mib: None,
        power_mw: None,
        sm_clock_mhz: None,
        temperature_c: None,
        lost: true,
    }
}
