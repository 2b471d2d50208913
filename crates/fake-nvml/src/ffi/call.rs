//! From a C call to a Rust closure and back: no panic leaves, no pointer is
//! trusted before it was compared with null.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::session::{self, Session};
use crate::state::Card;

/// What a function answers when it does not succeed. Numbers of the NVML header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Code {
    Uninitialized = 1,
    InvalidArgument = 2,
    NotSupported = 3,
    NotFound = 6,
    InsufficientSize = 7,
    DriverNotLoaded = 9,
    GpuIsLost = 15,
    ArgumentVersionMismatch = 25,
    Unknown = 999,
}

/// What the body of a function gives back.
pub(super) type Answer = Result<(), Code>;

/// A card as a client holds it: a number of ours that is never dereferenced.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub(super) usize);

/// Where a client wants a value, perhaps null.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    pub(super) fn put(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Code::InvalidArgument);
        }
        // SAFETY: NVML's contract: a pointer that is not null points to room for one value.
        unsafe { self.0.write(value) };
        Ok(())
    }

    pub(super) fn get(self) -> Result<T, Code> {
        if self.0.is_null() {
            return Err(Code::InvalidArgument);
        }
        // SAFETY: as above, and NVML's contract for these arguments is that the
        // client has filled them in (a count, a struct's version).
        Ok(unsafe { self.0.read() })
    }

    /// The first `len` places; `len` must be what the client said it has room for.
    pub(super) fn put_all(self, values: &[T], len: c_uint) -> Answer {
        if values.len() > len as usize {
            return Err(Code::InsufficientSize);
        }
        if self.0.is_null() && !values.is_empty() {
            return Err(Code::InvalidArgument);
        }
        for (i, value) in values.iter().enumerate() {
            // SAFETY: i < values.len() <= len, and the client has room for len values.
            unsafe { self.0.add(i).write(*value) };
        }
        Ok(())
    }
}

impl Out<c_char> {
    /// Text with its final zero, when the client's buffer of `len` bytes holds it.
    pub(super) fn put_text(self, text: &str, len: c_uint) -> Answer {
        let bytes: Vec<c_char> = text.bytes().filter(|b| *b != 0).chain([0]).map(|b| b as c_char).collect();
        self.put_all(&bytes, len)
    }
}

/// Text that a client passes, perhaps null.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct Text(*const c_char);

impl Text {
    pub(super) fn get(&self) -> Result<&str, Code> {
        if self.0.is_null() {
            return Err(Code::InvalidArgument);
        }
        // SAFETY: NVML's contract: a text argument ends with a zero.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| Code::InvalidArgument)
    }
}

/// A number of the state file as the unsigned number that C expects.
pub(super) fn unsigned(value: i64) -> c_uint {
    c_uint::try_from(value.max(0)).unwrap_or(c_uint::MAX)
}

/// MiB of the state file as bytes.
pub(super) fn bytes(mib: i64) -> u64 {
    mib.max(0).unsigned_abs().saturating_mul(1 << 20)
}

/// Runs a function's body and turns what it says into a return code.
pub(super) fn answer(body: impl FnOnce() -> Answer) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code as c_int,
        Err(_) => Code::Unknown as c_int,
    }
}

/// Runs a body that needs the library to be initialised.
pub(super) fn in_session(body: impl FnOnce(&mut Session) -> Answer) -> c_int {
    answer(|| session::with(|session| session.refresh().and_then(|()| body(session))))
}

/// Runs a body that asks one card that still answers.
pub(super) fn on_card(device: Handle, body: impl FnOnce(&Card, &Session) -> Answer) -> c_int {
    in_session(|session| session.card(device).and_then(|card| body(card, session)))
}

/// Exports functions about the whole system: `fn name(args) |session| body`.
macro_rules! system_functions {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) |$session:pat_param| $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> std::ffi::c_int {
            $crate::ffi::call::in_session(|$session| $body)
        }
    )*};
}

/// Exports functions about one card: `fn name(more args) |card| body`, where the
/// first C argument, the device, is not written.
macro_rules! card_functions {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) |$card:ident| $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(device: $crate::ffi::call::Handle $(, $arg: $ty)*) -> std::ffi::c_int {
            $crate::ffi::call::on_card(device, |$card, _| $body)
        }
    )*};
}
