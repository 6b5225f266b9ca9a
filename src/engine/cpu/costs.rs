//! Costs of the phases of a step.

use super::plan::{Phase, Plan};
use crate::data::{Features, Rows};
use crate::engine::{EngineOptions, Member};
use crate::model::Network;

/// The work of a step and its costs.
pub struct Costs {
    /// Gathering the inputs of a batch.
    pub gather: Member,
    /// The phases of a step.
    pub step: Vec<Member>,
}

/// Returns the costs of a step with batches of `batch` rows; `taken` is the share of the inputs that are used
/// if zeros are skipped. Each tensor counts as read or written once. B is the number of rows, I and O are the
/// inputs and outputs of the first layer, Z the number of its B I inputs that are multiplied (all, or with
/// skipped zeros those in groups that are not all 0), X their bytes (4 Z, or 5 Z with the lists), i and o the
/// inputs and outputs of each layer above, C the number of classes, P the number of weights, S the
/// optimizer's state numbers per parameter and F its FLOP per parameter (other than plain gradient descent):
///
/// | phase | bytes | FLOP |
/// |---|---|---|
/// | gather | Z inputs as stored, and X | Z |
/// | first_layer | X + 4 I O + 4 B O | 2 Z O |
/// | rows, over the layers above the second | sum of 8 i o + 8 B (i + o), and 8 B C | sum of 4 B i o, and 5 B C for the loss |
/// | forward, of one layer | 4 i o + 4 B (i + o) | 2 B i o |
/// | loss | 8 B C | 5 B C |
/// | backward, of one layer | 4 i o + 4 B (i + o) | 2 B i o |
/// | update | X + 4 B O + 8 I O, sum of 8 i o + 4 B (i + o) | 2 Z O, sum of 2 B i o |
/// | update with an optimizer | 8 (S + 1) P more | F P more |
/// | gradient, with clipping | X + 4 B O + 8 I O, sum of 8 i o + 4 B (i + o) | 2 Z O, sum of 2 B i o, and 2 P |
/// | update after it | (16 + 8 S) P | (F + 1) P |
///
/// An input layer counts as the first layer, with the weights and the FLOP of its columns.
pub fn costs(
    plan: Plan,
    phases: &[Phase],
    network: &Network,
    options: &EngineOptions,
    rows: &Rows<'_>,
    taken: Option<f64>,
) -> Costs {
    let EngineOptions { batch, ref rule, .. } = *options;
    let before = network.input_layer().map(|_| network.columns());
    let sizes: Vec<usize> = before.into_iter().chain(network.sizes()).collect();
    let (inputs, outputs, classes) = (sizes[0], sizes[1], sizes[sizes.len() - 1]);
    let stored = match rows.features {
        Features::Bytes(_) => 1,
        Features::Floats(_) => 4,
    };
    let all = batch * inputs;
    let used = taken.map_or(all, |share| (all as f64 * share) as usize);
    // Each group is stored with its row number.
    let x = 4 * used + if taken.is_some() { used } else { 0 };
    let above: Vec<_> = sizes[1..].windows(2).map(|pair| (pair[0], pair[1])).collect();
    let products: usize = above.iter().map(|(i, o)| i * o).sum();
    let between: usize = above.iter().map(|(i, o)| batch * (i + o)).sum();
    let member = |kernel: &str, shape: String, bytes: usize, flop: usize| Member {
        kernel: kernel.to_owned(),
        fused: Vec::new(),
        shape: format!("{batch} x {shape}"),
        workgroups: plan.parts() as u64,
        bytes: bytes as u64,
        flop: flop as u64,
    };
    let layer = |kernel, (i, o): (usize, usize)| {
        let bytes = 4 * i * o + 4 * batch * (i + o);
        member(kernel, format!("{i} x {o}"), bytes, 2 * batch * i * o)
    };
    let loss = 5 * batch * classes;
    let (kind, clips) = (rule.optimizer.kind, rule.clip_norm.is_some());
    // Weights of the first layer, and its FLOP forward and for the gradient.
    let (of_first, [forward, backward]) = match network.input_layer() {
        None => (inputs * outputs, [2 * used * outputs; 2]),
        Some(layer) => {
            let flop = layer.columns().iter().map(|column| column.flop(layer.is_scaled()));
            let flop = flop.fold([0; 2], |sum, flop| [sum[0] + flop[0], sum[1] + flop[1]]);
            (4 * layer.weights() + layer.scales(), flop.map(|flop| batch * flop))
        }
    };
    let weights = of_first + products;
    let gradient_bytes = x + 4 * batch * outputs + 8 * weights + 4 * between;
    let gradient_flop = backward + 2 * batch * products;
    let gather = || member("gather", inputs.to_string(), stored * used + x, used);
    let phase = |phase: &Phase| match phase {
        Phase::Gather => gather(),
        Phase::FirstLayer => member(
            "first_layer",
            format!("{inputs} x {outputs}"),
            x + 4 * of_first + 4 * batch * outputs,
            forward,
        ),
        Phase::Rows => {
            let unpaired = above.get(1..).unwrap_or_default();
            let layers = sizes[sizes.len().min(2)..].iter().map(usize::to_string).collect::<Vec<_>>();
            let products: usize = unpaired.iter().map(|(i, o)| i * o).sum();
            let between: usize = unpaired.iter().map(|(i, o)| batch * (i + o)).sum();
            let layers = if layers.is_empty() { classes.to_string() } else { layers.join("-") };
            member("rows", layers, 8 * (products + between + batch * classes), 4 * batch * products + loss)
        }
        Phase::Forward(index) => layer("forward", above[*index]),
        Phase::Loss => member("loss", classes.to_string(), 8 * batch * classes, loss),
        Phase::Backward(index) => layer("backward", (above[*index].1, above[*index].0)),
        Phase::Gradient => {
            member("gradient", network.to_string(), gradient_bytes, gradient_flop + 2 * weights)
        }
        Phase::Update if clips => {
            let bytes = (16 + 8 * kind.states()) * weights;
            member("update", network.to_string(), bytes, (kind.flop() + 1) * weights)
        }
        Phase::Update => {
            let (bytes, flop) =
                if rule.is_plain_sgd() { (0, 0) } else { (8 * (kind.states() + 1) * weights, kind.flop()) };
            let (bytes, flop) = (gradient_bytes + bytes, gradient_flop + flop * weights);
            member("update", network.to_string(), bytes, flop)
        }
    };
    Costs { step: phases.iter().map(phase).collect(), gather: gather() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::model::{InputColumn, InputLayer};
    use crate::step::{OptimizerKind, UpdateRule};

    #[test]
    fn costs_are_those_of_the_formulas() {
        let network = Network::classifier(&[8, 4, 3, 2]).unwrap();
        let features = Features::Bytes([1, 0, 0, 2, 0, 0, 0, 0].repeat(10));
        let data = Dataset { inputs: 8, features, targets: (vec![0; 10]).into(), weights: Vec::new() };
        let mut options = EngineOptions::sgd(10, 0.1);
        let costs_of = |options: &EngineOptions, sparse: bool, plan: Plan| {
            let phases = plan.regions(2, options.rule.clip_norm.is_some()).concat();
            let taken = sparse.then_some(0.5);
            let Costs { gather, step } = costs(plan, &phases, &network, options, &data.view(), taken);
            assert_eq!(step.len(), phases.len());
            // If a step has gather phases, they cost the same as the first gather.
            assert!(phases.iter().zip(&step).all(|(phase, it)| *phase != Phase::Gather || *it == gather));
            step.iter().map(|phase| (phase.bytes, phase.flop)).collect::<Vec<_>>()
        };
        let figures = |sparse, plan| costs_of(&options, sparse, plan);
        // B I = 80, half of them in groups that are used; B O = 40; products 4*3 + 3*2 = 18; B (i + o) = 70 +
        // 50.
        let (large, small, loss) = ((48 + 280, 240), (24 + 200, 120), (160, 100));
        let (rows, gather, first) = ((48 + 400 + 160, 240 + 100), (80 + 320, 80), (320 + 128 + 160, 640));
        let update = (320 + 160 + 256 + 144 + 480, 640 + 360);
        let dense = [first, large, rows, gather, large, update];
        assert_eq!(figures(false, Plan::Rows(2)), dense);
        assert_eq!(figures(false, Plan::Apart), dense);
        let (gather_lists, first_lists) = ((40 + 200, 40), (200 + 128 + 160, 320));
        let lists = (200 + 160 + 256 + 144 + 480, 320 + 360);
        assert_eq!(figures(true, Plan::Rows(2)), [first_lists, large, rows, gather_lists, large, lists]);
        let wide = [first, large, small, loss, gather, small, large, update];
        assert_eq!(figures(false, Plan::Columns(2)), wide);
        // P = 32 + 18 weights.
        let kind = OptimizerKind::Adam;
        options.rule.optimizer = kind.defaults();
        let with_adam = costs_of(&options, false, Plan::Rows(2));
        let (bytes, flop) = update;
        assert_eq!(with_adam[..5], dense[..5]);
        assert_eq!(with_adam[5], (bytes + 24 * 50, flop + kind.flop() as u64 * 50));
        options.rule.clip_norm = Some(1.0);
        let clipped = costs_of(&options, false, Plan::Rows(2));
        assert_eq!(clipped[5], (bytes, flop + 2 * 50));
        assert_eq!(clipped[6], (32 * 50, (kind.flop() as u64 + 1) * 50));
    }

    #[test]
    fn an_input_layer_costs_what_its_columns_do() {
        let columns = vec![InputColumn::Periodic, InputColumn::Embedding { categories: 3, size: 2 }];
        let layer = InputLayer::new(columns, true).unwrap();
        let network = Network::classifier(&[6, 4, 3]).unwrap().with_input_layer(layer).unwrap();
        let features = Features::Floats(vec![1.0; 20]);
        let data = Dataset { inputs: 2, features, targets: (vec![0; 10]).into(), weights: Vec::new() };
        let (plan, options) = (Plan::Columns(2), EngineOptions::sgd(10, 0.1));
        let phases = plan.regions(2, false).concat();
        let Costs { gather, step } = costs(plan, &phases, &network, &options, &data.view(), None);
        assert_eq!((gather.bytes, gather.flop), (160, 20));
        // 24 vec4s of weights and 6 factors; a row's 16 waves of 22 FLOP forward and 46 back, 6 factors, 2 sums and products.
        let first = &step[0];
        assert_eq!((first.bytes, first.flop), (80 + 4 * 102 + 240, 10 * (6 + 16 * 22)));
        let update = &step[step.len() - 1];
        let products = 6 * 4 + 4 * 3;
        assert_eq!(update.flop, (10 * (16 * 46 + 4) + 2 * 10 * products) as u64);
        assert_eq!(step[1].shape, "10 x 6 x 4");
        let plain = update.bytes;
        let kind = OptimizerKind::Momentum;
        let rule = UpdateRule { optimizer: kind.defaults(), ..UpdateRule::sgd(0.1) };
        let options = EngineOptions { rule, ..options };
        let costs = costs(plan, &phases, &network, &options, &data.view(), None);
        let update = &costs.step[costs.step.len() - 1];
        assert_eq!(update.bytes, plain + (16 * (102 + products)) as u64);
    }
}
