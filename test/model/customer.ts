/** Actions of customers, through the API and in their DNS. */
import { type Entry, SECOND } from './entry.ts';
import type { History } from './history.ts';
import { nothingShown, type Shown } from './shown.ts';
import { pass } from './time.ts';

function entryAt({ model, places }: History, of: number, at: number): Entry {
  return model.find(of, places[at]?.hostname ?? '');
}

export type Doing = 'add' | 'remove' | 'verify';

/** An API call of a customer. `dies`: the API process is killed before it enqueues a job. */
export async function customer(
  history: History,
  doing: Doing,
  [of, at]: readonly [number, number],
  dies: boolean,
): Promise<void> {
  const { system, model, projects } = history;
  history.hasRun = true;
  history.sweepTimes = null;
  const entry = entryAt(history, of, at);
  const { hostname } = entry;
  const params = { projectId: projects[of] ?? '' };
  const operation = { add: 'addDomain', remove: 'removeDomain', verify: 'verifyDomain' }[doing];
  const answer =
    doing === 'add'
      ? await system.call(operation, params, { hostname })
      : await system.call(operation, { ...params, hostname });
  const expected = expectedStatus(history, doing, entry);
  if (answer.status === 201) entry.id = (answer.body as { id: string }).id;
  if (answer.status !== expected) {
    throw new Error(`${doing} answered ${answer.status}, not ${expected}`);
  }
  if (doing === 'remove') model.remove(entry);
  if (dies) history.lostAt = system.now();
  else await answer.afterCommit?.();
  const { attached, status } = entry;
  history.woken = doing === 'verify' && attached && status === 'verified' && !dies ? entry : null;
}

function expectedStatus({ model, system }: History, doing: Doing, entry: Entry): number {
  // A name that the project never had can be a misspelled one.
  if (doing === 'remove') return entry.life === 0 ? 404 : 204;
  if (doing === 'add') return model.add(entry, system.now()) ? 201 : 409;
  return model.verify(entry, system.now()) ? 202 : 404;
}

/** Chooses mostly existing domains, seldom a name that was never added. */
export function someDomain(
  { model, places }: History,
  [of, at]: readonly [number, number],
): readonly [number, number] {
  const attached = model.entries.filter((entry) => entry.attached);
  const chosen = attached[(of * places.length + at) % Math.max(1, attached.length)];
  if (chosen === undefined) return [of, at];
  return [chosen.project, places.findIndex(({ hostname }) => hostname === chosen.hostname)];
}

export function publish({ places, shown }: History, at: number, next: Shown): void {
  shown.set(places[at]?.hostname ?? '', next);
}

/** The usual customer: adds the domain, creates the record after a first check, and waits. */
export async function settle(
  history: History,
  [of, at]: readonly [number, number],
  proves: boolean,
): Promise<void> {
  await customer(history, 'add', [of, at], false);
  await pass(history, 2 * SECOND, 6);
  publish(history, at, { ...nothingShown, record: of, proofs: proves ? [of] : [] });
  // Right at the next check, and its order follows at once.
  await pass(history, 20 * SECOND, 6);
}
