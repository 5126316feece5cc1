//! A program that wants a whole processor and does nothing with it, as a stranger's build does.

use std::io::{self, Read as _, Write as _};
use std::thread;

/// Takes turns on a processor until its input ends.
pub(super) fn play() -> anyhow::Result<()> {
    // The kernel shares the processors by session, and a stranger is in another one.
    rustix::process::setsid()?;
    let spinning = thread::spawn(|| {
        let mut turns = 0_u64;
        loop {
            turns = std::hint::black_box(turns.wrapping_add(1));
        }
    });
    writeln!(io::stdout(), "spinning")?;
    let mut buffer = [0; 64];
    while io::stdin().lock().read(&mut buffer)? > 0 {}
    drop(spinning);
    Ok(())
}
