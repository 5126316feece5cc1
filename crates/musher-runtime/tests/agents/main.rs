//! Whole sessions through the public door: the contract of every runtime, the promises, and the real programs.

mod contract;
mod promises;
mod real;
mod rig;
mod story;
