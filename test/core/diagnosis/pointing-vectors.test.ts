import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Diagnosis, diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { severities } from '../../../src/core/diagnosis/findings.ts';
import { parseHostname } from '../../../src/core/names/hostname.ts';
import { expectedFor } from '../support/observations.ts';
import { observeZones, type Zones } from '../support/server-view.ts';

type Vector = {
  readonly id: string;
  readonly hostname: string;
  readonly zones: Zones;
  readonly secondNameServer?: Zones;
  readonly verdict: 'ok' | 'blocked';
  readonly code?: string;
};

const file: {
  readonly target: string;
  readonly zones: Zones;
  readonly vectors: readonly Vector[];
} = JSON.parse(readFileSync(new URL('../../vectors/pointing.json', import.meta.url), 'utf8'));

function diagnoseVector({ hostname: typed, zones, secondNameServer }: Vector): Diagnosis {
  const parsed = parseHostname(typed, 'edge.example');
  if (!parsed.ok) throw new Error(`the vector's hostname is rejected: ${parsed.reason}`);
  const hostname = parsed.hostname.ascii;
  const place = { hostname, target: file.target, zones, platform: file.zones, secondNameServer };
  return diagnose(observeZones(place), { ...expectedFor(hostname), target: file.target });
}

/** The evidence that a note of the vectors requires beside the code. */
const beside: ReadonlyMap<string, readonly string[]> = new Map([
  ['E9', ['mail_at_name']],
  ['E10', ['mail_at_name']],
]);
const hints: ReadonlyMap<string, string> = new Map([
  ['E2', 'cname_indirect'],
  ['E29', 'doubled_name'],
]);

describe('the pointing vectors', () => {
  it.each(file.vectors)('$id: $hostname is $verdict', (vector) => {
    const { verdict, findings } = diagnoseVector(vector);
    expect(verdict).toBe(vector.verdict === 'ok' ? 'right' : 'wrong');
    // A row names one required code; diagnosis.test.ts checks the others.
    const codes: readonly string[] = findings.map(({ code }) => code);
    const wanted = [vector.code ?? [], beside.get(vector.id) ?? []].flat();
    expect(codes).toEqual(expect.arrayContaining(wanted));
    const blocking = findings.filter(({ code }) => severities[code] === 'blocks');
    expect(blocking.length > 0).toBe(vector.verdict === 'blocked');
    const hinted = findings.flatMap((one) => ('hints' in one ? (one.hints ?? []) : []));
    const slips = [hints.get(vector.id) ?? []].flat();
    expect(hinted.map(({ code }) => code)).toEqual(expect.arrayContaining(slips));
  });

  it('require only codes that exist', () => {
    const unknown = file.vectors.filter(({ code }) => code !== undefined && !(code in severities));
    expect(unknown).toEqual([]);
  });
});
