//! A call that is to go on as a task: whoever runs it says that it may, and its handler that it should.

use crate::context::Context;

impl Context {
    /// This call may go on as a task, where whoever runs it says so with [`wish_task`](Self::wish_task).
    pub fn allow_task(&self) {
        self.marks().allow_task();
    }

    /// It should go on as a task: it is run anew as one. False: it cannot.
    pub fn wish_task(&self) -> bool {
        self.marks().wish_task()
    }

    /// Was that said?
    pub fn wishes_task(&self) -> bool {
        self.marks().wishes_task()
    }
}
