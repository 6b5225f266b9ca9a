//! The order of an epoch, made where the rows are.

use std::ops::Range;

use super::rows::DeviceRows;
use crate::data::{BLOCK_ROWS, order};
use crate::error::Result;
use crate::kernels::{Compute, EpochOrders};

/// What has been made of an order so far.
#[derive(Default)]
pub struct DeviceOrder {
    /// Makes the orders of ranges of some length, once there was one.
    orders: Option<EpochOrders>,
    /// Positions of the first epoch whose order stands on the device.
    ordered: usize,
    /// The later epoch whose order stands on the device, with the positions that were asked for.
    later: Option<(u64, usize, usize)>,
}

impl DeviceOrder {
    /// The first epoch begins again.
    pub fn restart(&mut self) {
        (self.ordered, self.later) = (0, None);
    }

    /// Puts the order of these positions of an epoch on the device, in their places. `count` rows are there so far.
    ///
    /// # Errors
    /// Those of the device.
    pub fn make(
        &mut self,
        compute: &Compute,
        rows: &DeviceRows,
        count: usize,
        (seed, epoch): (u64, usize),
        positions: Range<usize>,
    ) -> Result<()> {
        if epoch > 1 {
            self.ordered = 0;
            // What is left of positions that were asked for before stands there.
            let later = (seed, epoch, positions.end);
            if self.later != Some(later) {
                // Also where a run goes on in the middle: the order is one of all rows.
                self.sort(compute, rows, (seed, epoch), 0..positions.end)?;
                self.later = Some(later);
            }
            return Ok(());
        }
        self.later = None;
        while self.ordered < positions.end {
            let block = self.ordered..count.min(self.ordered + BLOCK_ROWS);
            self.ordered = block.end;
            if block.start == 0 {
                // The first batch does not wait for the kernels of the sort: they are compiled while it is trained.
                rows.set_order(&compute.context, 0, &order(seed, 1, 0..block.end as u32));
            } else {
                self.sort(compute, rows, (seed, epoch), block)?;
            }
        }
        Ok(())
    }

    fn sort(
        &mut self,
        compute: &Compute,
        rows: &DeviceRows,
        (seed, epoch): (u64, usize),
        range: Range<usize>,
    ) -> Result<()> {
        let orders = match self.orders.take() {
            Some(orders) if orders.len() == range.len() => orders,
            _ => EpochOrders::new(compute.clone(), range.len())?,
        };
        orders.make(seed, epoch, range.start, &rows.order)?;
        self.orders = Some(orders);
        Ok(())
    }
}
