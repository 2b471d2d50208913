//! The code for real cards, against the fake library in this program.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base::{Span, Timestamp};
use domain::device::DeviceLink;
use fake_nvml::state::State;
use nvml_wrapper::enum_wrappers::device::{Brand, Clock, PerformanceState, TopologyLevel};
use nvml_wrapper::enums::device::{DeviceArchitecture, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;

use super::Nvml;
use crate::{FakeFleet, Load, Profile, install_fake_library};

const AT: Timestamp = Timestamp::from_micros(1_000_000);

/// A pretended machine with a library of its own: a copy at another path has
/// memory of its own, so tests do not meet.
struct Machine {
    dir: tempfile::TempDir,
    fleet: FakeFleet,
    nvml: Nvml,
}

impl Machine {
    fn new(profile: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fleet = FakeFleet::new(Profile::builtin(profile).unwrap());
        fleet.write_state(&dir.path().join("cards.toml")).unwrap();
        let nvml = Nvml::load(Some(&install_fake_library(dir.path()).unwrap())).unwrap();
        Self { dir, fleet, nvml }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("cards.toml")
    }

    fn write(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.fleet.state();
        change(&mut state);
        let next = self.dir.path().join("next");
        std::fs::write(&next, state.to_toml().unwrap()).unwrap();
        std::fs::rename(next, self.file()).unwrap();
    }

    fn uuids(&self) -> Vec<String> {
        self.fleet.uuids().map(str::to_owned).collect()
    }
}

#[test]
fn facts_are_those_of_the_profile() {
    for profile in Profile::builtin_names() {
        let machine = Machine::new(profile);
        let facts = machine.nvml.facts().unwrap();
        let cards = machine.fleet.state().cards;
        assert_eq!(facts.len(), cards.len(), "{profile}");
        for (index, (fact, card)) in facts.iter().zip(&cards).enumerate() {
            assert_eq!((&fact.uuid, &fact.name), (&card.uuid, &card.name));
            assert_eq!((&fact.serial, &fact.pci), (&Some(card.serial.clone()), &card.pci));
            assert_eq!((fact.memory_mib, fact.power_limit_w), (card.memory_mib, Some(card.power_limit_w)));
            assert_eq!((fact.index, fact.numa), (index as i64, card.numa));
            assert_eq!(fact.paths, [format!("/dev/nvidia{}", card.minor)]);
            assert_eq!(fact.driver.as_deref(), Some("550.00.fake"));
            assert!(fact.fake);
        }
    }
}

#[test]
fn links_are_those_of_the_profile() {
    let links = |profile: &str| -> Vec<Vec<(i64, i64)>> {
        let facts = Machine::new(profile).nvml.facts().unwrap();
        let place = |uuid: &str| facts.iter().find(|fact| fact.uuid == uuid).unwrap().index;
        let of = |link: &DeviceLink| (place(&link.peer), link.nvlinks);
        facts.iter().map(|fact| fact.links.iter().map(of).collect()).collect()
    };
    assert_eq!(links("a100-80g-nvlink-x4"), [[(1, 12)], [(0, 12)], [(3, 12)], [(2, 12)]]);
    for (index, peers) in links("h100x8-nvlink").into_iter().enumerate() {
        let others: Vec<_> = (0..8).filter(|other| *other != index as i64).map(|other| (other, 18)).collect();
        assert_eq!(peers, others);
    }
    assert!(links("rtx4090x8").iter().all(Vec::is_empty));
    assert!(links("mixed-lab").iter().all(Vec::is_empty));
}

#[test]
fn changes_show_up_without_loading_again() {
    let mut machine = Machine::new("rtx4090x8");
    let idle = machine.nvml.sample(AT);
    assert_eq!(idle[0].uuid, machine.uuids()[0]);
    assert_eq!((idle[0].at, idle[0].gpu_util_pct, idle[0].temperature_c), (AT, Some(0), Some(32)));
    let load = Load {
        cpu_milli: 8_000,
        cpus: 8,
        memory_used_mib: 1,
        memory_limit_mib: 2,
        pids: vec![std::process::id() as i32],
    };
    machine.fleet.step(Span::from_secs(120), &BTreeMap::from([(machine.uuids()[0].clone(), load)]));
    machine.fleet.write_state(&machine.file()).unwrap();
    let busy = machine.nvml.sample(AT);
    assert_eq!((busy[0].gpu_util_pct, busy[0].power_mw, busy[0].temperature_c), (Some(100), Some(450_000), Some(78)));
    assert_eq!((busy[0].sm_clock_mhz, busy[0].memory_used_mib), (Some(2_520), Some(400 + 12_082)));
    assert_eq!(busy[1..], idle[1..]);
}

#[test]
fn a_lost_card_hides_no_neighbour_and_comes_back() {
    let machine = Machine::new("a100-80g-nvlink-x4");
    let facts = machine.nvml.facts().unwrap();
    let uuids = machine.uuids();
    machine.write(|state| state.cards[1].live.lost = true);
    let samples = machine.nvml.sample(AT);
    assert_eq!(samples.iter().map(|sample| sample.uuid.clone()).collect::<Vec<_>>(), uuids);
    assert_eq!(samples.iter().map(|sample| sample.lost).collect::<Vec<_>>(), [false, true, false, false]);
    assert_eq!((samples[1].gpu_util_pct, samples[1].memory_used_mib, samples[1].at), (None, None, AT));
    assert_eq!(samples[2].temperature_c, Some(32));
    let during = machine.nvml.facts().unwrap();
    assert_eq!(during.len(), 4);
    assert_eq!(during[1], facts[1], "a lost card keeps its name");
    assert_eq!(during[2..], facts[2..]);
    machine.write(|_| ());
    assert!(machine.nvml.sample(AT).iter().all(|sample| !sample.lost));
    assert_eq!(machine.nvml.facts().unwrap(), facts);
}

#[test]
fn a_card_that_left_the_list_is_lost() {
    let machine = Machine::new("mixed-lab");
    machine.nvml.facts().unwrap();
    machine.write(|state| drop(state.cards.remove(2)));
    let samples = machine.nvml.sample(AT);
    let lost: Vec<_> = samples.iter().filter(|sample| sample.lost).map(|sample| sample.uuid.clone()).collect();
    assert_eq!((samples.len(), lost), (6, vec![machine.uuids()[2].clone()]));
}

#[test]
fn a_broken_or_missing_file_leaves_the_last_good_answer() {
    let machine = Machine::new("mixed-lab");
    let before = machine.nvml.sample(AT);
    std::fs::write(machine.file(), "half of a fi").unwrap();
    assert_eq!(machine.nvml.sample(AT), before);
    std::fs::remove_file(machine.file()).unwrap();
    assert_eq!(machine.nvml.sample(AT), before);
    machine.write(|state| state.cards[0].live.temperature_c = 77);
    assert_eq!(machine.nvml.sample(AT)[0].temperature_c, Some(77));
}

#[test]
fn processes_are_counted_then_filled_in() {
    let mut machine = Machine::new("rtx4090x8");
    let load = Load { cpu_milli: 1, cpus: 1, memory_used_mib: 0, memory_limit_mib: 1, pids: vec![41, 42] };
    machine.fleet.step(Span::from_secs(1), &BTreeMap::from([(machine.uuids()[3].clone(), load)]));
    machine.fleet.write_state(&machine.file()).unwrap();
    let device = machine.nvml.lib.device_by_index(3).unwrap();
    assert_eq!(device.running_compute_processes_count().unwrap(), 2);
    let processes = device.running_compute_processes().unwrap();
    let rows: Vec<_> = processes.iter().map(|p| (p.pid, &p.used_gpu_memory, p.gpu_instance_id)).collect();
    let memory = UsedGpuMemory::Used(200 << 20);
    assert_eq!(rows, [(41, &memory, None), (42, &memory, None)]);
    assert_eq!(device.running_graphics_processes().unwrap(), []);
    assert_eq!(machine.nvml.lib.device_by_index(0).unwrap().running_compute_processes().unwrap(), []);
    // Too little room: the true count comes back and nothing is written.
    let ask = machine.nvml.lib.lib().nvmlDeviceGetComputeRunningProcesses_v3.as_ref().unwrap();
    let mut count = 1;
    // SAFETY: all-zero bytes are a value of this plain C struct.
    let mut row = unsafe { std::mem::zeroed() };
    // SAFETY: `row` is room for the one process that `count` announces.
    let code = unsafe { ask(device.handle(), &raw mut count, &raw mut row) };
    assert_eq!((code, count, row.pid), (7, 2, 0));
}

#[test]
fn a_card_is_found_by_every_name_it_has() {
    let machine = Machine::new("mixed-lab");
    let lib = &machine.nvml.lib;
    for card in machine.fleet.state().cards {
        assert_eq!(lib.device_by_uuid(card.uuid.as_str()).unwrap().name().unwrap(), card.name);
        assert_eq!(lib.device_by_pci_bus_id(card.pci.as_str()).unwrap().uuid().unwrap(), card.uuid);
    }
    assert!(matches!(lib.device_by_uuid("GPU-other"), Err(NvmlError::NotFound)));
    assert!(matches!(lib.device_by_index(6), Err(NvmlError::InvalidArg)));
    machine.write(|state| state.cards[0].live.lost = true);
    assert!(matches!(lib.device_by_index(0), Err(NvmlError::GpuLost)));
    assert!(matches!(lib.device_by_uuid("GPU-other"), Err(NvmlError::GpuLost)));
}

#[test]
fn a_handle_keeps_meaning_the_same_card() {
    let machine = Machine::new("mixed-lab");
    let device = machine.nvml.lib.device_by_index(5).unwrap();
    machine.write(|state| state.cards.reverse());
    assert_eq!((device.name().unwrap().as_str(), device.index().unwrap()), ("Tesla T4", 0));
    machine.write(|state| state.cards.retain(|card| card.name != "Tesla T4"));
    assert!(matches!(device.name(), Err(NvmlError::GpuLost)));
}

#[test]
fn details_that_programs_ask_for_are_answered() {
    let machine = Machine::new("a100-80g-nvlink-x4");
    let lib = &machine.nvml.lib;
    assert_eq!(lib.sys_cuda_driver_version().unwrap(), 12_040);
    let device = lib.device_by_index(0).unwrap();
    assert_eq!(device.brand().unwrap(), Brand::Nvidia);
    assert_eq!(device.architecture().unwrap(), DeviceArchitecture::Ampere);
    assert_eq!(device.vbios_version().unwrap(), "FAKE");
    let capability = device.cuda_compute_capability().unwrap();
    assert_eq!((capability.major, capability.minor), (8, 0));
    assert_eq!((device.num_cores().unwrap(), device.memory_bus_width().unwrap()), (6_912, 5_120));
    assert_eq!(device.max_clock_info(Clock::SM).unwrap(), 1_410);
    assert_eq!(device.max_clock_info(Clock::Memory).unwrap(), 1_593);
    assert_eq!((device.max_pcie_link_gen().unwrap(), device.max_pcie_link_width().unwrap()), (4, 16));
    assert!(device.is_ecc_enabled().unwrap().currently_enabled);
    assert!(matches!(device.fan_speed(0), Err(NvmlError::NotSupported)), "this card has no fan of its own");
    assert_eq!(device.performance_state().unwrap(), PerformanceState::Eight);
    let pci = device.pci_info().unwrap();
    assert_eq!((pci.bus_id.as_str(), pci.pci_device_id), ("00000000:01:00.0", 0x20b2_10de));
    // Cards 0 and 1 share a processor, 0 and 3 do not.
    let level = |other| device.topology_common_ancestor(lib.device_by_index(other).unwrap()).unwrap();
    assert_eq!([level(1), level(3)], [TopologyLevel::HostBridge, TopologyLevel::System]);
    assert!(matches!(device.gsp_firmware_version(), Err(NvmlError::NotSupported)), "this is not modelled");
}

#[test]
fn many_threads_can_ask_while_the_file_changes() {
    let machine = Machine::new("h100x8-nvlink");
    let uuids = machine.uuids();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let samples = machine.nvml.sample(AT);
                    assert!(samples.iter().map(|sample| &sample.uuid).eq(&uuids));
                    assert!(samples.iter().all(|sample| !sample.lost && sample.temperature_c >= Some(32)));
                }
            });
        }
        for degrees in 32..82 {
            machine.write(|state| state.cards.iter_mut().for_each(|card| card.live.temperature_c = degrees));
        }
    });
}
