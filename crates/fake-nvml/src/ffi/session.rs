//! What the library remembers between calls: how often it was initialised, the
//! latest good state, and which number stands for which card.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::call::{Answer, Code, Handle};
use crate::state::{Card, State};

/// Distance between two handles: they look like pointers to something.
const STRIDE: usize = 64;

static SESSION: Mutex<Session> = Mutex::new(Session::new());

/// The library's memory. One per loaded copy of the shared object.
pub(super) struct Session {
    inits: u32,
    path: Option<PathBuf>,
    text: Vec<u8>,
    state: Option<State>,
    /// UUIDs in order of first use. Handles are positions in this list, so a
    /// handle means the same card when the file lists its cards in another order.
    known: Vec<String>,
}

/// Runs `body` alone with the library's memory.
pub(super) fn with(body: impl FnOnce(&mut Session) -> Answer) -> Answer {
    // A panic in an earlier call leaves nothing half done that matters here.
    body(&mut SESSION.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Session {
    const fn new() -> Self {
        Self { inits: 0, path: None, text: Vec::new(), state: None, known: Vec::new() }
    }

    /// One more client. Fails like a missing driver when there is no state file.
    pub(super) fn init(&mut self) -> Answer {
        if self.inits == 0 {
            let found = places().into_iter().find(|path| path.exists());
            self.path = Some(found.ok_or(Code::DriverNotLoaded)?);
            self.state = None;
            self.text.clear();
        }
        self.inits += 1;
        let read = self.refresh();
        if read.is_err() {
            self.inits -= 1;
        }
        read
    }

    /// One client fewer.
    pub(super) fn shutdown(&mut self) -> Answer {
        self.inits = self.inits.checked_sub(1).ok_or(Code::Uninitialized)?;
        Ok(())
    }

    /// Takes over what the file says now. A file that cannot be read or
    /// understood leaves the latest good state in place.
    pub(super) fn refresh(&mut self) -> Answer {
        if self.inits == 0 {
            return Err(Code::Uninitialized);
        }
        // The file is compared by content: a time stamp is too coarse for two
        // writes in a row, and the file is a few kilobytes.
        if let Some(text) = self.path.as_deref().and_then(|path| std::fs::read(path).ok())
            && text != self.text
        {
            if let Some(state) = std::str::from_utf8(&text).ok().and_then(|text| State::parse(text).ok()) {
                self.state = Some(state);
            }
            self.text = text;
        }
        self.state.as_ref().map(|_| ()).ok_or(Code::DriverNotLoaded)
    }

    /// The latest good state.
    pub(super) fn state(&self) -> Result<&State, Code> {
        self.state.as_ref().ok_or(Code::Uninitialized)
    }

    /// The handle of a card that still answers.
    pub(super) fn handle(&mut self, uuid: &str, lost: bool) -> Result<Handle, Code> {
        if lost {
            return Err(Code::GpuIsLost);
        }
        let place = self.known.iter().position(|known| known == uuid).unwrap_or_else(|| {
            self.known.push(uuid.to_owned());
            self.known.len() - 1
        });
        Ok(Handle((place + 1) * STRIDE))
    }

    /// The position in NVML's order of the card behind a handle.
    pub(super) fn index(&self, device: Handle) -> Result<usize, Code> {
        let place = (device.0 / STRIDE).checked_sub(1).filter(|_| device.0.is_multiple_of(STRIDE));
        let uuid = place.and_then(|place| self.known.get(place)).ok_or(Code::InvalidArgument)?;
        // A card that was there and is no longer listed has left the bus.
        self.state()?.cards.iter().position(|card| card.uuid == *uuid).ok_or(Code::GpuIsLost)
    }

    /// The card behind a handle, when it still answers.
    pub(super) fn card(&self, device: Handle) -> Result<&Card, Code> {
        let index = self.index(device)?;
        let card = self.state()?.cards.get(index).ok_or(Code::Unknown)?;
        if card.live.lost { Err(Code::GpuIsLost) } else { Ok(card) }
    }
}

/// Where a state file may be, most particular place first.
fn places() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os("FAKE_NVML_STATE") {
        // Whoever names a file means that file: no other one stands in for it.
        return vec![PathBuf::from(path)];
    }
    let beside = own_path().and_then(|path| path.parent().map(|dir| dir.join("cards.toml")));
    let fixed = ["/run/suanli/cards.toml", "/opt/suanli/cards.toml"].map(PathBuf::from);
    beside.into_iter().chain(fixed).collect()
}

/// The file that this code was loaded from.
fn own_path() -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the address is one of this object's own statics, and `info` is ours to fill.
    let found = unsafe { libc::dladdr((&raw const SESSION).cast(), &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr succeeded, so the name is a text that lives as long as this object.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())).to_owned())
}
