/** The shared CAA vectors over real DNS; test/core/caa/ checks them in memory. */

import { afterEach, describe, expect, it } from 'vitest';
import { evaluateCaa } from '../../../src/core/diagnosis/caa/caa.ts';
import type { CaaAuthority } from '../../../src/core/diagnosis/caa/caa-set.ts';
import { splitAtZone } from '../../../src/core/names/zone.ts';
import type { LabFault } from '../../../src/lab/faults.ts';
import vectors from '../../vectors/caa.json' with { type: 'json' };
import { caaOf } from '../test-lab.ts';
import { closeInternet, type InternetOptions, OURS, openInternet, TARGET } from './internet.ts';

afterEach(closeInternet);

type Vector = (typeof vectors.vectors)[number];
type Entry =
  | readonly { readonly flags: number; readonly tag: string; readonly value: string }[]
  | { readonly cname: string }
  | string;

const ours: CaaAuthority = {
  issuerDomains: [vectors.ca.issuer],
  accountUri: vectors.ca.accountUri,
  method: 'http-01',
};

const entriesOf = ({ zone }: Vector) => Object.entries<Entry>(zone);

function linesOf(name: string, entry: Entry): readonly string[] {
  if (typeof entry === 'string') return [];
  if ('cname' in entry) return [`${name}. CNAME ${entry.cname}.`];
  return entry.map(
    ({ flags, tag, value }) => `${name}. CAA ${flags} ${tag} ${JSON.stringify(value)}`,
  );
}

/** The zones of a vector; `more` lines are added to the zone of the requested name. */
function worldOf(vector: Vector, more: readonly string[] = []): InternetOptions {
  const zones: Record<string, { ns1: string[] }> = {};
  const registry: Record<string, string[]> = {};
  const put = (name: string, lines: readonly string[]) => {
    const { zone } = splitAtZone(name);
    if (name.includes('.')) zones[zone] = { ns1: [...(zones[zone]?.ns1 ?? []), ...lines] };
    else registry[name] = [...(registry[name] ?? []), ...lines];
  };
  put(vector.request, more);
  for (const [name, entry] of entriesOf(vector)) {
    put(name, linesOf(name, entry));
    if (typeof entry === 'object' && 'cname' in entry) put(entry.cname, []);
  }
  const silent = faultsOf(vector).some(([, fault]) => fault === 'timeout');
  return { zones, registry, timeoutMs: silent ? 150 : 2_000 };
}

function faultsOf(vector: Vector): (readonly [name: string, fault: LabFault])[] {
  return entriesOf(vector).flatMap(([name, entry]) => {
    if (typeof entry !== 'string') return [];
    return [[name, entry === 'TIMEOUT' ? 'timeout' : 'servfail'] as const];
  });
}

async function open(vector: Vector, more: readonly string[] = []) {
  const internet = await openInternet(worldOf(vector, more));
  for (const [name, fault] of faultsOf(vector)) {
    const { zone } = splitAtZone(name);
    for (const server of [`ns1.${zone}`, 'registry', 'resolver']) {
      internet.fail(server, fault, name, 'CAA');
    }
  }
  return internet;
}

describe('CAA climbing for each vector', () => {
  it.each(vectors.vectors)('$id: $request is $expect', async (vector) => {
    const { observer } = await open(vector);
    const levels = await caaOf(observer, vector.request);
    const verdict = evaluateCaa(levels, ours, { wildcard: vector.wildcard });
    expect(verdict.kind).toBe(vector.expect);
    if (verdict.kind === 'unknown') return;
    expect(verdict.foundAt).toBe(vector.foundAt ?? null);
    expect(verdict.rfc).toBe(vector.rfcOnly ?? vector.expect);
  });
});

const codes = { allow: null, deny: 'caa_blocks', unknown: 'caa_unknown' } as const;
const verdicts = { allow: 'right', deny: 'wrong', unknown: 'unknown' } as const;

/** A CNAME excludes CAA records at the same name, so such vectors are not valid domains. */
const wholeDomains = vectors.vectors.filter(
  (vector) =>
    !vector.wildcard &&
    (splitAtZone(vector.request).apex ||
      entriesOf(vector).every(
        ([name, entry]) => name !== vector.request || 'cname' in Object(entry),
      )),
);

describe('a check of a domain with the records of a vector', () => {
  it.each(wholeDomains)('$id: $request is $expect', async (vector) => {
    const { request } = vector;
    const alias = entriesOf(vector).find(([name]) => name === request)?.[1];
    const cname = typeof alias === 'object' && 'cname' in alias ? alias.cname : undefined;
    const own = splitAtZone(request).apex
      ? OURS.map((address) => `${request}. ${address.includes(':') ? 'AAAA' : 'A'} ${address}`)
      : [`${request}. CNAME ${TARGET}.`];
    const internet = await open(vector, cname === undefined ? own : []);
    const target = cname ?? TARGET;
    const { verdict, findings } = await internet.check(request, { target, ca: ours });
    // The vectors only use these three values.
    const word = vector.expect as keyof typeof codes;
    expect(verdict).toBe(verdicts[word]);
    const about = findings.filter(({ code }) => code === 'caa_blocks' || code === 'caa_unknown');
    expect(about.map(({ code }) => code)).toEqual(codes[word] === null ? [] : [codes[word]]);
    if (word === 'deny') expect(about).toMatchObject([{ foundAt: vector.foundAt }]);
  });
});
