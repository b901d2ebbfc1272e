//! Selects the events of activities.
//!
//! Programs mark the events of one request with an activity id. An event that starts another activity has the id of the
//! new one, and the id that it belongs to as the related id. A selected activity therefore brings with it the
//! activities that its events started, and so on: the chain of one request.

use hashbrown::HashSet;
use onoff_etl::{ExtendedItem, Guid, HeaderKind, Record};

/// Maximum number of selected activities. Activities that start beyond it are not selected.
const MAX_ACTIVITIES: usize = 1 << 20;

/// Returns the activity and the related activity of a manifest or self-describing event.
pub(super) fn of(record: &Record<'_>) -> (Option<u128>, Option<u128>) {
    if record.kind() != HeaderKind::Event {
        return (None, None);
    }
    let id = |guid: Guid| (guid != Guid::default()).then(|| guid.as_u128());
    let related = record.extended_items().find(|item| item.kind == ExtendedItem::RELATED_ACTIVITY_ID);
    let related = related.and_then(|item| id(Guid::from_bytes_le(*item.data.first_chunk::<16>()?)));
    (record.activity_id().and_then(id), related)
}

/// The activities that a filter selects, with those that started so far.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectedActivities {
    ids: HashSet<u128>,
}

impl SelectedActivities {
    /// Selects everything if `ids` is empty.
    pub(super) fn new(ids: &[u128]) -> Self {
        Self { ids: ids.iter().copied().collect() }
    }

    /// True if the event is selected. Expects all events in time order.
    pub(super) fn includes(&mut self, record: &Record<'_>) -> bool {
        if self.ids.is_empty() {
            return true;
        }
        let (activity, related) = of(record);
        self.includes_ids(activity, related)
    }

    fn includes_ids(&mut self, activity: Option<u128>, related: Option<u128>) -> bool {
        let is_started_here = related.is_some_and(|related| self.ids.contains(&related));
        if let Some(activity) = activity {
            if is_started_here && self.ids.len() < MAX_ACTIVITIES {
                self.ids.insert(activity);
            }
            return is_started_here || self.ids.contains(&activity);
        }
        is_started_here
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_that_selected_ones_start_are_selected() {
        let mut selected = SelectedActivities::new(&[1]);
        let includes = [
            (Some(2), None, false),
            (Some(1), None, true),
            (Some(2), Some(1), true),
            (Some(2), None, true),
            (Some(3), Some(2), true),
            (Some(3), None, true),
            (Some(4), Some(9), false),
            (Some(4), None, false),
            (None, Some(3), true),
            (None, None, false),
        ];
        for (activity, related, expected) in includes {
            assert_eq!(selected.includes_ids(activity, related), expected, "{activity:?} {related:?}");
        }
    }
}
