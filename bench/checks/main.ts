/**
 * `npm run bench:checks`: the cost of checks, in one run. `npm run bench:checks -- rate bytes` selects sections.
 * Uses a private Redis and PostgreSQL (fsync on) and real name servers on loopback. ROUNDS, SECONDS, WARM_UP and DOMAINS
 * shorten it. A section without a measurement fails the run.
 */
import { machine } from '../support/figures.ts';
import { bytes } from './bytes.ts';
import { fairness } from './fairness.ts';
import { latency } from './latency.ts';
import { rate } from './rate.ts';
import { reconcile } from './reconcile.ts';
import { openServers } from './servers.ts';

const sections = { rate, bytes, reconcile, latency, fairness };

const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : Object.keys(sections);
for (const name of names) {
  if (!isSection(name)) {
    throw new Error(`no section ${name}; there are ${Object.keys(sections).join(', ')}`);
  }
  const servers = await openServers();
  try {
    const lines = await sections[name](servers);
    const title = `${machine()}: npm run bench:checks -- ${name}`;
    process.stdout.write(`${title}\n\n${lines.join('\n')}\n\n`);
  } finally {
    await servers.close();
  }
}

function isSection(name: string): name is keyof typeof sections {
  return Object.hasOwn(sections, name);
}
