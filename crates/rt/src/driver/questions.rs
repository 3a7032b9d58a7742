//! Questions of calls on a line-framed connection: asked once the client is ready, given up when nobody waits or nobody can answer.

use polyport_wire::Raw;

use super::Driver;
use crate::context::Context;
use crate::question::{self, Asked, NoAnswer};

/// Who waits for the answer to a request of ours, and for which call.
pub(super) struct Asker {
    pub(super) context: Context,
    pub(super) sender: question::Asker,
}

impl Driver<'_> {
    pub(super) fn ask(&mut self, context: Context, Asked { question, asker }: Asked) {
        if asker.is_closed() || context.is_revoked() {
            return;
        }
        if !self.open {
            // What it would answer is not read any more.
            let _ = asker.send(Err(NoAnswer::Gone));
            return;
        }
        if !self.peer.is_initialized() {
            // basic/lifecycle: nothing is asked before the client is ready.
            if self.early.len() < self.service.limits.questions_per_session {
                self.early.push((context, Asked { question, asker }));
            } else {
                let _ = asker.send(Err(NoAnswer::TooMany));
            }
            return;
        }
        let start = self.out.len();
        let params = question.params.as_ref().map(Raw::as_str);
        let asker = Asker {
            context,
            sender: asker,
        };
        let asked = self.peer.ask(question.method, params, asker, &mut self.out);
        if let Err(asker) = asked {
            let _ = asker.sender.send(Err(NoAnswer::TooMany));
        }
        self.end_line(start);
    }

    /// Tells the client that nobody waits for an answer any more; not where it knows, because it cancelled the call.
    pub(super) fn forget_questions(&mut self) {
        if self.peer.asked() == 0 {
            return;
        }
        let mut cancels = Vec::new();
        self.peer.forget(
            |asker| asker.sender.is_closed(),
            |asker| !asker.context.is_revoked(),
            |_, cancel| cancels.push(cancel),
        );
        for cancel in cancels {
            self.line(&cancel);
        }
    }

    /// The input has ended: nobody can answer any more.
    pub(super) fn give_up_questions(&mut self) {
        let early = std::mem::take(&mut self.early).into_iter();
        let mut askers: Vec<_> = early.map(|(_, asked)| asked.asker).collect();
        self.peer
            .forget(|_| true, |_| true, |asker, _| askers.push(asker.sender));
        for asker in askers {
            let _ = asker.send(Err(NoAnswer::Gone));
        }
    }
}
