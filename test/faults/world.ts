/** The system with its customers, visitors and domains in every state. */
import type { Endings } from './endings.ts';
import type { World } from './fault.ts';
import { createClient } from './load/client.ts';
import { startCustomers } from './load/customers.ts';
import { createLedger } from './load/ledger.ts';
import { populate } from './load/population.ts';
import { receiveMessages } from './load/receiver.ts';
import { startVisitors, visitOnce } from './load/visitors.ts';
import type { Options } from './options.ts';
import type { Random } from './random.ts';
import { allReady, secondsUntilWorking } from './recovery.ts';
import { type System, startSystem } from './system/system.ts';
import { sleep, until } from './system/wait.ts';

export type WorldOptions = {
  readonly options: Options;
  readonly folder: string;
  readonly random: Random;
  readonly endings: Endings;
};

const OUTAGE_MS = 5_000;
const READY_MS = 60_000;

/**
 * Fails queries once, so that the baseline includes Prisma's source map (5 MB). Node keeps it after
 * the first stack trace.
 */
async function failQueries(system: System): Promise<void> {
  system.postgresProxy.cut();
  await sleep(OUTAGE_MS);
  system.postgresProxy.restore();
  await until('every process is ready', () => allReady(system), READY_MS);
}

/** Resolves when everything runs and is warm. */
export async function openWorld({
  options,
  folder,
  random,
  endings,
}: WorldOptions): Promise<World> {
  const system = await startSystem(folder, endings);
  await failQueries(system);
  const ledger = createLedger();
  const client = createClient(system, ledger);
  const messages = await receiveMessages(endings);
  const given = { count: options.domains, webhookUrl: messages.url };
  const { live, pending } = await populate(system, client, given);
  const world = { system, client, ledger, messages, live, pending, random, folder };
  // Each edge loads every certificate before the baseline is measured.
  for (const hostname of live) {
    for (const { ports } of system.placesOf('edge')) await visitOnce(system, hostname, ports.https);
  }
  startCustomers({ system, client, ledger, random, webhookUrl: messages.url }, endings);
  startVisitors(system, { hostnames: live, ledger, random }, endings);
  await secondsUntilWorking(world);
  return world;
}
