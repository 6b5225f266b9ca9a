use super::*;
use crate::data::columns::labels::Label;

const NAN: f32 = f32::NAN;

fn dictionary(texts: &[&str]) -> Dictionary {
    let labels = texts.iter().map(|text| Label { text: (*text).to_owned(), row: 1 }).collect();
    Dictionary { labels, label_type: None }
}

fn learn(rows: &[f32], width: usize, dictionaries: &[(usize, Dictionary)], scale: Scale) -> Encoding {
    let (categories, dictionaries): (Vec<usize>, Vec<Dictionary>) = dictionaries.iter().cloned().unzip();
    Encoding::learn(&Features::Floats(rows.to_vec()), width, &categories, &dictionaries, scale, None)
}

fn encoded(encoding: &Encoding, rows: &[f32], dictionaries: &[Dictionary]) -> (Vec<f32>, u64) {
    let mut features = Features::Floats(rows.to_vec());
    let unknown = encoding.apply(&mut features, dictionaries, 2).unwrap();
    match features {
        Features::Floats(values) => (values, unknown.count()),
        Features::Bytes(_) => panic!("inputs are floats"),
    }
}

#[test]
fn numbers_and_categories_become_inputs() {
    // Columns: a number with missing values, colours, a number, yes or no, a category with missing cells.
    let colours = dictionary(&["red", "blue", "green"]);
    let answers = dictionary(&["yes", "no"]);
    let sizes = dictionary(&["L", "S"]);
    #[rustfmt::skip]
    let rows = [
        1.0, 1.0, 10.0, 1.0, 0.0,
        NAN, 2.0, 10.0, 2.0, 1.0,
        3.0, 2.0, 10.0, 1.0, 2.0,
        8.0, 3.0, 10.0, 2.0, 2.0,
    ];
    let dictionaries = [(1, colours.clone()), (3, answers.clone()), (4, sizes.clone())];
    let encoding = learn(&rows, 5, &dictionaries, Scale::None);
    assert_eq!((encoding.inputs(), encoding.categories()), (10, vec![1, 3, 4]));
    let (inputs, unknown) = encoded(&encoding, &rows, &[colours, answers, sizes]);
    assert_eq!(unknown, 0);
    // In natural order: blue, green, red; no, yes; L, S, missing. The median of 1, 3, 8 is 3.
    #[rustfmt::skip]
    let expected = [
        1.0, 0.0, 0.0, 0.0, 1.0, 10.0,  1.0, 0.0, 0.0, 1.0,
        3.0, 1.0, 1.0, 0.0, 0.0, 10.0, -1.0, 1.0, 0.0, 0.0,
        3.0, 0.0, 1.0, 0.0, 0.0, 10.0,  1.0, 0.0, 1.0, 0.0,
        8.0, 0.0, 0.0, 1.0, 0.0, 10.0, -1.0, 0.0, 1.0, 0.0,
    ];
    assert_eq!(inputs, expected);
    // Another table numbers its categories differently, holds an unknown one, and misses values elsewhere.
    let other = [dictionary(&["pink", "green"]), dictionary(&["no", "perhaps", "yes"]), dictionary(&["S"])];
    let rows = [2.0, 1.0, NAN, 1.0, 1.0, 5.0, 2.0, 7.0, 2.0, 0.0, 5.0, 0.0, 7.0, 3.0, 0.0];
    let (inputs, unknown) = encoded(&encoding, &rows, &other);
    #[rustfmt::skip]
    let expected = [
        2.0, 0.0, 0.0, 0.0, 0.0, 10.0, -1.0, 0.0, 1.0, 0.0,
        5.0, 0.0, 0.0, 1.0, 0.0,  7.0,  0.0, 0.0, 0.0, 1.0,
        5.0, 0.0, 0.0, 0.0, 0.0,  7.0,  1.0, 0.0, 0.0, 1.0,
    ];
    assert_eq!((inputs, unknown), (expected.to_vec(), 4));
}

#[test]
fn only_categories_of_the_training_rows_are_inputs() {
    let colours = dictionary(&["red", "blue", "green", "pink"]);
    let encoding = learn(&[4.0, 2.0, 4.0], 1, &[(0, colours.clone())], Scale::Auto);
    assert_eq!(encoding.inputs(), 1);
    assert_eq!(encoded(&encoding, &[2.0, 4.0, 1.0, 0.0], &[colours]), (vec![-1.0, 1.0, 0.0, 0.0], 2));
    let nothing = learn(&[0.0, 0.0], 1, &[(0, dictionary(&["a"]))], Scale::Auto);
    assert_eq!(encoded(&nothing, &[1.0, 0.0], &[dictionary(&["a"])]), (vec![0.0, 1.0], 1));
}

#[test]
fn categories_may_stay_numbers() {
    let (colours, answers) = (dictionary(&["red", "blue", "green"]), dictionary(&["yes", "no"]));
    let rows = [1.0, 1.0, 2.0, 2.0, 3.0, 1.0, 0.0, 2.0];
    let dictionaries = [(0, colours.clone()), (1, answers.clone())];
    let mut encoding = learn(&rows, 2, &dictionaries, Scale::Auto);
    encoding.is_numbered = true;
    assert_eq!(encoding.inputs(), 2);
    let (inputs, unknown) = encoded(&encoding, &rows, &[colours, answers.clone()]);
    // blue, green, red, missing; no is -1, yes 1.
    assert_eq!((inputs, unknown), (vec![2.0, 1.0, 0.0, -1.0, 1.0, 1.0, 3.0, -1.0], 0));
    let other = [dictionary(&["pink", "green"]), answers];
    let (inputs, unknown) = encoded(&encoding, &[1.0, 0.0, 2.0, 1.0], &other);
    assert_eq!((inputs, unknown), (vec![-1.0, 0.0, 1.0, 1.0], 2));
}

#[test]
fn clipping_leaves_what_is_near_and_bounds_what_is_far() {
    let rows = [2.0, 1.0, 3.0, 9.0, 5.0];
    let encoding = learn(&rows, 1, &[], Scale::Robust).clipped();
    let (inputs, _) = encoded(&encoding, &[3.0, 3.03, 6.0, -1e30, 1e30], &[]);
    // scikit-learn's RobustScaler, then the formula: 1 / sqrt(1 + 1 / 9).
    for (input, expected) in inputs.iter().zip([0.0, 0.01, 0.948_683_298, -3.0, 3.0]) {
        assert!((f64::from(*input) - expected).abs() <= 1e-7 * expected.abs().max(1.0), "{input}");
    }
    let quantiles = learn(&rows, 1, &[], Scale::Quantile);
    assert_eq!(quantiles.clone().clipped(), quantiles);
    let constant = learn(&[4.0, 4.0], 1, &[], Scale::Robust).clipped();
    assert_eq!(encoded(&constant, &[9.0], &[]).0, [0.0]);
}

#[test]
fn each_scale_is_what_its_formula_says() {
    // Median 3, quartiles 2 and 5, mean 4, variance 40 / 5.
    let rows = [2.0, 1.0, 3.0, 9.0, 5.0];
    let of = |scale| encoded(&learn(&rows, 1, &[], scale), &[3.0, 11.0, NAN], &[]);
    let deviation = 8.0f64.sqrt();
    for (scale, expected) in [
        (Scale::Standard, [-1.0 / deviation, 7.0 / deviation, -1.0 / deviation]),
        (Scale::MinMax, [0.25, 1.25, 0.25]),
        (Scale::Robust, [0.0, 8.0 / 3.0, 0.0]),
        (Scale::None, [3.0, 11.0, 3.0]),
        (Scale::Bytes, [3.0 / 255.0, 11.0 / 255.0, 3.0 / 255.0]),
        // scipy.stats.norm.ppf(1 - 1e-7)
        (Scale::Quantile, [0.0, 5.199337582192817, 0.0]),
    ] {
        let (inputs, unknown) = of(scale);
        for (input, expected) in inputs.iter().zip(expected) {
            assert!((f64::from(*input) - expected).abs() <= 1e-6 * expected.abs(), "{scale:?}: {inputs:?}");
        }
        assert_eq!(unknown, 1);
    }
}

#[test]
fn columns_of_equal_values_are_0_and_so_is_what_replaces_them() {
    for scale in [Scale::Standard, Scale::MinMax, Scale::Robust] {
        let encoding = learn(&[5.5, 5.5, 5.5], 1, &[], scale);
        assert_eq!(encoded(&encoding, &[5.5, 7.0, NAN], &[]).0, [0.0; 3], "{scale:?}");
    }
    // Equal quartiles: half of the range replaces their difference.
    let robust = learn(&[1.0, 1.0, 1.0, 1.0, 1.0, 9.0], 1, &[], Scale::Robust);
    assert_eq!(encoded(&robust, &[1.0, 9.0], &[]).0, [0.0, 2.0]);
    // In a column without values only missing cells are known.
    let missing = encoded(&learn(&[NAN, NAN], 1, &[], Scale::Auto), &[NAN, 3.0], &[]);
    assert_eq!(missing, (vec![0.0, 1.0, 0.0, 0.0], 0));
}

#[test]
fn values_far_from_0_are_found() {
    let coarse = |center: f64, width: f64| {
        let number = |map| ColumnEncoding::Number { map, fill: 0.0, has_indicator: false };
        let columns =
            [NumericScaling::Affine { center: 0.0, width: 1.0 }, NumericScaling::Affine { center, width }];
        Encoding { columns: columns.map(number).to_vec(), is_numbered: false }
            .coarse()
            .next()
            .map(|(column, ..)| column)
    };
    // Seconds since 1970 within minutes; years; a large constant.
    assert_eq!(coarse(1.7e9, 58.0), Some(1));
    assert_eq!(coarse(1.7e9, 1e6), None);
    assert_eq!(coarse(2000.0, 5.0), None);
    assert_eq!(coarse(-3e8, 1.0), Some(1));
    // All values are equal as 32-bit floats.
    assert_eq!((coarse(3e8, 0.0), coarse(5.5, 0.0)), (Some(1), None));
}

#[test]
fn unknown_cells_are_counted_by_kind_and_column() {
    let colours = dictionary(&["a", "b", "c"]);
    // Two columns of numbers, the first of which is scaled with the second, categories, and a single number.
    let rows = [1.0, 5.0, 1.0, 2.0, 2.0, 6.0, 2.0, 4.0, 3.0, 8.0, 3.0, 7.0];
    let encoding = learn(&rows, 4, &[(2, colours)], Scale::Standard);
    let others = dictionary(&["c", "x"]);
    let mut features = Features::Floats(vec![NAN, 5.0, 2.0, NAN, 1.0, 5.0, 0.0, 2.0, NAN, NAN, 1.0, 2.0]);
    let unknown = encoding.apply(&mut features, &[others], 2).unwrap();
    assert_eq!(unknown.columns(UnknownKind::MissingNumber), [(0, 2), (1, 1), (3, 1)]);
    assert_eq!(unknown.columns(UnknownKind::Category), [(2, 1)]);
    assert_eq!(unknown.columns(UnknownKind::MissingCategory), [(2, 1)]);
    let mut both = unknown.clone();
    both.extend(&unknown);
    assert_eq!((unknown.count(), both.count()), (6, 12));
    assert_eq!(serde_json::to_string(&unknown).unwrap(), "6");
}

/// More rows than one thread takes at a time, in an encoding that does not widen them.
#[test]
fn rows_are_encoded_alike_on_any_number_of_threads() {
    let rows: Vec<f32> = (0..3 * 9001).map(|index| (index * 7919 % 1009) as f32).collect();
    let encoding = learn(&rows, 3, &[], Scale::Standard);
    let missing: Vec<f32> = rows.iter().map(|value| if *value == 5.0 { NAN } else { *value }).collect();
    let one_by_one: Vec<f32> = missing.chunks(3).flat_map(|row| encoded(&encoding, row, &[]).0).collect();
    let count = missing.iter().filter(|value| value.is_nan()).count() as u64;
    for threads in [1, 2, 5] {
        let mut features = Features::Floats(missing.clone());
        assert_eq!(encoding.apply(&mut features, &[], threads).unwrap().count(), count);
        assert!(features == Features::Floats(one_by_one.clone()), "{threads}");
    }
}
