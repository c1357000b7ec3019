/** What the holder of a name is told of others, and what it costs. */
import { describe, expect, it } from 'vitest';
import { createProofs } from '../../src/certificates/vault/derived-secrets.ts';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import type { Answer } from '../../src/core/diagnosis/observation.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createWarnHolder } from '../../workers/warn-holder.ts';
import { aDomain, anObservation } from '../support/builders.ts';

const hostname = 'shop.test';
const proofFor = createProofs(new Uint8Array(32));
const stored = anObservation();
const live = { status: 'live', missedAt: null } as const;
const apex = (parts: Partial<LoadedDomain>) =>
  aDomain({ hostname, state: live, observation: stored, ...parts });
const foreign = proofFor({ projectId: 'another', hostname, claimNonce: 'theirs' });
const left = { code: 'proof_left_over', hostname, values: [foreign] } as const;
const informs: Finding = { code: 'proof_on_adding', hostname, addresses: [] };
const claim = { code: 'claim_by_another', hostname } as const;

/** The warnings of a check, and the names that were asked for. */
async function warned(
  domain: LoadedDomain,
  {
    answers = [],
    isLight = false,
    found = [],
  }: {
    readonly answers?: readonly Answer<string>[];
    readonly isLight?: boolean;
    readonly found?: readonly Finding[];
  } = {},
) {
  const asked: string[] = [];
  const warnHolder = createWarnHolder({
    proofFor,
    lookupTexts: async (name) => {
      asked.push(name);
      return answers;
    },
  });
  const findings = await warnHolder(domain, isLight ? stored : anObservation(), found);
  return { findings, asked };
}

const txt = (first: string, ...rest: readonly string[]): Answer<string> => ({
  kind: 'records',
  records: [first, ...rest],
  ttlSeconds: 60,
});

describe('the holder of a name', () => {
  it('is asked nothing and told nothing where nobody else ever claimed it', async () => {
    const found: readonly Finding[] = [informs];
    const { findings, asked } = await warned(apex({ others: null }), { found });
    expect(findings).toBe(found);
    expect(asked).toEqual([]);
  });

  it('reads that another project waits for it, at no question, before what only informs', async () => {
    const domain = apex({ others: { pending: true, held: false } });
    const { findings, asked } = await warned(domain, { found: [informs] });
    expect(findings).toEqual([claim, informs]);
    expect(asked).toEqual([]);
  });

  const others = { pending: false, held: true };
  const none: Answer<string> = { kind: 'nxdomain' };
  const own = proofFor(apex({}));

  it.each<[string, readonly Answer<string>[], readonly Finding[]]>([
    ['its own proof', [txt(own)], []],
    ['no proof', [none], []],
    ['a proof of another claim', [txt(own, foreign), none], [left]],
    ['a text of its own', [txt('v=spf1 -all')], []],
  ])('whose name another project had, is warned of what is left: %s', async (_, answers, more) => {
    const { findings, asked } = await warned(apex({ others }), { answers });
    expect(findings).toEqual(more);
    expect(asked).toEqual([`_signpost.${hostname}`]);
  });

  it('is asked at full checks alone, and reads the same in between', async () => {
    const domain = apex({ others, findings: [left] });
    expect(await warned(domain, { isLight: true })).toEqual({ findings: [left], asked: [] });
    const silent = await warned(domain, { answers: [{ kind: 'timeout' }] });
    expect(silent.findings).toEqual([left]);
    expect((await warned(domain, { answers: [none] })).findings).toEqual([]);
  });

  it('is not asked for a name below an apex, where a CNAME proves', async () => {
    const domain = apex({ hostname: `docs.${hostname}`, others });
    expect(await warned(domain)).toEqual({ findings: [], asked: [] });
  });
});
