//! Starting, stopping, and what the whole system says.

use std::ffi::{c_char, c_int, c_uint};

use super::call::{Answer, Code, Out, answer, unsigned};
use super::session;

fn init() -> c_int {
    answer(|| session::with(session::Session::init))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    init()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> c_int {
    init()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> c_int {
    init()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> c_int {
    answer(|| session::with(session::Session::shutdown))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(code: c_int) -> *const c_char {
    match code {
        0 => c"Success",
        1 => c"Not initialised",
        2 => c"Invalid argument",
        3 => c"Not supported",
        4 => c"No permission",
        6 => c"Not found",
        7 => c"Buffer too small",
        9 => c"The driver is not loaded",
        15 => c"The GPU is lost",
        25 => c"Version of the argument does not match",
        _ => c"Unknown error",
    }
    .as_ptr()
}

/// `12.4` as NVML's 12040.
fn cuda_number(text: &str) -> Option<c_int> {
    let (major, minor) = text.split_once('.')?;
    Some(major.parse::<c_int>().ok()?.checked_mul(1000)? + minor.parse::<c_int>().ok()?.checked_mul(10)?)
}

fn put_cuda(text: &str, version: Out<c_int>) -> Answer {
    version.put(cuda_number(text).ok_or(Code::Unknown)?)
}

system_functions! {
    fn nvmlSystemGetDriverVersion(text: Out<c_char>, len: c_uint) |s| text.put_text(&s.state()?.driver, len);
    fn nvmlSystemGetNVMLVersion(text: Out<c_char>, len: c_uint) |s| text.put_text(&s.state()?.nvml, len);
    fn nvmlSystemGetCudaDriverVersion(version: Out<c_int>) |s| put_cuda(&s.state()?.cuda, version);
    fn nvmlSystemGetCudaDriverVersion_v2(version: Out<c_int>) |s| put_cuda(&s.state()?.cuda, version);
    fn nvmlDeviceGetCount(count: Out<c_uint>) |s| count.put(unsigned(s.state()?.cards.len() as i64));
    fn nvmlDeviceGetCount_v2(count: Out<c_uint>) |s| count.put(unsigned(s.state()?.cards.len() as i64));
}

#[cfg(test)]
mod tests {
    use super::cuda_number;

    #[test]
    fn cuda_versions_become_numbers() {
        assert_eq!(cuda_number("12.4"), Some(12_040));
        assert_eq!(cuda_number("13.0"), Some(13_000));
        assert_eq!(cuda_number("twelve"), None);
    }
}
