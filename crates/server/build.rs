//! The console is a part of the program: when it is built anew, so is the server.

fn main() {
    // Also when it is not there yet: then it is looked for again at the next build.
    println!("cargo:rerun-if-changed=../../web/dist");
}
