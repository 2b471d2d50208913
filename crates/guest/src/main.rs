//! guest
fn main() {}
