/** Loads certificates before a name's first handshake: parsing and the database take longer. */

import { setTimeout as wait } from 'node:timers/promises';
import { chunksOf } from '../../core/chunks.ts';
import type { RouteNotification } from '../../core/operations/edge-route.ts';
import type { EdgeService } from '../edge-service.ts';
import type { Routes } from '../routes/routes.ts';
import type { Site } from './secure-contexts.ts';

/** At most one query's worth. */
const LOOKUPS_AT_ONCE = 500;
/** Certificates parsed in a row before other work gets a turn: about 5 ms. */
const READ_AT_ONCE = 4;
/** Names beyond this number are prepared by their first visitor. */
const WAITING_MAX = 10_000;

/** How to preload a site. */
export type ReadySites = {
  /** Loads and caches everything that a site's handshakes need. */
  readonly makeReady: (site: Site) => Promise<unknown>;
  /** Number of sites kept ready. */
  readonly keptMax: number;
};

/** Uses at most half of a CPU. Failures are left to the first visitor. */
export function createPreparation(
  { log, lookups }: Pick<EdgeService, 'log' | 'lookups'>,
  routes: Pick<Routes, 'find'>,
  { keptMax, makeReady }: ReadySites,
) {
  const waiting = new Set<string>();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    while (waiting.size > 0) {
      const names = [...waiting].slice(0, LOOKUPS_AT_ONCE);
      for (const name of names) waiting.delete(name);
      await prepare(names, routes, makeReady).catch((err: unknown) =>
        log.debug({ err }, 'names could not be prepared'),
      );
    }
    isRunning = false;
  }

  function add(names: readonly string[]): void {
    for (const name of names) if (waiting.size < WAITING_MAX) waiting.add(name);
    if (!isRunning) void run();
  }

  function addAll(): void {
    lookups
      .listNames(keptMax)
      .then(add, (err: unknown) => log.debug({ err }, 'names could not be prepared'));
  }

  return {
    /** `listening` means that changes may have been missed. */
    notify(notification: RouteNotification): void {
      if (notification.kind === 'changed') add([notification.hostname]);
      // Earlier results would have to be read again.
      if (notification.kind === 'listening') addAll();
    },
  };
}

async function prepare(
  names: readonly string[],
  routes: Pick<Routes, 'find'>,
  makeReady: ReadySites['makeReady'],
): Promise<void> {
  const found = await Promise.all(names.map(routes.find));
  const sites = found.flatMap((route): readonly Site[] =>
    route === null || route.certificateId === null
      ? []
      : [{ ...route, certificateId: route.certificateId }],
  );
  for (const some of chunksOf(sites, READ_AT_ONCE)) {
    const began = performance.now();
    await Promise.all(some.map(makeReady));
    // must not keep a stopping process alive
    await wait(performance.now() - began, null, { ref: false });
  }
}
