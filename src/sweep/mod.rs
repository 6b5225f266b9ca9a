//! Many networks on the same data: which settings they have, how they are trained, and which of them are best.

mod ensemble;
mod folder;
mod halving;
mod held_out;
mod leaderboard;
mod member;
#[cfg(feature = "gpu")]
mod pack;
mod picking;
mod queue;
mod record;
mod run;
mod seat;
mod shards;
mod sources;
mod space;
mod team;
mod worker;

pub use ensemble::{Candidates, Fit};
pub use folder::{Asked, BEST, ENSEMBLE, FileRows, Folder, LEADERBOARD, Models, PAGE, is_sweep};
pub use halving::{Halving, by_score};
pub use leaderboard::{Ranked, best, csv, names, ranked};
pub use member::{Ended, Fate, Member, Trained};
pub use picking::{Chosen, Picking, Picks, one_model};
pub use record::{Record, setting_text};
pub use run::{Event, Plan, Sweep};
pub use shards::{check_apart, merge};
pub use sources::Sources;
pub use space::{Range, Settings, Space, Values};
