//! What the server counts, as Prometheus reads it.

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    operation: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operation {
    operation: &'static str,
}

/// The counters. Clones are the same.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    requests: Family<Answered, Counter>,
    seconds: Family<Operation, Histogram>,
    streams: Gauge,
    connections: Gauge,
}

/// Something that is open; closed when dropped.
pub struct Open(Gauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let requests = Family::<Answered, Counter>::default();
        // From a tenth of a millisecond to some six seconds.
        let seconds = Family::<Operation, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.0001, 3.0, 11))
        });
        let (streams, connections) = (Gauge::default(), Gauge::default());
        let mut registry = Registry::with_prefix("astudio");
        registry.register("requests", "Requests answered", requests.clone());
        registry.register_with_unit(
            "request_duration",
            "Time to the head of the answer",
            Unit::Seconds,
            seconds.clone(),
        );
        registry.register("streams", "Event streams that are open", streams.clone());
        registry.register("connections", "Connections that are open", connections.clone());
        Self { registry: Arc::new(registry), requests, seconds, streams, connections }
    }
}

impl Metrics {
    /// Counts an answer.
    pub fn answered(&self, operation: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&Answered { operation, status }).inc();
        self.seconds.get_or_create(&Operation { operation }).observe(took.as_secs_f64());
    }

    /// Counts a stream while it is open.
    pub fn stream(&self) -> Open {
        self.streams.inc();
        Open(self.streams.clone())
    }

    /// Counts a connection while it is open.
    pub fn connection(&self) -> Open {
        self.connections.inc();
        Open(self.connections.clone())
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
