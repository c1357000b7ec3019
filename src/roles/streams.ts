/** Everything behind the streams of one API process, from the parts that compose.ts builds. */

import { ladder, scaleOf } from '../core/life/ladder.ts';
import { createWatchedDomainStore } from '../db/domains/watched-domains.ts';
import { createEventFeedStore } from '../db/events.ts';
import { createCheckFeed } from '../events/check-feed.ts';
import { createFeed, sharePages } from '../events/feed.ts';
import { createWatching } from '../events/watching.ts';
import type { Authenticate } from '../http/keys/auth.ts';
import {
  createIsStillAuthorized,
  createOpenStream,
  createSlots,
  defaultStreamLimits,
  type OpenStream,
} from '../http/routes/streams.ts';
import type { Parts } from './parts.ts';

export type ComposedStreams = {
  readonly open: OpenStream;
  /** Asks and writes nothing more. */
  close(): void;
};

export function composeStreams(
  { config, database, log, now, queues }: Parts,
  authenticate: Authenticate,
): ComposedStreams {
  const { lastNumbers, page } = createEventFeedStore(database);
  const feed = createFeed({ lastNumbers, log });
  const store = createWatchedDomainStore(database.prisma);
  const checkFeed = createCheckFeed({ lastChecks: store.lastChecks, log });
  const watching = createWatching({
    store,
    promote: (domain) => queues.promote('check-dns', domain),
    now,
    log,
    checkEveryMs: ladder.watchedWaitMs * scaleOf(config.verifyWindowMs),
  });
  return {
    open: createOpenStream({
      feed,
      checkFeed,
      page: sharePages(page),
      lastNumbers,
      slots: createSlots(defaultStreamLimits),
      watching,
      isStillAuthorized: createIsStillAuthorized(authenticate),
      log,
    }),
    close() {
      feed.close();
      checkFeed.close();
      watching.close();
    },
  };
}
