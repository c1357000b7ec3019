/**
 * Before anybody visits: what the first handshake of a name needs is made ready as soon as the name has it. Reading a key and
 * a chain takes OpenSSL several times what a handshake does, and a visitor would wait for the database besides.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { RouteNotification } from '../../core/operations/edge-route.ts';
import type { EdgeDeps } from '../deps.ts';
import type { Site } from './secure-contexts.ts';

/** Names that are looked up together; no more than one query takes. */
const LOOKUPS_AT_ONCE = 500;
/** Certificates that are read one after the other, before visitors have their turn: some 5 ms. */
const READ_AT_ONCE = 4;
/** Names that wait to be made ready. The others are made ready by their first visitor, as all of them could be. */
const WAITING_MAX = 10_000;

/** What making ready asks of the edge. */
export type PreparationDeps = Pick<EdgeDeps, 'findRoute' | 'listNames' | 'log'> & {
  /** Keeps what the handshakes of a site need. */
  readonly makeReady: (site: Site) => Promise<unknown>;
  /** How many are kept ready. */
  readonly keptMax: number;
};

/** Makes names ready as their routes change. */
export type Preparation = {
  /** What a name's first handshake needs may be something else from now on, or have been missed for all of them. */
  readonly notify: (notification: RouteNotification) => void;
};

/** At most half of a processor's time goes into it. What fails is left to the first visitor. */
export function createPreparation(deps: PreparationDeps): Preparation {
  const waiting = new Set<string>();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    while (waiting.size > 0) {
      const names = [...waiting].slice(0, LOOKUPS_AT_ONCE);
      for (const name of names) waiting.delete(name);
      await prepare(names, deps).catch((err: unknown) => deps.log.debug({ err }, 'not prepared'));
    }
    isRunning = false;
  }

  function add(names: readonly string[]): void {
    for (const name of names) if (waiting.size < WAITING_MAX) waiting.add(name);
    if (!isRunning) void run();
  }

  function addAll(): void {
    const { listNames, keptMax, log } = deps;
    listNames?.(keptMax).then(add, (err: unknown) => log.debug({ err }, 'not prepared'));
  }

  return {
    notify(notification) {
      if (notification.kind === 'changed') add([notification.hostname]);
      // Not before: what was read earlier would have to be read again.
      if (notification.kind === 'listening') addAll();
    },
  };
}

async function prepare(
  names: readonly string[],
  { findRoute, makeReady }: PreparationDeps,
): Promise<void> {
  const routes = await Promise.all(names.map(findRoute));
  const sites = routes.flatMap((route): readonly Site[] =>
    route === null || route.certificateId === null
      ? []
      : [{ ...route, certificateId: route.certificateId }],
  );
  for (let from = 0; from < sites.length; from += READ_AT_ONCE) {
    const began = performance.now();
    await Promise.all(sites.slice(from, from + READ_AT_ONCE).map(makeReady));
    await wait(performance.now() - began, null, { ref: false }); // a process that stops need not finish
  }
}
