/**
 * `npm run bench:edge`: the edge beside Caddy and nginx with the same certificates, and how soon a domain's traffic starts
 * and ends; `npm run bench:edge -- handshakes memory` selects sections. Private PostgreSQL (fsync on), Redis, Pebble and
 * name server. ROUNDS, SECONDS, WARM_UP, CERTIFICATES, DOMAINS, REMOVALS and RENEWALS shorten it. A section without a
 * measurement fails the run.
 */
import { machine } from '../support/figures.ts';
import { attacks } from './attacks.ts';
import { handshakes } from './handshakes.ts';
import { live } from './live.ts';
import { memory } from './memory.ts';
import { peerVersions } from './programs.ts';
import { protocols } from './protocols.ts';
import { removal } from './removal.ts';
import { renewals } from './renewals.ts';
import { requests } from './requests.ts';
import { openServers } from './servers.ts';

const sections = { handshakes, requests, protocols, memory, live, removal, renewals, attacks };

// Started processes end on `exit`, which a signal would skip.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : Object.keys(sections);
for (const name of names) {
  if (!isSection(name)) {
    throw new Error(`no section ${name}; there are ${Object.keys(sections).join(', ')}`);
  }
  const servers = await openServers();
  try {
    const lines = await sections[name](servers);
    const title = `${machine()}, ${await peerVersions()}: npm run bench:edge -- ${name}`;
    process.stdout.write(`${title}\n\n${lines.join('\n')}\n\n`);
  } finally {
    await servers.close();
  }
}

function isSection(name: string): name is keyof typeof sections {
  return Object.hasOwn(sections, name);
}
