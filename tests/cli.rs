//! The program: its output and its files.

#[path = "support/jpegs.rs"]
mod jpegs;
mod program;

#[path = "cli/augment.rs"]
mod augment;
#[path = "cli/cache.rs"]
mod cache;
#[path = "cli/categories.rs"]
mod categories;
#[path = "cli/check.rs"]
mod check;
#[path = "cli/dates.rs"]
mod dates;
#[path = "cli/decimals.rs"]
mod decimals;
#[path = "cli/devices.rs"]
mod devices;
#[cfg(target_os = "linux")]
#[path = "cli/disks.rs"]
mod disks;
#[path = "cli/eval.rs"]
mod eval;
#[path = "cli/export.rs"]
mod export;
#[cfg(unix)]
#[path = "cli/folders.rs"]
mod folders;
#[path = "cli/folds.rs"]
mod folds;
#[cfg(unix)]
#[path = "cli/gpu_day.rs"]
mod gpu_day;
#[path = "cli/guesses.rs"]
mod guesses;
#[path = "cli/headers.rs"]
mod headers;
#[path = "cli/held_out.rs"]
mod held_out;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/image_folders.rs"]
mod image_folders;
#[path = "cli/images.rs"]
mod images;
#[path = "cli/importance.rs"]
mod importance;
#[path = "cli/init_from.rs"]
mod init_from;
#[path = "cli/inspect.rs"]
mod inspect;
#[cfg(unix)]
#[path = "cli/interrupts.rs"]
mod interrupts;
#[path = "cli/labels.rs"]
mod labels;
#[path = "cli/late_text.rs"]
mod late_text;
#[path = "cli/learning.rs"]
mod learning;
#[cfg(target_os = "linux")]
#[path = "cli/long_runs.rs"]
mod long_runs;
#[path = "cli/manual.rs"]
mod manual;
#[path = "cli/measures.rs"]
mod measures;
#[path = "cli/model.rs"]
mod model;
#[path = "cli/multi_label.rs"]
mod multi_label;
#[cfg(unix)]
#[path = "cli/names.rs"]
mod names;
#[path = "cli/npz.rs"]
mod npz;
#[path = "cli/npz_parts.rs"]
mod npz_parts;
#[path = "cli/odd_cells.rs"]
mod odd_cells;
#[path = "cli/odd_tables.rs"]
mod odd_tables;
#[path = "cli/other_files.rs"]
mod other_files;
#[path = "cli/parts.rs"]
mod parts;
#[path = "cli/predict.rs"]
mod predict;
#[path = "cli/predict_tables.rs"]
mod predict_tables;
#[path = "cli/preset.rs"]
mod preset;
#[path = "cli/profile.rs"]
mod profile;
#[path = "cli/quantiles.rs"]
mod quantiles;
#[cfg(unix)]
#[path = "cli/readme.rs"]
mod readme;
#[path = "cli/refit.rs"]
mod refit;
#[path = "cli/report.rs"]
mod report;
#[path = "cli/runs.rs"]
mod runs;
#[path = "cli/saving.rs"]
mod saving;
#[path = "cli/sweep.rs"]
mod sweep;
#[path = "cli/sweep_folds.rs"]
mod sweep_folds;
#[path = "cli/sweep_from.rs"]
mod sweep_from;
#[path = "cli/sweep_results.rs"]
mod sweep_results;
#[path = "cli/sweep_resumed.rs"]
mod sweep_resumed;
#[path = "cli/sweep_seeds.rs"]
mod sweep_seeds;
#[path = "cli/tables.rs"]
mod tables;
#[path = "cli/tensorboard.rs"]
mod tensorboard;
#[cfg(target_os = "linux")]
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "cli/times.rs"]
mod times;
#[path = "cli/train.rs"]
mod train;
#[path = "cli/vectors.rs"]
mod vectors;
#[path = "cli/weights.rs"]
mod weights;
