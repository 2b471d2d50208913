//! Many measurements of one thing.

use std::time::Duration;

/// Durations in the order of their length.
#[derive(Clone, Debug, Default)]
pub struct Sample(Vec<Duration>);

impl Sample {
    /// Sorts what was measured.
    pub fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }

    /// Several samples as one.
    pub fn together(samples: Vec<Self>) -> Self {
        Self::new(samples.into_iter().flat_map(|sample| sample.0).collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The shortest duration that `percent` of all do not exceed, in milliseconds;
    /// 0 where nothing was measured.
    pub fn at(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).map_or(0.0, |d| d.as_secs_f64() * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_measurements() {
        let sample = Sample::new((1..=200).rev().map(Duration::from_millis).collect());
        assert_eq!((sample.at(50), sample.at(99), sample.at(100)), (100.0, 198.0, 200.0));
        let both = Sample::together(vec![sample, Sample::new(vec![Duration::from_millis(500)])]);
        assert_eq!((both.len(), both.at(100)), (201, 500.0));
        let few = Sample::new(vec![Duration::from_millis(7), Duration::from_millis(3)]);
        assert_eq!((few.at(50), few.at(95)), (3.0, 7.0));
    }

    #[test]
    fn nothing_measured_is_zero() {
        assert_eq!(Sample::default().at(50), 0.0);
    }
}
