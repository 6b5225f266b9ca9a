//! Sweeps of many networks on the same data: choice of settings, training, and selection of the best.

mod ensemble;
mod finish;
mod folder;
mod halving;
mod held_out;
mod history;
mod leaderboard;
mod member;
mod member_engine;
#[cfg(feature = "gpu")]
mod pack;
mod picking;
mod planning;
mod queue;
mod record;
mod run;
mod sources;
mod space;
mod team;
mod worker;

pub use ensemble::{Candidates, Fit};
pub use finish::{FinishEvent, FinishedSweep, Refit, SavedEnsemble, SweepResult, as_saved, refit};
pub use folder::{BEST, ENSEMBLE, FileRows, Folder, LEADERBOARD, Models, PAGE, is_sweep};
pub use halving::{Halving, by_score};
pub use leaderboard::{RankedMember, best, csv, names, ranked};
pub use member::{FinishedMember, Member, TrainedModel, TrialStatus, is_short};
#[cfg(feature = "gpu")]
pub use pack::can_be_packed;
pub use picking::{EnsembleSelection, Picks, SelectedEnsemble, one_model};
pub use planning::{
    TrialPlan, TrialPlanner, VALIDATION, check_names, check_trials, may_differ, plan_on, usual_space,
};
pub use record::{Record, setting_text};
pub use run::{Event, Plan, Sweep};
pub use sources::Sources;
pub use space::{Range, Settings, Space, Values};
