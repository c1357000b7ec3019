/** Pages of events for many streams at once: a project's streams all wake at the same event and want the same page. */
import type { EventFeedStore } from '../db/events.ts';

/**
 * Reads a page once for everybody who asks while it is being read. It is what each of them would have read: up to `upTo`
 * every event is there for good.
 */
export function sharePages(page: EventFeedStore['page']): EventFeedStore['page'] {
  const reading = new Map<string, ReturnType<EventFeedStore['page']>>();
  return (range) => {
    const { projectId, domainId, after, upTo, limit } = range;
    const key = `${projectId} ${domainId} ${after} ${upTo} ${limit}`;
    const known = reading.get(key);
    if (known !== undefined) return known;
    const rows = page(range).finally(() => reading.delete(key));
    reading.set(key, rows);
    return rows;
  };
}
