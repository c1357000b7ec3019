import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Diagnosis, diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { type FindingCode, severities } from '../../../src/core/diagnosis/findings.ts';
import { parseHostname } from '../../../src/core/hostname.ts';
import { viewOf, type Zones } from '../support/server-view.ts';

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

const targetView = viewOf('ns.edge.example', file.zones, file.target);
const targetAddresses = [targetView.a, targetView.aaaa].flatMap((answer) =>
  answer.kind === 'records' ? answer.records : [],
);

function diagnoseVector({ hostname: typed, zones, secondNameServer }: Vector): Diagnosis {
  const parsed = parseHostname(typed, 'edge.example');
  if (!parsed.ok) throw new Error(`the vector's host name is refused: ${parsed.reason}`);
  const hostname = parsed.hostname.ascii;
  const views = secondNameServer === undefined ? [] : [viewOf('ns2', secondNameServer, hostname)];
  return diagnose(
    {
      hostname,
      view: 'authoritative',
      servers: [viewOf('ns1', zones, hostname), ...views],
      caa: [{ name: hostname, answer: { kind: 'nodata' } }],
      targetAddresses,
    },
    {
      hostname,
      target: file.target,
      ca: { issuerDomains: ['letsencrypt.org'], accountUri: null, method: 'http-01' },
    },
  );
}

/** Rows whose verdict holds already, while the code that names their detail comes with a later issue. */
const codesToCome: ReadonlyMap<string, readonly [code: string, today: FindingCode | null]> =
  new Map([
    ['E12', ['apex_partial', null]],
    ['E13', ['apex_mixed', 'conflicting_a']],
    ['E15', ['name_servers_disagree', 'conflicting_a']],
    ['E20', ['wildcard_answers', null]],
    ['E26', ['name_servers_disagree', 'record_missing']],
  ]);

describe('the vectors', () => {
  it.each(file.vectors)('$id: $hostname is $verdict $code', (vector) => {
    const { verdict, findings } = diagnoseVector(vector);
    const toCome = codesToCome.get(vector.id);
    const code = toCome === undefined ? vector.code : toCome[1];
    expect(verdict).toBe(vector.verdict === 'ok' ? 'right' : 'wrong');
    expect(findings.map((finding) => finding.code)).toEqual(code == null ? [] : [code]);
  });

  it('list the codes that are still to come, and no others', () => {
    const unknown = file.vectors.flatMap(({ id, code }) =>
      code === undefined || code in severities ? [] : [[id, code]],
    );
    expect(unknown).toEqual([...codesToCome].map(([id, [code]]) => [id, code]));
  });
});
