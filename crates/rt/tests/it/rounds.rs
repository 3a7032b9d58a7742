//! Questions that meet timers, threads, panics, cancels and each other. No call hangs, and no step runs twice.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use polyport_rt::{Context, NoAnswer, Service};
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;
use polyport_wire::Raw;
use tokio::time::{Instant, sleep, timeout};

use crate::questions::{ALL, meta, open};
use crate::tools::{Count, form, service, until};

pub(crate) const ASK: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",META}}"#;

pub(crate) fn modern(line: &str) -> String {
    line.replace("META", &meta(ALL))
}

/// The retry with answers to these questions.
pub(crate) fn retry(id: usize, state: &str, keys: &[&str]) -> String {
    let answers = keys
        .iter()
        .map(|key| format!("\"{key}\":{{\"action\":\"accept\"}}"));
    let answers = answers.collect::<Vec<_>>().join(",");
    modern(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","requestState":"{state}","inputResponses":{{{answers}}},META}}}}"#
    ))
}

/// Plays a modern call to its end, answering each round; how many rounds there were, and the end.
pub(crate) async fn through(peer: &mut Script) -> (usize, String) {
    peer.send(&modern(ASK)).await;
    for round in 0..100 {
        let got = peer.receive().await.unwrap();
        let Some(asked) = got["result"]["inputRequests"].as_object() else {
            return (round, got.to_string());
        };
        let keys: Vec<_> = asked.keys().map(String::as_str).collect();
        let state = got["result"]["requestState"].as_str().unwrap();
        peer.send(&retry(round + 2, state, &keys)).await;
    }
    panic!("it asks without end");
}

pub(crate) async fn legacy(service: Service) -> Script {
    let mut peer = Script::connect(service);
    peer.play(&open(ALL)).await;
    peer
}

pub(crate) const CALL: &str =
    r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;

// req: Q-DROPPED
#[tokio::test(start_paused = true)]
async fn a_question_that_lost_a_race_is_asked_no_more() {
    let tool = |cx: Context| async move {
        // It is opened and dropped in one poll: nobody should ever see it.
        tokio::select! {
            biased;
            _ = cx.ask(form("at once")) => return Ok("answered".to_owned()),
            () = std::future::ready(()) => {}
        }
        tokio::select! {
            _ = cx.ask(form("slowly")) => return Ok("answered".to_owned()),
            () = sleep(Duration::from_millis(500)) => {}
        }
        sleep(Duration::from_secs(5)).await;
        Ok("went on".to_owned())
    };
    legacy(service(tool))
        .await
        .play(&format!(
            r#"{CALL}
            ~ {{"id":1,"method":"elicitation/create"}}
            ~ {{"method":"notifications/cancelled","params":{{"requestId":1}}}}
            @ 1s
            > {{"jsonrpc":"2.0","id":1,"result":{{"action":"accept"}}}}
            < {{"jsonrpc":"2.0","id":1,"result":{{"end":"went on"}}}}
            ."#
        ))
        .await;
    let mut peer = Script::connect(service(tool));
    let (rounds, end) = through(&mut peer).await;
    assert_eq!(rounds, 0, "{end}");
    assert!(end.contains("went on"), "{end}");
}

// req: Q-ROUND
#[tokio::test(start_paused = true)]
async fn a_question_beside_something_that_wakes_itself() {
    let begun = Instant::now();
    let steps = Count::default();
    let counted = steps.clone();
    let tool = move |cx: Context| {
        let steps = steps.clone();
        async move {
            let mut ask = pin!(cx.ask(form("who")));
            let mut polls = 0;
            poll_fn(|task| {
                // What wakes itself and waits for nobody is not over, although nobody holds its waker.
                if polls < 10 {
                    polls += 1;
                    task.waker().wake_by_ref();
                    if polls == 10 {
                        steps.add();
                    }
                }
                ask.as_mut().poll(task)
            })
            .await?;
            Ok("done".to_owned())
        }
    };
    let (rounds, end) = through(&mut Script::connect(service(tool))).await;
    assert!(rounds == 1 && end.contains("done"), "{end}");
    assert_eq!(
        counted.get(),
        1,
        "the round did not end before it had come to its end"
    );
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

// req: Q-ROUND
#[tokio::test(start_paused = true)]
async fn questions_with_wakers_of_their_own() {
    // A set of tasks gives each of its futures another waker.
    let begun = Instant::now();
    let tool = |cx: Context| async move {
        let mut asks = tokio::task::JoinSet::new();
        for n in 0..3 {
            asks.spawn(cx.ask(form(format!("k{n}"))));
        }
        while let Some(answer) = asks.join_next().await {
            answer.expect("no panic")?;
        }
        Ok("done".to_owned())
    };
    let (rounds, end) = through(&mut Script::connect(service(tool))).await;
    assert!(rounds == 1 && end.contains("done"), "{end}");
    assert_eq!(begun.elapsed(), Duration::from_secs(1), "the quiet second");
    legacy(service(tool))
        .await
        .play(&format!(
            r#"{CALL}
            ~ {{"method":"elicitation/create"}}
            ~ {{"method":"elicitation/create"}}
            ~ {{"method":"elicitation/create"}}
            > {{"jsonrpc":"2.0","id":3,"result":{{"action":"accept"}}}}
            > {{"jsonrpc":"2.0","id":2,"result":{{"action":"accept"}}}}
            > {{"jsonrpc":"2.0","id":1,"result":{{"action":"accept"}}}}
            < {{"jsonrpc":"2.0","id":1,"result":{{"end":"done"}}}}
            $"#
        ))
        .await;
}

// req: Q-THREAD
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_may_block_on_a_question() {
    let over = Count::default();
    let heard = over.clone();
    let tool = move |cx: Context| {
        let over = over.clone();
        async move {
            let runtime = tokio::runtime::Handle::current();
            let thread = tokio::task::spawn_blocking(move || {
                let answer = runtime.block_on(cx.ask(form("who")));
                if matches!(answer, Err(NoAnswer::Over)) {
                    over.add();
                }
                answer
            });
            thread.await.expect("no panic")?;
            Ok("done".to_owned())
        }
    };
    let mut peer = Script::connect(service(tool.clone()));
    let (rounds, end) = through(&mut peer).await;
    assert!(rounds == 1 && end.contains("done"), "{end}");
    until("the end of the first run's thread", || heard.get() == 1).await;
    // Cancelled while it waits: the thread must not wait for ever.
    for opened in [String::new(), open(ALL)] {
        let before = heard.get();
        let mut peer = Script::connect(service(tool.clone()));
        peer.play(&opened).await;
        let era = if opened.is_empty() {
            "META"
        } else {
            "\"_meta\":{}"
        };
        peer.send(&modern(&ASK.replace("META", era))).await;
        if !opened.is_empty() {
            peer.play("~ {\"method\":\"elicitation/create\"}").await;
        }
        peer.play(
            r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        )
        .await;
        until("the end of a cancelled thread", || {
            heard.get() == before + 1
        })
        .await;
    }
}

// req: Q-THREAD
#[tokio::test(start_paused = true)]
async fn a_task_that_asks_for_a_call_that_has_ended() {
    let over = Count::default();
    let heard = over.clone();
    let tool = move |cx: Context| {
        let over = over.clone();
        async move {
            tokio::spawn(async move {
                if matches!(cx.ask(form("who")).await, Err(NoAnswer::Over)) {
                    over.add();
                }
            });
            sleep(Duration::from_millis(500)).await;
            Ok("done".to_owned())
        }
    };
    let (rounds, end) = through(&mut Script::connect(service(tool.clone()))).await;
    assert!(rounds == 0 && end.contains("done"), "{end}");
    tokio::task::yield_now().await;
    assert_eq!(heard.get(), 1);
    let mut peer = legacy(service(tool)).await;
    peer.play(&format!(
        "{CALL}\n~ {{\"id\":1,\"method\":\"elicitation/create\"}}"
    ))
    .await;
    let mut told = [peer.receive().await.unwrap(), peer.receive().await.unwrap()];
    told.sort_by_key(|message| message.get("method").is_some());
    assert_eq!(told[0]["result"]["end"], "done", "{told:?}");
    assert_eq!(told[1]["method"], "notifications/cancelled", "{told:?}");
    assert_eq!(heard.get(), 2);
}

// req: Q-ROUND
#[tokio::test(start_paused = true)]
async fn a_step_that_asks_lets_its_round_end() {
    let runs = Count::default();
    let counted = runs.clone();
    let tool = move |cx: Context| {
        let runs = runs.clone();
        async move {
            if cx.begin_step("outer")?.is_none() {
                runs.add();
                let mut step = pin!(timeout(Duration::from_secs(3_000), cx.ask(form("who"))));
                let answered = poll_fn(|task| cx.within_step("outer", || step.as_mut().poll(task)));
                answered.await.expect("in time")?;
                cx.end_step("outer", Some(Raw::from_static("1")));
            }
            cx.ask(form("more")).await?;
            Ok("done".to_owned())
        }
    };
    let begun = Instant::now();
    let (rounds, end) = through(&mut Script::connect(service(tool))).await;
    assert!(rounds == 2 && end.contains("done"), "{end}");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(counted.get(), 2, "begun, and begun again with the answer");
}

// req: Q-STEP
#[tokio::test(start_paused = true)]
async fn a_step_is_not_cut_off_by_a_question_beside_it() {
    let begun = Count::default();
    let ended = Count::default();
    let (first, last) = (begun.clone(), ended.clone());
    let tool = move |cx: Context| {
        let (begun, ended) = (begun.clone(), ended.clone());
        async move {
            let step = async {
                if cx.begin_step("long")?.is_none() {
                    begun.add();
                    let mut pause = pin!(sleep(Duration::from_secs(90)));
                    poll_fn(|task| cx.within_step("long", || pause.as_mut().poll(task))).await;
                    ended.add();
                    cx.end_step("long", Some(Raw::from_static("1")));
                }
                Ok::<_, NoAnswer>(())
            };
            tokio::try_join!(cx.ask(form("who")), step)?;
            Ok("done".to_owned())
        }
    };
    let (rounds, end) = through(&mut Script::connect(service(tool))).await;
    assert!(rounds == 1 && end.contains("done"), "{end}");
    assert_eq!((first.get(), last.get()), (1, 1));
}

// req: Q-STEP
#[tokio::test(start_paused = true)]
async fn two_steps_of_one_key_at_once_are_the_authors_fault() {
    let runs = Count::default();
    let counted = runs.clone();
    let tool = move |cx: Context| {
        let runs = runs.clone();
        async move {
            let step = async || {
                if cx.begin_step("pay")?.is_none() {
                    runs.add();
                    sleep(Duration::from_secs(1)).await;
                    cx.end_step("pay", Some(Raw::from_static("1")));
                }
                Ok::<_, NoAnswer>(())
            };
            tokio::try_join!(step(), step())?;
            Ok("done".to_owned())
        }
    };
    let (_, end) = through(&mut Script::connect(service(tool))).await;
    assert!(end.contains("-32603"), "{end}");
    assert_eq!(counted.get(), 1, "it never runs twice");
}

// req: D-06
#[tokio::test(start_paused = true)]
async fn d_06_a_panic_after_an_answer_ends_its_call_only() {
    let tool = |cx: Context| async move {
        let answered = cx.answer("who").is_some();
        cx.ask(form("who")).await?;
        assert!(!answered, "between rounds");
        Ok("legacy".to_owned())
    };
    let mut peer = Script::connect(service(tool));
    for _ in 0..2 {
        let (rounds, end) = through(&mut peer).await;
        assert!(rounds == 1 && end.contains("errorId"), "{end}");
        assert!(!end.contains("between"), "{end}");
    }
}

// req: Q-GIVEN
#[tokio::test(start_paused = true)]
async fn a_question_that_is_given_back_again_is_asked_again() {
    legacy(Service::new(Puppet::default()))
        .await
        .play(
            r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gives a a"}}
            ~ {"id":1,"method":"elicitation/create"}
            > {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
            ~ {"id":2,"method":"elicitation/create"}
            > {"jsonrpc":"2.0","id":2,"result":{"action":"accept"}}
            < {"jsonrpc":"2.0","id":1,"result":{"a":{"action":"accept"},"a":{"action":"accept"}}}
            $
        "#,
        )
        .await;
}

// req: Q-GONE
#[tokio::test(start_paused = true)]
async fn an_answer_after_the_end_of_its_call_or_session_is_passed_over() {
    let mut peer = legacy(Service::new(Puppet::default())).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}
        ~ {"id":1,"method":"elicitation/create"}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        > {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
        > {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}
        ~ {"id":2,"method":"elicitation/create"}
    "#,
    )
    .await;
    // The server ends while the question is open: the call is cut after the drain, whatever is answered then.
    let begun = Instant::now();
    peer.stop();
    let ended = timeout(Duration::from_secs(60), peer.end()).await.unwrap();
    assert!(
        begun.elapsed() <= Duration::from_secs(15),
        "{:?} {ended:?}",
        begun.elapsed()
    );
}
