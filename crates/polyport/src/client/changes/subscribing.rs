//! What a legacy server tells of changes: subscribed to one by one, and anew where it forgets who has.

use polyport_model::{EmptyResult, SetLevel, SetLevelParams, SubscribeResource};
use polyport_proto::Code;
use tokio::time::sleep;

use super::super::ClientError;
use super::{Changes, PAUSE, TRIES, Wanted, resource};

impl Changes<'_> {
    /// Opens the conversation with a legacy server again, and subscribes anew.
    pub(super) async fn subscribe_again(&mut self) -> Result<(), ClientError> {
        let client = self.client;
        let mut pause = PAUSE;
        for tries in 1.. {
            // The question is answered with what the server has forgotten, and that opens it again.
            match client.ping().await {
                Err(ClientError::Broken(_) | ClientError::Unreachable(_)) if tries < TRIES => {
                    sleep(pause).await;
                    pause *= 2;
                }
                // The stream is gone, and so is the session, by a word that says neither. There is no harm in asking this again.
                Err(ClientError::Refused(error)) if error.code != Code::MethodNotFound.number() => {
                    client.caller.renew(self.reopened).await?;
                    break;
                }
                Err(ClientError::Status(status)) if status.code == 400 => {
                    client.caller.renew(self.reopened).await?;
                    break;
                }
                Err(ClientError::Refused(_)) => break,
                other => {
                    other?;
                    break;
                }
            }
        }
        client.caller.remembered();
        self.reopened = client.caller.reopened();
        self.told = Wanted::default();
        self.subscribe().await
    }

    /// Subscribes at a legacy server.
    pub(super) async fn subscribe(&mut self) -> Result<(), ClientError> {
        let (client, offered) = (self.client, &self.client.opened.capabilities);
        let resources = offered.resources.as_ref();
        let tells = |told: Option<bool>| told == Some(true);
        let lists = [
            offered.tools.as_ref().and_then(|tools| tools.list_changed),
            offered
                .prompts
                .as_ref()
                .and_then(|prompts| prompts.list_changed),
            resources.and_then(|resources| resources.list_changed),
        ];
        self.told.lists = self.wanted.lists && lists.into_iter().any(tells);
        if tells(resources.and_then(|resources| resources.subscribe)) {
            for uri in &self.wanted.resources {
                let params = resource(uri.clone());
                let _: EmptyResult = client.request::<SubscribeResource>(&params).await?;
                self.told.resources.push(uri.clone());
            }
        }
        if client.offers_tasks() {
            self.told.tasks = self.wanted.tasks.clone();
        }
        if let Some(level) = self.wanted.logs.filter(|_| offered.logging.is_some()) {
            let params = SetLevelParams::new(level);
            let _: EmptyResult = client.request::<SetLevel>(&params).await?;
            self.told.logs = Some(level);
        }
        Ok(())
    }
}
