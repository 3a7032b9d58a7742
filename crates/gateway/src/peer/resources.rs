//! Whose a resource is, by its address; and under which one it is seen.

use std::sync::PoisonError;

use polyport::uri_template::UriTemplate;

use super::{MAX_PLACES, Peer};
use crate::catalogue::{Kind, Route};
use crate::names;

impl Peer {
    /// Is the resource of a server at this address one that clients see?
    pub(crate) fn shows(&self, server: usize, uri: &str) -> bool {
        let seen = self.shared.upstreams[server].seen(Kind::Resources);
        seen.shows_address(uri)
    }

    /// Whose resource this is, by the lists, by the templates, or by the name of a server before it.
    pub(crate) async fn place(&self, uri: &str) -> Option<Route> {
        if let Some(route) = self.route(Kind::Resources, uri).await {
            return Some(route);
        }
        let names = self.names();
        let prefixed = names::unprefixed(&names, uri).map(|(server, uri)| Route {
            server,
            name: uri.into_owned(),
        });
        let prefixed = prefixed.filter(|route| self.shows(route.server, &route.name));
        // It may also be an address of somebody's own that looks so.
        if let Some(route) = prefixed.clone()
            && self.shown(route.server, &route.name).as_deref() == Some(uri)
        {
            return Some(route);
        }
        let tools = self.kept[Kind::Tools as usize].now();
        let page = tools.and_then(|fetched| fetched.merged.page(uri));
        if let Some(route) = page.filter(|route| self.shows(route.server, &route.name)) {
            return Some(route);
        }
        let templates = self.list(Kind::Templates, false).await;
        let mut fitting: Vec<_> = templates
            .merged
            .routes()
            .filter(|(_, route)| {
                let template = UriTemplate::parse(&route.name).ok();
                template.is_some_and(|template| template.matches(uri).is_some())
                    && self.shows(route.server, uri)
            })
            .map(|(_, route)| route)
            .collect();
        // The most exact one; of two such, that of the first server.
        fitting.sort_by_key(|route| (std::cmp::Reverse(route.name.len()), route.server));
        let fitting = fitting.first().map(|route| Route {
            server: route.server,
            name: uri.to_owned(),
        });
        fitting.or(prefixed)
    }

    /// Notes whose a resource is that somebody may subscribe to.
    pub(crate) fn note_place(&self, uri: &str, server: usize, name: &str) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MAX_PLACES {
            places.clear();
        }
        let name = name.to_owned();
        places.insert(uri.to_owned(), Route { server, name });
    }

    /// The address under which a resource of a server is seen; none: its own.
    pub(super) fn shown(&self, server: usize, uri: &str) -> Option<String> {
        let listed = self.kept[Kind::Resources as usize].now();
        if let Some(fetched) = &listed {
            if let Some(shown) = fetched.merged.renamed(server, uri) {
                return Some(shown.to_owned());
            }
            if fetched
                .merged
                .route(uri)
                .is_some_and(|route| route.server == server)
            {
                return None;
            }
        } else if let Some(shown) = self.asked_for(server, uri) {
            return Some(shown);
        }
        // One of a template that two servers have.
        let templates = self.kept[Kind::Templates as usize].now()?;
        let is_of = |template: &str| {
            let template = UriTemplate::parse(template).ok();
            template.is_some_and(|template| template.matches(uri).is_some())
        };
        let mut shared = templates.merged.all_renamed(server);
        shared
            .any(is_of)
            .then(|| names::prefixed_uri(self.names()[server], uri))
    }

    /// The address by which a resource was asked for, where no list says it yet.
    fn asked_for(&self, server: usize, uri: &str) -> Option<String> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |route: &Route| route.server == server && route.name == uri;
        let found = places.iter().find(|(_, route)| is_it(route));
        found.map(|(shown, _)| shown.clone())
    }

    /// Servers that may have the resource at this address.
    pub(crate) async fn offering(&self, uri: &str, subscribes: bool) -> Vec<usize> {
        let relays = self.ready().await.into_iter().enumerate();
        relays
            .filter_map(|(server, relay)| {
                let relay = relay?;
                let offers = &relay.client().opened().capabilities;
                let offered = offers.resources.is_some()
                    && (!subscribes || offers.has_resource_subscriptions());
                offered.then_some(server)
            })
            .filter(|server| self.shows(*server, uri))
            .filter(|server| !subscribes || self.shared.common[*server].is_none())
            .collect()
    }

    /// Has a server tell of changes of a resource. False: none does.
    pub(crate) async fn subscribe(&self, uri: &str) -> bool {
        let place = self.place(uri).await;
        let is_own = |route: &Route| self.shared.common[route.server].is_none();
        let Some(route) = place.filter(is_own) else {
            return false;
        };
        match self.relay(route.server).await {
            Ok(relay) => {
                let taken = relay.subscribe(&route.name).await.is_ok();
                if taken {
                    self.note_place(uri, route.server, &route.name);
                }
                taken
            }
            Err(_) => false,
        }
    }

    /// What is known of whose resource this is.
    pub(super) fn known_place(&self, uri: &str) -> Option<Route> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(route) = places.get(uri) {
            return Some(route.clone());
        }
        drop(places);
        let fetched = self.kept[Kind::Resources as usize].now();
        let route = fetched.and_then(|fetched| fetched.merged.route(uri).cloned());
        route.or_else(|| {
            let (server, name) = names::unprefixed(&self.names(), uri)?;
            let name = name.into_owned();
            Some(Route { server, name })
        })
    }
}
