/** Latency (p50, p99) for visitors of one name during an attack on another, on a kept connection. */
import { Agent, request } from 'node:https';
import { median, percentile } from '../support/figures.ts';
import { run, saidUntil, sleep, stop } from '../support/processes.ts';
import { type Attack, type AttackAsked, attacks as kinds } from './attack-load.ts';
import { type Started, startContender } from './contenders.ts';
import type { Servers } from './servers.ts';
import { hostnameOf, ROUNDS, SECONDS, WARM_UP } from './settings.ts';
import { openSites } from './sites.ts';

type Felt = { readonly p50: number; readonly p99: number };

/** Between two requests, which are not meant as load. */
const PAUSE_MS = 5;

export async function attacks(servers: Servers): Promise<readonly string[]> {
  const sites = await openSites(servers);
  const felt = new Map<Attack, Felt[]>();
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const attack of kinds) {
        const one = await measure(
          await startContender('signpost', sites, {}),
          attack,
          sites.rootFile,
        );
        felt.set(attack, [...(felt.get(attack) ?? []), one]);
        process.stderr.write(`round ${round + 1}: ${attack} p99 ${one.p99.toFixed(1)} ms\n`);
      }
    }
  } finally {
    await sites.close();
  }
  return report((attack) => felt.get(attack) ?? []);
}

async function measure(edge: Started, attack: Attack, rootFile: string): Promise<Felt> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const asked: AttackAsked = { attack, port: edge.port, rootFile, hostname: hostnameOf(0) };
  await visit(edge.port, agent, WARM_UP);
  const attacker = run('./attack-load.js', import.meta.url, {
    env: { ASKED: JSON.stringify(asked) },
  });
  try {
    await saidUntil(attacker, /attacking/);
    await sleep(1_000);
    const times = await visit(edge.port, agent, SECONDS);
    return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  } finally {
    agent.destroy();
    await stop(attacker);
    await edge.stop();
  }
}

/** Milliseconds of each answer. Rejects unless all are 200: visitors must not notice the attack. */
async function visit(port: number, agent: Agent, seconds: number): Promise<readonly number[]> {
  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    times.push(await visitOnce(port, agent));
    await sleep(PAUSE_MS);
  }
  return times;
}

function visitOnce(port: number, agent: Agent): Promise<number> {
  const hostname = hostnameOf(1);
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      servername: hostname,
      agent,
      rejectUnauthorized: false,
    };
    request({ ...options, headers: { host: hostname } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`a visitor had ${response.statusCode}`));
      response.resume().once('end', () => resolve(performance.now() - begun));
    })
      .once('error', reject)
      .end();
  });
}

function report(of: (attack: Attack) => readonly Felt[]): readonly string[] {
  const figure = (attack: Attack, which: keyof Felt) => median(of(attack).map((one) => one[which]));
  return [
    '| attack on another name | p50 ms | p99 ms | p99 to none |',
    '|---|---|---|---|',
    ...kinds.map((attack) => {
      const ratio = figure(attack, 'p99') / figure('none', 'p99');
      return `| ${attack} | ${figure(attack, 'p50').toFixed(2)} | ${figure(attack, 'p99').toFixed(2)} | ${ratio.toFixed(2)} |`;
    }),
  ];
}
