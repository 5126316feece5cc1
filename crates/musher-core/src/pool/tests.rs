//! The promises of the pool, proved on the pure rules.

mod answers;
mod broken;
mod money;
mod records;
mod restarts;
mod scene;
mod simulation;
mod specs;
mod starts;
mod stories;
mod table;
mod talk;
