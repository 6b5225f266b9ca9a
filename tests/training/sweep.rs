//! The members of a sweep: each compared with a run of the reference, on every device.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use ndarray::Array2;
use tinytrain::Error;
use tinytrain::data::{Features, ReadOptions, Reader, Scale, Split, TargetsRef, rows_at};
use tinytrain::engine::{Device, GpuPack, PackMember};
use tinytrain::gpu::{Context, DeviceOptions};
use tinytrain::model::Parameters;
use tinytrain::random::{Purpose, normal};
use tinytrain::reference::{ReferenceNetwork, ReferenceRun, ReferenceTargets};
use tinytrain::schedule::ScheduleKind;
use tinytrain::settings::{DatasetInfo, List, TrainSettings};
use tinytrain::step::{Activation, OptimizerKind, RateSchedule};
use tinytrain::sweep::{
    Event, FinishedMember, Halving, Member, Plan, Sources, Sweep, TrialPlanner, TrialStatus, can_be_packed,
    refit,
};
use tinytrain::train::{Config, DataOptions, Epoch, Keep, Metric, Run, TrainingData};

use crate::support::devices;

/// Not a whole number of batches.
const ROWS: usize = 315;
const BATCH: usize = 16;
const INPUTS: usize = 13;
const CLASSES: usize = 5;

fn sources() -> Sources {
    let number = |row: usize, column: usize| normal(3, Purpose::Weights, [row as u32, column as u32]);
    let mut text = (0..INPUTS).map(|column| format!("x{column},")).collect::<String>() + "class\n";
    for row in 0..ROWS {
        (0..INPUTS).for_each(|column| text += &format!("{:.4},", number(row, column)));
        text += &format!("c{}\n", row * 7 / 3 % CLASSES);
    }
    let reader = Reader::from_csv(Path::new("t.csv"), Cursor::new(text), &ReadOptions::default());
    Sources::new(reader.unwrap(), None, None)
}

/// Returns members that differ in widths, depth, learning rate, activation, dropout, smoothing, decay,
/// optimizer and seed.
fn mixed() -> Vec<Config> {
    const HIDDEN: [&[usize]; 8] = [&[1], &[3], &[17, 3], &[63], &[65, 17], &[], &[8, 8, 8], &[31]];
    let config = |number: usize| {
        let kind = OptimizerKind::ALL[number % OptimizerKind::ALL.len()];
        let mut optimizer = kind.defaults();
        optimizer.weight_decay = if number.is_multiple_of(3) { 0.01 } else { 0.0 };
        Config {
            hidden: HIDDEN[number % HIDDEN.len()].to_vec(),
            epochs: 1,
            batch_size: BATCH,
            activation: vec![Activation::ALL[number % Activation::ALL.len()]],
            dropout: vec![if number % 4 == 1 { 0.25 } else { 0.0 }],
            label_smoothing: if number % 4 == 2 { 0.1 } else { 0.0 },
            clip_norm: Some(0.5).filter(|_| number % 5 == 4),
            rate_schedule: if number.is_multiple_of(2) {
                RateSchedule::Constant
            } else {
                RateSchedule::Cosine
            },
            optimizer,
            learning_rate: kind.default_rate(),
            init_seed: Some(100 + number as u64),
            data: DataOptions { scale: Scale::None, ..DataOptions::default() },
            ..Config::default()
        }
    };
    (0..16).map(config).collect()
}

fn members(sources: &mut Sources, configs: Vec<Config>) -> Vec<Member> {
    let member = |(number, config): (usize, Config)| {
        let data = vec![sources.data(&config, None).unwrap()];
        Member { number, config, data, is_tested: false }
    };
    configs.into_iter().enumerate().map(member).collect()
}

fn plan(device: &Device) -> Plan {
    Plan { device: device.clone(), threads: None, halving: None, first_stage: 0, deadline: None }
}

fn swept(members: Vec<Member>, device: &Device, threads: usize) -> Vec<FinishedMember> {
    swept_by(members, Plan { threads: Some(threads), ..plan(device) })
}

fn swept_by(members: Vec<Member>, plan: Plan) -> Vec<FinishedMember> {
    let mut sweep = Sweep::new(members, plan);
    let mut all = Vec::new();
    while let Some(event) = sweep.next().unwrap() {
        if let Event::FinishedMember(ended) = event {
            all.push(*ended);
        }
    }
    all.sort_by_key(|ended| ended.member);
    all
}

/// Returns the parameters of a member after its epoch, in f64, and before it.
fn reference(config: &Config, data: &TrainingData) -> [ReferenceNetwork; 2] {
    let network = config.network_for(data, BATCH).unwrap();
    let rule = config.training_options(&network, BATCH, data.rows(), false).rule;
    let first = Parameters::initial(&network, config.init, config.initial_seed());
    let mut run = ReferenceRun::new(ReferenceNetwork::new(&network, &first), rule);
    let before = run.network.clone();
    let rows = data.view();
    let (Features::Floats(values), TargetsRef::Classes(labels)) = (rows.features, rows.targets) else {
        panic!("numbers and classes");
    };
    // If all rows are read before the first epoch, it has the order of a later one.
    let order = rows_at(config.seed, 1 + usize::from(data.is_fully_read()), ROWS, 0..ROWS);
    for (step, batch) in (0..).zip(order.chunks(BATCH)) {
        let row = |row: &u32| values[*row as usize * INPUTS..][..INPUTS].iter().copied().map(f64::from);
        let x = Array2::from_shape_vec((batch.len(), INPUTS), batch.iter().flat_map(row).collect()).unwrap();
        let classes: Vec<usize> = batch.iter().map(|row| labels[*row as usize] as usize).collect();
        run.step(x.view(), ReferenceTargets::classes(&classes), step);
    }
    [run.network, before]
}

fn flat(network: &ReferenceNetwork) -> Vec<f64> {
    network.weights.iter().zip(&network.biases).flat_map(|(w, b)| w.iter().chain(b)).copied().collect()
}

/// Twenty steps, the last with fewer rows: parameters are off by less than a thousandth of the largest
/// change.
#[test]
fn every_member_of_a_mixed_sweep_is_the_reference() {
    let mut sources = sources();
    let all = members(&mut sources, mixed());
    let wanted: Vec<[ReferenceNetwork; 2]> =
        all.iter().map(|member| reference(&member.config, member.data[0].training())).collect();
    for (place, device) in devices().iter().enumerate() {
        // Adapters open a device for each member, so each adapter has only a few members.
        let is_mine = |member: &&Member| place == 0 || (3 * member.number + place).is_multiple_of(8);
        let mine: Vec<Member> = all.iter().filter(is_mine).cloned().collect();
        let count = mine.len();
        let ended = swept(mine, device, 3);
        assert_eq!(ended.len(), count);
        for FinishedMember { member, status, runs, .. } in ended {
            assert_eq!((&status, runs.len()), (&TrialStatus::Done, 1), "member {member}");
            let [after, before] = &wanted[member];
            let (after, before) = (flat(after), flat(before));
            let moved = after.iter().zip(&before).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
            let got: Vec<f64> = runs[0].model.parameters.numbers().map(f64::from).collect();
            assert_eq!(got.len(), after.len());
            for (number, (got, want)) in got.iter().zip(&after).enumerate() {
                // Written so that NaN fails.
                let is_near = (got - want).abs() <= 1e-3 * moved;
                assert!(
                    is_near,
                    "member {member} on {device:?}, number {number}: {got}, not {want}, moved {moved:.1e}"
                );
            }
        }
    }
}

/// A diverging member ends without effect on others, a single member trains as it does among others, and no
/// members give no results.
#[test]
fn dead_members_and_few_members_change_nothing_for_the_others() {
    let mut sources = sources();
    let mut configs = mixed();
    configs.truncate(4);
    let sound = swept(members(&mut sources, configs.clone()), &Device::Cpu, 2);
    configs[1].learning_rate = 1e30;
    let wounded = swept(members(&mut sources, configs.clone()), &Device::Cpu, 2);
    for (sound, wounded) in sound.iter().zip(&wounded) {
        if sound.member == 1 {
            assert!(
                matches!(&wounded.status, TrialStatus::Failed(reason) if reason.contains("loss became")),
                "{wounded:?}"
            );
        } else {
            assert_eq!(sound.runs[0].model.parameters, wounded.runs[0].model.parameters);
        }
    }
    let alone = swept(members(&mut sources, configs[..1].to_vec()), &Device::Cpu, 3);
    assert_eq!(alone[0].runs[0].model.parameters, sound[0].runs[0].model.parameters);
    assert_eq!(swept(Vec::new(), &Device::Cpu, 2).len(), 0);
}

/// On the CPU a thread trains members with the same batches together. Some end early, wait for the others of
/// a stage, are dropped or diverge; their results equal separate training.
#[test]
fn members_of_a_team_equal_separate_training() {
    let mut sources = sources();
    let mut configs = mixed();
    for (number, config) in configs.iter_mut().enumerate() {
        config.epochs = 4 + number % 3;
        config.data.split = Split { validation: 0.2, test: 0.1, ..Split::default() };
        config.patience = Some(1).filter(|_| number % 4 == 1);
        config.metric = Some(Metric::Auc).filter(|_| number % 2 == 0);
        // It is found at the end of a member, and of a run alone in its summary.
        config.temperature = false;
        config.keep = Some(Keep::Last).filter(|_| number % 3 == 0);
    }
    configs[6].learning_rate = 1e30;
    configs[7].batch_size = BATCH + 1;
    let all = members(&mut sources, configs);
    let alone = |member: &Member| {
        let config = Config { threads: Some(1), ..member.config.clone() };
        let mut run = Run::shared(config, Arc::clone(&member.data[0]), Device::Cpu).unwrap();
        while run.next().is_ok_and(|event| event.is_some()) {}
        run
    };
    let runs: Vec<Run> = all.iter().map(alone).collect();
    let figures = |epochs: &[Epoch]| -> Vec<_> {
        let figures = |epoch: &Epoch| (epoch.train.clone(), epoch.validation.clone(), epoch.test.clone());
        epochs.iter().map(figures).collect()
    };
    for (threads, halving) in [(1, None), (2, None), (3, Some(Halving::new(2, 2)))] {
        let plan = Plan { halving, threads: Some(threads), ..plan(&Device::Cpu) };
        let ended = swept_by(all.clone(), plan);
        assert_eq!(ended.len(), all.len());
        for (FinishedMember { member, status, runs: trained, .. }, run) in ended.iter().zip(&runs) {
            if *member == 6 {
                assert!(
                    matches!(status, TrialStatus::Failed(reason) if reason.contains("loss became")),
                    "{status:?}"
                );
                continue;
            }
            let (trained, epochs) = (&trained[0], trained[0].epochs.len());
            match status {
                TrialStatus::Done => assert_eq!(epochs, run.epochs().len()),
                TrialStatus::Dropped(at) => assert!(*at == epochs && halving.is_some()),
                _ => panic!("member {member}: {status:?}"),
            }
            assert_eq!(figures(&trained.epochs), figures(&run.epochs()[..epochs]), "member {member}");
            if *status == TrialStatus::Done {
                let (kept, model) = run.kept().unwrap();
                assert_eq!((trained.kept, &trained.model.parameters), (kept, &model.parameters));
            }
        }
        let dropped = ended.iter().filter(|ended| matches!(ended.status, TrialStatus::Dropped(_))).count();
        assert_eq!(dropped > 0, halving.is_some());
    }
    assert!(runs.iter().enumerate().any(|(number, run)| run.epochs().len() < 4 && number != 6), "patience");
}

/// Eight members fit on a device, but not with their rows and activations: a pack of them is rejected before
/// training, and smaller packs give the same results as on a larger device.
#[test]
fn packs_too_large_for_the_device_are_split() {
    let mut sources = sources();
    let config = |number: usize| Config {
        hidden: vec![2000],
        // Activations take most of a member's memory.
        batch_size: 256,
        learning_rate: 0.01 * (1 + number) as f32,
        schedule: Some(ScheduleKind::Fused),
        ..mixed().remove(5)
    };
    let all = members(&mut sources, (0..8).map(config).collect());
    let data = Arc::clone(&all[0].data[0]);
    let mut tried = 0;
    for device in devices() {
        let Device::Gpu(adapter) = &device else { continue };
        let context = Context::open(adapter).unwrap();
        if context.device.generate_allocator_report().is_none() {
            continue;
        }
        tried += 1;
        let planned = |member: &Member| {
            let (network, options) = member.config.plan(data.training(), &device).unwrap();
            (member.config.initial_parameters(&network), network, options)
        };
        let planned: Vec<_> = all.iter().map(planned).collect();
        let pack: Vec<PackMember<'_>> = planned
            .iter()
            .map(|(parameters, network, options)| PackMember { network, parameters, options })
            .collect();
        let own = GpuPack::member_bytes(&planned[0].1, &planned[0].2);
        let small =
            adapter.clone().with_options(DeviceOptions { room: Some(5 * own), ..DeviceOptions::default() });
        let refused = GpuPack::new(&small, &pack).unwrap().upload(&data.training().view());
        assert!(matches!(refused, Err(Error::Gpu(_))), "{refused:?}");
        let wanted = swept(all.clone(), &device, 1);
        let ended = swept(all.clone(), &Device::Gpu(Box::new(small)), 1);
        assert_eq!(ended.len(), all.len());
        for (wanted, ended) in wanted.iter().zip(&ended) {
            assert_eq!(
                (&wanted.status, &ended.status),
                (&TrialStatus::Done, &TrialStatus::Done),
                "member {}",
                ended.member
            );
            assert_eq!(wanted.runs[0].model.parameters, ended.runs[0].model.parameters);
        }
    }
    assert!(tried > 0, "no driver of this machine tells what buffers take");
}

/// On a GPU members with the schedule `fused` are a pack: of two shapes, one with clipped gradients, and one
/// member that diverges.
#[test]
fn members_that_share_fused_dispatches_equal_separate_training() {
    let mut sources = sources();
    let mut configs: Vec<Config> = mixed().into_iter().cycle().skip(3).take(7).collect();
    for (number, config) in configs.iter_mut().enumerate() {
        let shape = number % 2;
        config.hidden = [vec![65, 17], vec![33]][shape].clone();
        config.activation = vec![[Activation::Tanh, Activation::Gelu][shape]];
        config.optimizer = OptimizerKind::Adam.defaults();
        config.learning_rate = 1e-3 * (1 + number) as f32;
        config.dropout = vec![0.1 * number as f32 * shape as f32];
        config.clip_norm = Some(0.5).filter(|_| shape == 0);
        config.schedule = Some(ScheduleKind::Fused);
        config.epochs = 2;
    }
    configs[4].learning_rate = 1e38;
    let all = members(&mut sources, configs);
    for device in devices().iter().filter(|device| matches!(device, Device::Gpu(_))) {
        let Device::Gpu(adapter) = device else { unreachable!() };
        assert!(all.iter().all(|member| can_be_packed(member, adapter)));
        let ended = swept(all.clone(), device, 1);
        assert_eq!(ended.len(), all.len());
        for (FinishedMember { status, runs, .. }, member) in ended.iter().zip(&all) {
            if member.number == 4 {
                assert!(
                    matches!(status, TrialStatus::Failed(reason) if reason.contains("loss became")),
                    "{status:?}"
                );
                continue;
            }
            assert_eq!(status, &TrialStatus::Done, "member {}", member.number);
            let mut run =
                Run::shared(member.config.clone(), Arc::clone(&member.data[0]), device.clone()).unwrap();
            while run.next().unwrap().is_some() {}
            let (_, alone) = run.kept().unwrap();
            assert_eq!(runs[0].model.parameters, alone.parameters, "member {} on {device:?}", member.number);
            let losses = |epochs: &[Epoch]| epochs.iter().map(|epoch| epoch.train.loss).collect::<Vec<_>>();
            assert_eq!(losses(&runs[0].epochs), losses(run.epochs()));
        }
    }
}

/// The steps of `tinytrain sweep --folds`, through the library.
#[test]
fn planned_members_train_on_folds_and_once_more_on_all_rows() {
    let base = TrainSettings { epochs: Some(1), hidden: Some(List(vec![3])), ..TrainSettings::default() };
    let planning = TrialPlanner { base: &base, info: DatasetInfo::default(), origin: "here", seeds: 1 };
    let own = |rate: f64| [("lr".to_owned(), rate.into())].into();
    let planned = planning.plan(&[own(0.01), own(0.5)]).unwrap();
    let mut sources = sources();
    let members = sources.members(&planned, Some(3)).unwrap();
    assert_eq!(members.iter().map(|member| member.data.len()).collect::<Vec<_>>(), [3, 3]);
    assert_eq!(members[1].config.learning_rate, 0.5);
    let ended = swept(members.clone(), &Device::Cpu, 2);
    assert!(
        ended.iter().all(|ended| ended.status == TrialStatus::Done && ended.score(true).is_some()),
        "{ended:?}"
    );
    let mut told = Vec::new();
    let on_progress = &mut |done, of| {
        told.push((done, of));
        Ok(())
    };
    let second = members.iter().filter(|member| member.number == 1);
    let refit = refit(second, &mut sources, &Device::Cpu, Some(1), on_progress).unwrap();
    assert!(refit.failed.is_empty() && told.contains(&(0, 1)), "{told:?}");
    let (number, model) = refit.models.first_key_value().unwrap();
    assert_eq!((*number, refit.models.len(), model.network.sizes()), (1, 1, vec![INPUTS, 3, CLASSES]));
    let stopped = tinytrain::sweep::refit(members.iter(), &mut sources, &Device::Cpu, None, &mut |_, _| {
        Err(Error::Interrupted)
    });
    assert!(matches!(stopped, Err(Error::Interrupted)));
}
