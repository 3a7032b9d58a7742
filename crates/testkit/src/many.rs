//! Many things at once, and not all of them.

use tokio::task::JoinSet;

/// Runs so many of these at a time, to the end of all.
///
/// # Panics
/// One of them does.
pub async fn side_by_side(
    most: usize,
    all: impl Iterator<Item = impl Future<Output = ()> + Send + 'static>,
) {
    let mut running = JoinSet::new();
    for one in all {
        if running.len() == most {
            running
                .join_next()
                .await
                .expect("one runs")
                .expect("it does not panic");
        }
        running.spawn(one);
    }
    while let Some(ended) = running.join_next().await {
        ended.expect("it does not panic");
    }
}
