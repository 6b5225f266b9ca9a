//! The cases of the GPU puzzles (`tests/cases/README.md`), 7 to 14, whose results are small integers and
//! therefore exact.

use ndarray::Array2;
use serde_json::Value;
use tinytrain::kernels::{
    Axis, Compute, Epilogue, Grid, MatmulTile, Mode, Reduction, Tuning, Window, Zip, block_sums, convolve,
    dot, matmul, naive_matmul, pool, reduce_axis, zip,
};

use crate::lab::labs;

/// One case of the file.
struct Case {
    puzzle: u64,
    number: u64,
    threads: [usize; 2],
    inputs: Value,
    shape: Option<[usize; 2]>,
    expected: Vec<f32>,
}

fn floats(value: &Value) -> Vec<f32> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number") as f32).collect()
}

fn pair(value: &Value) -> [usize; 2] {
    [0, 1].map(|i| value[i].as_u64().expect("a size") as usize)
}

fn cases() -> Vec<Case> {
    let file: Value =
        serde_json::from_str(include_str!("../cases/gpu_puzzles.json")).expect("the file is JSON");
    let case = |value: &Value| Case {
        puzzle: value["puzzle"].as_u64().expect("a puzzle has a number"),
        number: value["case"].as_u64().expect("a case has a number"),
        threads: pair(&value["workgroup_size"]),
        inputs: value["inputs"].clone(),
        shape: value.get("shape").map(pair),
        expected: floats(&value["expected"]),
    };
    file.as_array().expect("a list of cases").iter().map(case).collect()
}

impl Case {
    fn input(&self, name: &str) -> Vec<f32> {
        floats(&self.inputs[name])
    }

    /// Returns an input as a matrix: of the shape that the case states, or otherwise square.
    fn matrix(&self, name: &str) -> Array2<f32> {
        let values = self.input(name);
        let shape = self.shape.unwrap_or([values.len().isqrt(); 2]);
        Array2::from_shape_vec(shape, values).expect("the case states its shape")
    }

    /// Returns the tunings of the case: the shipped ones, and tunings whose workgroups have the threads of
    /// the puzzle.
    fn tunings(&self) -> Vec<Tuning> {
        let [across, down] = self.threads;
        // A thread of the product kernels computes 4 x 4 elements or more.
        let products = [
            MatmulTile::Tiled { across, down, inner: across, split: 1 },
            MatmulTile::Direct { across, down },
        ];
        let of_the_puzzle = products.map(|product| Tuning {
            product,
            workgroup: across * down,
            plane: [across, down],
            team: across * down,
            ..Tuning::GPU
        });
        Tuning::ALL.into_iter().chain(of_the_puzzle).collect()
    }

    /// Returns the results of our kernels, in every form possible for the puzzle.
    fn results(&self, compute: &Compute) -> Vec<Vec<f32>> {
        let vector = |name| compute.vector(&self.input(name)).unwrap();
        let matrix = |name| compute.matrix(&self.matrix(name)).unwrap();
        let line = |vector: tinytrain::kernels::Vector| vector.read(compute).unwrap();
        let plane =
            |matrix: tinytrain::kernels::Matrix| matrix.read(compute).unwrap().into_raw_vec_and_offset().0;
        match self.puzzle {
            7 | 8 => {
                let tens = compute.vector(&vec![10.0f32; self.expected.len()]).unwrap();
                let mut results = vec![line(zip(compute, Zip::Add, &vector("a"), &tens).unwrap())];
                if self.puzzle == 7 {
                    let tens = compute.matrix(&self.matrix("a").mapv(|_| 10.0)).unwrap();
                    results.push(plane(zip(compute, Zip::Add, &matrix("a"), &tens).unwrap()));
                }
                results
            }
            9 => vec![line(pool(compute, &vector("a"), Window::Sum, 3).unwrap())],
            10 => vec![vec![dot(compute, &vector("a"), &vector("b")).unwrap()]],
            11 => vec![line(convolve(compute, &vector("a"), &vector("b"), Mode::Tail).unwrap())],
            12 => vec![line(block_sums(compute, 8, &vector("a")).unwrap())],
            13 => vec![line(reduce_axis(compute, Reduction::Sum, Axis::Rows, &matrix("a")).unwrap())],
            14 => {
                let (a, b) = (matrix("a"), matrix("b"));
                let naive = |grid| plane(naive_matmul(compute, grid, &a, &b).unwrap());
                let product = matmul(compute, (&a).into(), (&b).into(), Epilogue::default()).unwrap();
                vec![plane(product), naive(Grid::Line), naive(Grid::Plane)]
            }
            other => panic!("no kernel is known for puzzle {other}"),
        }
    }
}

#[test]
fn every_case_gives_exactly_the_expected_result() {
    for case in cases() {
        for lab in labs() {
            let _turn = lab.turn();
            for tuning in case.tunings().iter().filter(|tuning| tuning.runs_on(&lab.context)) {
                for result in case.results(&lab.compute(tuning)) {
                    let (name, puzzle, number) = (&lab.context.name, case.puzzle, case.number);
                    assert_eq!(result, case.expected, "puzzle {puzzle}, case {number} on {name}, {tuning:?}");
                }
            }
        }
    }
}

#[test]
fn the_file_has_every_case() {
    let all = cases();
    let counts: Vec<usize> =
        (7..=14).map(|puzzle| all.iter().filter(|case| case.puzzle == puzzle).count()).collect();
    assert_eq!(counts, [2, 2, 2, 2, 2, 2, 2, 5]);
    assert_eq!(all.len(), counts.iter().sum::<usize>(), "a case of a puzzle that is not tested");
}
