use ndarray::Axis;
use tinytrain::kernels::{Tuning, dot};
use tinytrain::reference::{bounds, ops};

use crate::lab::{ODD, everywhere, random};

#[test]
fn odd_lengths() {
    everywhere(|lab, tuning| {
        for team in [256, 5, 32] {
            let compute = lab.compute(&Tuning { team, ..*tuning });
            for length in ODD.into_iter().chain([4096, 4097, 100_003]) {
                let [a, b] = [1, 2].map(|stream| random(1, length, stream).remove_axis(Axis(0)));
                let [on_a, on_b] = [&a, &b].map(|x| compute.vector(x.as_slice().unwrap()).unwrap());
                let got = f64::from(dot(&compute, &on_a, &on_b).unwrap());
                let (a, b) = (a.mapv(f64::from), b.mapv(f64::from));
                let magnitudes = ops::dot(a.mapv(f64::abs).view(), b.mapv(f64::abs).view());
                let (want, bound) = (ops::dot(a.view(), b.view()), bounds::sum(magnitudes, length));
                assert!((got - want).abs() <= bound, "{length}: got {got}, want {want}, bound {bound}");
            }
        }
    });
}

#[test]
fn special_values() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let product =
            |a: &[f32], b: &[f32]| dot(&compute, &compute.vector(a).unwrap(), &compute.vector(b).unwrap());
        assert_eq!(product(&[], &[]).unwrap(), 0.0);
        assert!(product(&[1.0], &[1.0, 2.0]).unwrap_err().to_string().contains("dot"));
        assert!(product(&[f32::INFINITY, 1.0], &[0.0, 1.0]).unwrap().is_nan());
        assert!(product(&[f32::NAN; 70], &[1.0; 70]).unwrap().is_nan());
        assert_eq!(product(&[f32::INFINITY, 1.0], &[2.0, 1.0]).unwrap(), f32::INFINITY);
        assert_eq!(product(&[f32::MAX, f32::MAX], &[2.0, 2.0]).unwrap(), f32::INFINITY);
    });
}
