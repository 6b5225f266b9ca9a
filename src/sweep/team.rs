//! Selection of the members of a sweep that a thread of the processor trains together: members that use the
//! same rows in the same batches form teams.

use std::time::Duration;

use super::member_engine::BatchTrainer;
use super::queue::Job;
use crate::data::Rows;
use crate::engine::{
    BatchMetrics, Batches, CpuEngine, CpuTeam, Description, Device, Engine, EngineState, Evaluation,
    Inference,
};
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::threads::block;
use crate::timing::Ceilings;

/// Most members of a team: more gain little, since each then costs hardly more than its own work.
const MOST_MEMBERS: usize = 16;

/// Most bytes of a member in a team: the weights of a larger one would not be in a near cache at its turn,
/// which costs more than sharing saves.
const MOST_BYTES: usize = 1 << 21;

/// Bytes per column of the rows: the benefit of sharing grows with the columns.
const BYTES_A_COLUMN: usize = 1 << 13;

/// Longest training time of a team, which is lost if it is interrupted.
const MOST_TIME: Duration = Duration::from_secs(300);

/// A team may use one part in this number of the remaining time: the training of unfinished members is
/// wasted.
const SHARE_OF_TIME: u32 = 16;

/// Approximate multiply-adds of [`Member::cost`](super::Member) per second and thread, which counts the forward pass
/// only.
const COST_A_SECOND: f64 = 5e9;

/// A team whose cost is less than this share of the cost of all jobs per thread leaves no thread idle for
/// long.
const SMALL_SHARE: f64 = 0.125;

/// Divides jobs into teams for `threads` threads, the longest first, or if time is limited in the order of the jobs.
/// `left` is the remaining time for all.
pub(super) fn teams(jobs: Vec<Job>, threads: usize, left: Option<Duration>) -> Vec<Vec<Job>> {
    let time = left.map_or(MOST_TIME, |left| MOST_TIME.min(left / SHARE_OF_TIME));
    let cost = |jobs: &[Job]| jobs.iter().map(|job| job.cost).sum::<f64>();
    let limits = Limits { threads, all: cost(&jobs), most: COST_A_SECOND * time.as_secs_f64() };
    let mut groups: Vec<(Option<usize>, Vec<Job>)> = Vec::new();
    for job in jobs {
        let form = form(&job);
        let is_like = |(other, jobs): &&mut (Option<usize>, Vec<Job>)| {
            form.is_some() && *other == form && jobs[0].batches() == job.batches()
        };
        match groups.iter_mut().find(is_like) {
            Some((_, jobs)) => jobs.push(job),
            None => groups.push((form, vec![job])),
        }
    }
    let mut teams: Vec<Vec<Job>> = Vec::new();
    for (_, jobs) in groups {
        let count = limits.teams(jobs.len(), cost(&jobs));
        let first = teams.len();
        teams.extend((0..count).map(|_| Vec::new()));
        // In the order of costs, teams have similar costs.
        for (number, job) in jobs.into_iter().enumerate() {
            teams[first + number % count].push(job);
        }
    }
    match left {
        None => teams.sort_by(|a, b| cost(b).total_cmp(&cost(a))),
        Some(_) => teams.sort_by_key(|team| team[0].index),
    }
    teams
}

/// Limits of teams.
struct Limits {
    threads: usize,
    /// Cost of all jobs.
    all: f64,
    /// Largest cost of a team.
    most: f64,
}

impl Limits {
    /// Returns the number of teams for `members` members of this total cost.
    fn teams(&self, members: usize, cost: f64) -> usize {
        let least = members.div_ceil(MOST_MEMBERS).max((cost / self.most).ceil() as usize);
        let is_large = cost / least as f64 > SMALL_SHARE / self.threads as f64 * self.all;
        let count = if is_large { least.next_multiple_of(self.threads) } else { least };
        count.clamp(1, members)
    }
}

/// Returns the form in which a member uses a batch; `None` if it is trained separately.
fn form(job: &Job) -> Option<usize> {
    let config = &job.member.config;
    let network = config.network_for(job.member.data[job.fold].training(), config.batch_size).ok()?;
    // Parameters, their gradients or transposes, and the optimizer's state.
    let copies = 2 + config.optimizer.kind.states();
    let bytes = network.parameter_count().saturating_mul(copies * size_of::<f32>());
    let most = MOST_BYTES.min(BYTES_A_COLUMN.saturating_mul(network.columns()));
    // Per-trial time limits exclude teams.
    let is_possible = bytes <= most && config.max_time.is_none();
    is_possible.then(|| CpuTeam::form(&network))
}

/// Creates the networks of some jobs as a team on the processor; `None` if they cannot form one.
pub(super) fn networks(jobs: &[Job], device: &Device) -> Option<Box<dyn BatchTrainer>> {
    if jobs.len() < 2 || !device.is_cpu() {
        return None;
    }
    let engine = |job: &Job| {
        let config = &job.member.config;
        let (network, options) = config.plan(job.member.data[job.fold].training(), device)?;
        Ok(CpuEngine::with_threads(&config.initial_parameters(&network), &network, &options, 1))
    };
    let engines: Result<Vec<CpuEngine>> = jobs.iter().map(engine).collect();
    Some(Box::new(CpuTeam::new(engines.ok()?, jobs[0].data().team_rows()).ok()?))
}

fn live(team: &mut CpuTeam, member: usize) -> Result<&mut CpuEngine> {
    team.member(member).ok_or_else(|| Error::Config(format!("network {member} of a team has stopped")))
}

impl BatchTrainer for CpuTeam {
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        self.submit(batches)
    }

    fn poll(&mut self, member: usize, wait: bool) -> Result<Vec<BatchMetrics>> {
        block(live(self, member)?.poll(wait))
    }

    fn stop(&mut self, member: usize) {
        self.stop(member);
    }

    fn parameters(&mut self, member: usize) -> Result<Parameters> {
        block(live(self, member)?.parameters())
    }

    fn snapshot(&mut self, member: usize) -> Result<(Parameters, EngineState)> {
        block(live(self, member)?.snapshot())
    }

    fn restore(&mut self, member: usize, parameters: &Parameters, state: &EngineState) -> Result<()> {
        live(self, member)?.restore(parameters, state)
    }

    fn evaluate(
        &mut self,
        member: usize,
        several: bool,
        rows: &Rows<'_>,
    ) -> Result<Vec<(usize, Evaluation)>> {
        let engine = live(self, member)?;
        if !several {
            return Ok(vec![(member, block(engine.evaluate(rows))?)]);
        }
        Ok(numbered(self.evaluate(rows)))
    }

    fn outputs(&mut self, member: usize, several: bool, rows: &Rows<'_>) -> Result<Vec<(usize, Vec<f32>)>> {
        let engine = live(self, member)?;
        if !several {
            return Ok(vec![(member, block(engine.outputs(rows))?)]);
        }
        Ok(numbered(self.outputs(rows)))
    }

    fn description(&self, _: usize) -> Description {
        self.description()
    }

    fn ceilings(&mut self) -> Result<Ceilings> {
        Ok(CpuTeam::ceilings(self))
    }
}

/// Returns the existing values with their indices.
fn numbered<T>(made: Vec<Option<T>>) -> Vec<(usize, T)> {
    made.into_iter().enumerate().filter_map(|(number, made)| Some((number, made?))).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::path::Path;

    use super::*;
    use crate::data::{ReadOptions, Reader};
    use crate::step::OptimizerKind;
    use crate::sweep::{Member, Sources};
    use crate::train::Config;

    fn jobs(change: impl Fn(usize, &mut Config)) -> Vec<Job> {
        let text = "a,b,class\n".to_owned() + &"1,2,x\n3,4,y\n".repeat(20);
        let reader = Reader::from_csv(Path::new("t.csv"), Cursor::new(text), &ReadOptions::default());
        let mut sources = Sources::new(reader.unwrap(), None, None);
        let mut job = |index: usize| {
            let mut config = Config { hidden: vec![8], epochs: 2, batch_size: 4, ..Config::default() };
            change(index, &mut config);
            let member = Member {
                number: index,
                data: vec![sources.data(&config, None).unwrap()],
                config,
                is_tested: false,
            };
            Job { index, fold: 0, cost: member.cost(0), member, until: 2, run: None }
        };
        (0..20).map(&mut job).collect()
    }

    fn sizes(jobs: Vec<Job>, threads: usize, left: Option<Duration>) -> Vec<usize> {
        teams(jobs, threads, left).iter().map(Vec::len).collect()
    }

    #[test]
    fn members_with_the_same_batches_are_teams_that_leave_no_thread_idle() {
        assert_eq!(sizes(jobs(|_, _| ()), 1, None), [10, 10]);
        assert_eq!(sizes(jobs(|_, _| ()), 2, None), [10, 10]);
        assert_eq!(sizes(jobs(|_, _| ()), 3, None), [7, 7, 6]);
        assert_eq!(sizes(jobs(|_, _| ()), 32, None), [1; 20]);
        // Rows in another order, other batches, and lists in another form.
        let other = |index: usize, config: &mut Config| match index {
            0..4 => config.seed = 7,
            4..8 => config.batch_size = 5,
            8..12 => config.hidden = vec![100],
            _ => config.learning_rate = 0.5,
        };
        let mut found = sizes(jobs(other), 1, None);
        found.sort_unstable();
        assert_eq!(found, [4, 4, 4, 8]);
    }

    #[test]
    fn members_that_would_cost_others_are_trained_by_themselves() {
        let apart = |index: usize, config: &mut Config| match index {
            0 => config.max_time = Some(Duration::from_secs(9)),
            1 => (config.hidden, config.optimizer) = (vec![400, 400], OptimizerKind::Adam.defaults()),
            _ => (),
        };
        let mut found = teams(jobs(apart), 1, None);
        assert!(found[0].len() == 1 && found[0][0].index == 1, "the longest is first");
        found.sort_by_key(Vec::len);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 9, 9]);
        // The cost of a job is 40 rows by 42 parameters by the epochs; 9e8 epochs take 302 seconds at 5e9
        // per second.
        assert_eq!(sizes(jobs(|_, config| config.epochs = 900_000_000), 1, None), [1; 20]);
        let left = Some(Duration::from_secs(16));
        assert_eq!(sizes(jobs(|_, config| config.epochs = 1_000_000), 1, left), [3, 3, 3, 3, 3, 3, 2]);
        assert_eq!(sizes(jobs(|_, _| ()), 1, Some(Duration::ZERO)), [1; 20]);
    }

    /// Members are distributed by cost, so that the longest are not in one team.
    #[test]
    fn teams_cost_nearly_the_same() {
        let mut all = jobs(|index, config| config.epochs = 100 - 5 * index);
        all.sort_by(|a, b| b.cost.total_cmp(&a.cost));
        let found = teams(all, 2, None);
        let costs: Vec<f64> = found.iter().map(|team| team.iter().map(|job| job.cost).sum()).collect();
        assert!(costs.len() == 2 && costs[0] < 1.11 * costs[1], "{costs:?}");
    }
}
