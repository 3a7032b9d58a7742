//! Gathers the replies of a batch until the last one is there (2025-03-26, basic, Batching).

use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Batches {
    next: u32,
    open: HashMap<u32, Batch>,
}

#[derive(Debug)]
struct Batch {
    left: usize,
    text: Vec<u8>,
}

impl Batches {
    /// None: nothing in it wants a reply.
    pub(super) fn open(&mut self, replies: usize) -> Option<u32> {
        if replies == 0 {
            return None;
        }
        self.next = self.next.wrapping_add(1);
        self.open.insert(
            self.next,
            Batch {
                left: replies,
                text: Vec::new(),
            },
        );
        Some(self.next)
    }

    /// Moves the reply that begins at `start` of `out` into the batch; the last one leaves the whole batch there instead.
    pub(super) fn close_part(&mut self, batch: u32, start: usize, out: &mut Vec<u8>) {
        let Some(open) = self.open.get_mut(&batch) else {
            return;
        };
        let part = out.split_off(start);
        if !part.is_empty() {
            open.text
                .push(if open.text.is_empty() { b'[' } else { b',' });
            open.text.extend_from_slice(&part);
        }
        open.left -= 1;
        if open.left == 0
            && let Some(done) = self.open.remove(&batch)
            && !done.text.is_empty()
        {
            out.extend_from_slice(&done.text);
            out.push(b']');
        }
    }
}
