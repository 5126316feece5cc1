//! Links the binary at a fixed address where that saves memory.
//!
//! A binary that can be loaded anywhere has hundreds of kilobytes of tables full of addresses, which each process writes
//! anew when it starts and then has for itself. There may be a thousand runners, and at a fixed address they share them.
//! Heap, stack and libraries are still put at random places.

#[expect(clippy::disallowed_methods, reason = "that is how cargo speaks to a build script")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bin=musher=-no-pie");
    }
}
