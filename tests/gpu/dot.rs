use tinytrain::kernels::dot;

use crate::lab::everywhere;

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
