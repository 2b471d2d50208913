//! Structs that cross the border, laid out as in the NVML header.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong};

use super::call::Code;
use crate::state::{Card, PciAddress};

/// `nvmlMemory_t`: bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub(super) total: c_ulonglong,
    pub(super) free: c_ulonglong,
    pub(super) used: c_ulonglong,
}

/// `nvmlMemory_v2_t`: bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct MemoryV2 {
    pub(super) version: c_uint,
    pub(super) total: c_ulonglong,
    pub(super) reserved: c_ulonglong,
    pub(super) free: c_ulonglong,
    pub(super) used: c_ulonglong,
}

/// `nvmlUtilization_t`: percent.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Utilization {
    pub(super) gpu: c_uint,
    pub(super) memory: c_uint,
}

/// `nvmlProcessInfo_v1_t`: memory in bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ProcessV1 {
    pub(super) pid: c_uint,
    pub(super) used: c_ulonglong,
}

/// `nvmlProcessInfo_v2_t`, which the functions `_v2` and `_v3` both fill.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ProcessV2 {
    pub(super) pid: c_uint,
    pub(super) used: c_ulonglong,
    pub(super) gpu_instance: c_uint,
    pub(super) compute_instance: c_uint,
}

/// `nvmlProcessUtilizationSample_t`: microseconds since the epoch, percent.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ProcessUtilization {
    pub(super) pid: c_uint,
    pub(super) at: c_ulonglong,
    pub(super) sm: c_uint,
    pub(super) memory: c_uint,
    pub(super) encoder: c_uint,
    pub(super) decoder: c_uint,
}

/// `nvmlTemperature_v1_t`: °C.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Temperature {
    pub(super) version: c_uint,
    pub(super) sensor: c_int,
    pub(super) celsius: c_int,
}

/// `nvmlPciInfo_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PciInfo {
    pub(super) legacy: [c_char; 16],
    pub(super) domain: c_uint,
    pub(super) bus: c_uint,
    pub(super) device: c_uint,
    pub(super) device_id: c_uint,
    pub(super) subsystem_id: c_uint,
    pub(super) bus_id: [c_char; 32],
}

/// `nvmlPciInfoExt_v1_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PciInfoExt {
    pub(super) version: c_uint,
    pub(super) domain: c_uint,
    pub(super) bus: c_uint,
    pub(super) device: c_uint,
    pub(super) device_id: c_uint,
    pub(super) subsystem_id: c_uint,
    pub(super) base_class: c_uint,
    pub(super) sub_class: c_uint,
    pub(super) bus_id: [c_char; 32],
}

/// The version word that a client writes into a struct before the call.
pub(super) const fn version_word<T>(version: usize) -> c_uint {
    (size_of::<T>() | version << 24) as c_uint
}

fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    for (place, byte) in out.iter_mut().zip(text.bytes().take(N - 1)) {
        *place = byte as c_char;
    }
    out
}

impl PciInfo {
    pub(super) fn at(address: PciAddress, device_id: c_uint) -> Self {
        let PciAddress { domain, bus, device } = address;
        Self {
            legacy: text(&format!("{domain:04X}:{bus:02X}:{device:02X}.0")),
            domain,
            bus,
            device,
            device_id,
            subsystem_id: 0,
            bus_id: text(&format!("{domain:08X}:{bus:02X}:{device:02X}.0")),
        }
    }

    pub(super) fn of(card: &Card) -> Result<Self, Code> {
        let address = PciAddress::parse(&card.pci).ok_or(Code::Unknown)?;
        Ok(Self::at(address, super::call::unsigned(card.pci_device_id)))
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use nvml_wrapper_sys::bindings as nvml;

    use super::*;

    /// Compares size, and the offset of each pair of fields.
    macro_rules! same {
        ($ours:ty, $theirs:ty; $($mine:ident = $other:ident),*) => {
            assert_eq!(size_of::<$ours>(), size_of::<$theirs>(), stringify!($ours));
            $(assert_eq!(offset_of!($ours, $mine), offset_of!($theirs, $other), stringify!($ours $mine));)*
        };
    }

    #[test]
    fn structs_lie_as_the_header_says() {
        same!(Memory, nvml::nvmlMemory_t; total = total, free = free, used = used);
        same!(MemoryV2, nvml::nvmlMemory_v2_t;
            version = version, total = total, reserved = reserved, free = free, used = used);
        same!(Utilization, nvml::nvmlUtilization_t; gpu = gpu, memory = memory);
        same!(ProcessV1, nvml::nvmlProcessInfo_v1_t; pid = pid, used = usedGpuMemory);
        same!(ProcessV2, nvml::nvmlProcessInfo_v2_t; pid = pid, used = usedGpuMemory,
            gpu_instance = gpuInstanceId, compute_instance = computeInstanceId);
        same!(ProcessUtilization, nvml::nvmlProcessUtilizationSample_t; pid = pid, at = timeStamp, sm = smUtil,
            memory = memUtil, encoder = encUtil, decoder = decUtil);
        same!(PciInfo, nvml::nvmlPciInfo_t; legacy = busIdLegacy, domain = domain, bus = bus, device = device,
            device_id = pciDeviceId, subsystem_id = pciSubSystemId, bus_id = busId);
        same!(PciInfoExt, nvml::nvmlPciInfoExt_v1_t; version = version, domain = domain, bus = bus,
            device = device, device_id = pciDeviceId, subsystem_id = pciSubSystemId, base_class = baseClass,
            sub_class = subClass, bus_id = busId);
        same!(Temperature, nvml::nvmlTemperature_v1_t; version = version, sensor = sensorType, celsius = temperature);
    }

    #[test]
    fn version_words_are_those_of_the_header() {
        assert_eq!(version_word::<MemoryV2>(2), 0x0200_0028);
        assert_eq!(version_word::<Temperature>(1), 0x0100_000c);
    }
}
