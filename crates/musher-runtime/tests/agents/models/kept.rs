//! What a host that keeps a record gets: every frame as it came, with the key masked, and where events came from.

use bytes::Bytes;
use musher_runtime::core::{Event, EventKind, Outcome};
use musher_runtime::{Keeper, SessionOutput};
use serde_json::Value as Json;
use tokio::sync::{mpsc, watch};

use crate::rig::{ModelRig, Wire};

#[tokio::test]
async fn every_frame_is_kept_as_it_came_and_events_name_theirs() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.free("[[scn:bash think=Hm. first=I_go.]] go");
        let (raw_in, mut raw) = mpsc::channel::<Bytes>(4096);
        let (_durable, watched) = watch::channel(u64::MAX);
        spec.keeper = Some(Keeper { raw: raw_in, durable: watched });
        let mut session = wire.runtime().start(spec);
        let mut events: Vec<Event> = Vec::new();
        while let Some(output) = session.next().await {
            if let SessionOutput::Event(event) = output {
                events.push(event);
            }
        }
        let EventKind::SessionEnded(end) = &events[events.len() - 1].kind else { panic!() };
        assert_eq!(end.outcome, Outcome::Completed, "{wire:?}");
        drop(session);
        let mut copy = Vec::new();
        while let Some(part) = raw.recv().await {
            copy.extend_from_slice(&part);
        }
        let lines: Vec<&str> = std::str::from_utf8(&copy).unwrap().lines().collect();
        assert!(lines.len() >= 4, "{wire:?}: {lines:?}");
        let json = |line: &&str| serde_json::from_str::<Json>(line).is_ok() || *line == "[DONE]";
        assert!(lines.iter().all(json), "{wire:?}: {lines:?}");
        let from: Vec<_> = events.iter().filter_map(|event| event.raw).collect();
        assert!(!from.is_empty(), "{wire:?}: some events name their frame");
        for place in from {
            let (start, len) = (place.offset as usize, place.len as usize);
            let frame = &copy[start..start + len];
            assert!(serde_json::from_slice::<Json>(frame).is_ok(), "{wire:?}");
        }
    }
}
