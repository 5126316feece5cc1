//! What the tools promise, shown through the trait on real files and real processes.

mod beneath;
mod commands;
mod files;
mod rig;
mod run;
mod search;
