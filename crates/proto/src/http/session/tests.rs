//! The table told the time: lifetimes, caps, and who makes room for whom.
#![allow(clippy::unwrap_used)]

use super::*;

const S: fn(u64) -> Duration = Duration::from_secs;

/// A session by its number; those above 100 have something running.
impl Occupied for u32 {
    fn is_occupied(&self) -> bool {
        *self > 100
    }
}

fn table(sessions: usize) -> Sessions<u32> {
    Sessions::new(&Limits {
        sessions,
        sessions_per_principal: 2,
        ..Limits::default()
    })
}

fn id(n: u8) -> SessionId {
    SessionId::new([n; 16])
}

fn principal(subject: &str) -> Arc<Principal> {
    Arc::new(Principal {
        issuer: "i".into(),
        client: "c".into(),
        subject: subject.into(),
    })
}

#[test]
fn lifetimes() {
    let mut t = table(10);
    t.open(id(1), None, 1, S(0)).unwrap();
    assert_eq!(t.touch(&id(1), None, S(59)), Some(1));
    assert_eq!(t.touch(&id(1), None, S(60)), None, "never initialized");
    t.open(id(2), None, 2, S(0)).unwrap();
    t.set_initialized(&id(2));
    assert_eq!(t.touch(&id(2), None, S(60)), Some(2));
    assert_eq!(t.touch(&id(2), None, S(60 + 30 * 60)), None, "idle");
    assert_eq!(t.expire(S(60 + 30 * 60)).len(), 2);
    t.open(id(3), None, 3, S(0)).unwrap();
    t.set_initialized(&id(3));
    for hour in 0..48 {
        let alive = t.touch(&id(3), None, S(hour * 1_799)).is_some();
        assert_eq!(alive, hour * 1_799 < 24 * 3_600, "{hour}");
    }
}

#[test]
fn a_session_is_its_principals() {
    let mut t = table(10);
    let (ada, bob) = (principal("ada"), principal("bob"));
    t.open(id(1), Some(ada.clone()), 1, S(0)).unwrap();
    assert_eq!(t.touch(&id(1), Some(&bob), S(1)), None);
    assert_eq!(t.touch(&id(1), None, S(1)), None);
    assert_eq!(t.touch(&id(1), Some(&ada), S(1)), Some(1));
    t.open(id(2), Some(ada.clone()), 2, S(2)).unwrap();
    assert_eq!(
        t.open(id(3), Some(ada), 3, S(3)).unwrap(),
        [1],
        "the longest idle one of the same principal"
    );
    assert!(t.open(id(4), Some(bob), 4, S(3)).unwrap().is_empty());
}

#[test]
fn a_full_table_prefers_the_busy() {
    let mut t = table(2);
    t.open(id(1), None, 1, S(0)).unwrap();
    t.open(id(2), None, 2, S(1)).unwrap();
    t.set_initialized(&id(1));
    assert_eq!(
        t.open(id(3), None, 3, S(2)).unwrap(),
        [2],
        "not initialized"
    );
    t.set_initialized(&id(3));
    assert_eq!(
        t.open(id(4), None, 4, S(3)).unwrap_err(),
        Blame::TooManySessions
    );
    assert_eq!(
        t.open(id(4), None, 4, S(62)).unwrap(),
        [1],
        "idle for a minute"
    );
    assert_eq!(t.len(), 2);
}

// req: D-35
#[test]
fn d_35_a_handshake_under_way_makes_no_room() {
    let ms = Duration::from_millis;
    let mut t = table(3);
    t.open(id(1), None, 1, ms(0)).unwrap();
    t.set_initialized(&id(1));
    t.open(id(2), None, 2, ms(0)).unwrap();
    t.open(id(3), None, 3, ms(4_900)).unwrap();
    assert_eq!(t.open(id(4), None, 4, ms(5_000)).unwrap(), [2], "stale");
    for at in [5_001, 5_099] {
        let refused = t.open(id(5), None, 5, ms(at)).unwrap_err();
        assert_eq!(refused, Blame::TooManySessions, "{at}");
    }
    assert_eq!(t.open(id(5), None, 5, ms(5_100)).unwrap(), [3], "a flood");
    // Who is idle goes before who has just come.
    let mut t = table(2);
    t.open(id(1), None, 1, ms(0)).unwrap();
    t.set_initialized(&id(1));
    t.open(id(2), None, 2, ms(69_000)).unwrap();
    assert_eq!(t.open(id(3), None, 3, ms(70_000)).unwrap(), [1], "idle");
    assert!(t.touch(&id(2), None, ms(70_001)).is_some());
}

/// A session that counts how often it is looked at.
#[derive(Clone)]
struct Probe(std::rc::Rc<std::cell::Cell<usize>>);

impl Occupied for Probe {
    fn is_occupied(&self) -> bool {
        self.0.set(self.0.get() + 1);
        true
    }
}

#[test]
fn a_full_table_is_not_searched_at_each_opening() {
    const MANY: u32 = 1_000;
    let long = |n: u32| {
        let mut random = [0; 16];
        random[..4].copy_from_slice(&n.to_be_bytes());
        SessionId::new(random)
    };
    let limits = Limits {
        sessions: MANY as usize,
        ..Limits::default()
    };
    let looked = Probe(std::rc::Rc::default());
    let mut t = Sessions::new(&limits);
    for n in 0..MANY {
        t.open(long(n), None, looked.clone(), S(0)).unwrap();
        t.set_initialized(&long(n));
    }
    // All are in use, and somebody wants in ten times a second, for ten minutes.
    for tenth in 0..6_000 {
        let now = Duration::from_millis(100 * tenth);
        let refused = t.open(long(MANY), None, looked.clone(), now);
        assert_eq!(refused.err(), Some(Blame::TooManySessions));
    }
    assert!(looked.0.get() <= 10 * MANY as usize, "once a minute each");
}

#[test]
fn the_orders_hold_no_more_than_there_is() {
    let mut t = table(10);
    let ada = principal("ada");
    for n in 0..10_000 {
        let id = id((n % 250) as u8);
        t.open(id, Some(ada.clone()), n, S(0)).unwrap();
        t.set_initialized(&id);
        t.remove(&id);
    }
    assert!(t.is_empty() && t.by_principal.is_empty());
    assert!(t.unconfirmed.len() <= 70 && t.by_use.len() <= 70);
}

#[test]
fn the_longest_idle_goes_first() {
    let mut t = table(5);
    for n in 1..=5 {
        t.open(id(n), None, n.into(), S(0)).unwrap();
        t.set_initialized(&id(n));
    }
    for (n, at) in [
        (3, 10),
        (1, 20),
        (3, 30),
        (5, 40),
        (1, 50),
        (2, 60),
        (5, 70),
    ] {
        assert!(t.touch(&id(n), None, S(at)).is_some());
    }
    let mut gone = Vec::new();
    for n in 10..15 {
        gone.extend(t.open(id(n), None, n.into(), S(1_000)).unwrap());
        t.set_initialized(&id(n));
    }
    assert_eq!(gone, [4, 3, 1, 2, 5]);
}

#[test]
fn what_runs_keeps_its_session() {
    let mut t = table(2);
    t.open(id(1), None, 101, S(0)).unwrap();
    t.set_initialized(&id(1));
    assert!(t.expire(S(3_600)).is_empty());
    assert_eq!(t.touch(&id(1), None, S(7_200)), Some(101));
    t.open(id(2), None, 2, S(7_210)).unwrap();
    t.set_initialized(&id(2));
    assert_eq!(t.open(id(3), None, 3, S(7_300)).unwrap(), [2]);
    assert_eq!(
        t.expire(S(24 * 3_600)).len(),
        2,
        "its life ends all the same"
    );
}

#[test]
fn an_id_in_a_target() {
    let id = "0123456789abcdef0123456789abcdef";
    for (target, want) in [
        (format!("/m?sessionId={id}"), Ok(())),
        (format!("/m?a=b&sessionId={id}&c"), Ok(())),
        ("/m".to_owned(), Err(Blame::PairMissing)),
        ("/m?".to_owned(), Err(Blame::PairMissing)),
        (format!("/m?sessionid={id}"), Err(Blame::PairMissing)),
        ("/m?sessionId=".to_owned(), Err(Blame::PairUnknown)),
        (format!("/m?sessionId={id}0"), Err(Blame::PairUnknown)),
        (
            format!("/m?sessionId={id}&sessionId={id}"),
            Err(Blame::PairUnknown),
        ),
    ] {
        let got = SessionId::in_query(&target.parse().unwrap());
        assert_eq!(
            got.map(|found| assert_eq!(found.as_str(), id)),
            want,
            "{target}"
        );
    }
}

#[test]
fn debug_shows_no_id() {
    assert!(format!("{:?}", id(0xab)).len() < 24);
}

// req: V-307
#[test]
fn v_307_ids_are_equal_only_as_a_whole() {
    let mut t = table(1);
    t.open(id(0), None, 1, S(0)).unwrap();
    for bit in 0..128 {
        let mut random = [0; 16];
        random[bit / 8] ^= 1 << (bit % 8);
        let other = SessionId::new(random);
        assert_ne!(other, id(0));
        assert_eq!(t.touch(&other, None, S(0)), None, "{bit}");
    }
    assert_eq!(t.touch(&id(0), None, S(0)), Some(1));
}
