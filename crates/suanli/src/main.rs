//! suanli
fn main() {}
