//! Many networks on the same data: which settings they have, how they are trained, and which of them are best.

mod ensemble;
mod halving;
mod held_out;
mod member;
mod pack;
mod queue;
mod run;
mod seat;
mod sources;
mod space;
mod team;
mod worker;

pub use ensemble::{Candidates, Fit};
pub use halving::{Halving, by_score};
pub use member::{Ended, Fate, Member, Trained};
pub use run::{Event, Plan, Sweep};
pub use sources::Sources;
pub use space::{Range, Settings, Space, Values};
