/** Which records prove who owns a name that no other project has now: docs/understand/ownership.md. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { explain } from '../../src/core/diagnosis/findings.ts';
import { HOUR } from '../../src/core/time.ts';
import { createAccountStore } from '../../src/db/accounts.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { later, missing, noon, right, unknown } from '../support/builders.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';
import { checkRight, observedAt, type Place, proofFor, type Txt } from './claim-world.ts';

let stored: StoredDomains;
let otherAccount: string;
let count = 0;

beforeAll(async () => {
  stored = await openStoredDomains();
  const accounts = createAccountStore(stored.database.prisma);
  ({ id: otherAccount } = await accounts.create(wholeInstallation, { name: 'Another' }, noon));
});
afterAll(() => stored?.close());

const remove = ({ projectId, hostname }: LoadedDomain) =>
  createDomainStore(stored.database.prisma).remove(
    wholeInstallation,
    { projectId, hostname },
    { at: noon },
  );

const verifiedAgain = async (id: string) => {
  await stored.check(await stored.load(id), missing);
  expect(await stored.check(await stored.load(id), right)).toMatchObject({ kind: 'saved' });
  return stored.load(id);
};

/** Its checks of the DNS are forgotten, so only its holding can count. */
const withoutChecks = async (id: string) => {
  const { prisma } = stored.database;
  await prisma.event.deleteMany({ where: { domainId: id, type: 'domain.findings_changed' } });
  await prisma.domain.update({ where: { id }, data: { findings: [] } });
  return stored.load(id);
};

/** Who held the name last; the claim to check. */
const histories = {
  none: async (hostname: string) => stored.pending(hostname),
  'this claim': async (hostname: string) => {
    const { id } = await verifiedAgain((await stored.pending(hostname)).id);
    await stored.check(await stored.load(id), missing);
    return withoutChecks(id);
  },
  'this claim, which failed': async (hostname: string) => {
    const { id } = await verifiedAgain((await stored.pending(hostname)).id);
    await stored.check(await stored.load(id), missing);
    await stored.check(await stored.load(id), missing, later(noon, 49 * HOUR));
    const failed = await withoutChecks(id);
    expect(failed.state.status).toBe('failed');
    return failed;
  },
  'an earlier claim of the project': async (hostname: string) => {
    const { id, projectId, target } = await verifiedAgain((await stored.pending(hostname)).id);
    await remove(await stored.load(id));
    const domains = createDomainStore(stored.database.prisma);
    const again = await domains.add(wholeInstallation, { projectId, hostname, target }, noon);
    return stored.load(again?.id ?? '');
  },
  'a project that removed it': async (hostname: string) => {
    await remove(await verifiedAgain((await stored.pending(hostname)).id));
    return stored.pending(hostname);
  },
  'a deleted project': async (hostname: string) => {
    const former = await verifiedAgain((await stored.pending(hostname)).id);
    await remove(former);
    const projects = createProjectStore(stored.database.prisma);
    await projects.remove(wholeInstallation, former.projectId, noon);
    return stored.pending(hostname);
  },
  'a project whose claim failed': async (hostname: string) => {
    const { id } = await verifiedAgain((await stored.pending(hostname)).id);
    const data = { status: 'failed', failedAt: noon, verifiedAt: null } as const;
    await stored.database.prisma.domain.update({ where: { id }, data });
    return stored.pending(hostname);
  },
  'a project of another account': async (hostname: string) => {
    await remove(await verifiedAgain((await stored.pending(hostname, otherAccount)).id));
    return stored.pending(hostname);
  },
  'a project that moved into this account': async (hostname: string) => {
    const former = await verifiedAgain((await stored.pending(hostname)).id);
    await remove(former);
    const claimant = await stored.pending(hostname, otherAccount);
    const projects = createProjectStore(stored.database.prisma);
    await projects.update(wholeInstallation, former.projectId, { accountId: otherAccount });
    return claimant;
  },
} as const;
type History = keyof typeof histories;

/** What a check of the claim showed before the right one. */
const befores = {
  nothing: async () => undefined,
  'a silent zone': async (claimant: LoadedDomain) => void (await stored.check(claimant, unknown)),
  'no record': async (claimant: LoadedDomain) => void (await stored.check(claimant, missing)),
  'no record, then a silent zone': async (claimant: LoadedDomain) => {
    await stored.check(claimant, missing);
    await stored.check(await stored.load(claimant.id), unknown);
  },
  'a proxy at one of two servers': async (claimant: LoadedDomain) => {
    const { hostname, target } = claimant;
    const proxied = { code: 'proxied', hostname, target, by: 'Cloudflare', addresses: [] } as const;
    const findings = [...missing.findings, proxied];
    await stored.check(claimant, { ...missing, findings });
    await stored.check(await stored.load(claimant.id), { ...missing, findings: [proxied] });
  },
} as const;
type Before = keyof typeof befores;

type Row = {
  readonly place: Place;
  readonly last: History;
  readonly before: Before;
  readonly txt: Txt;
};

const places: readonly Place[] = ['apex', 'sub', 'proxied', 'wildcard', 'unseen'];
const rows: readonly Row[] = places.flatMap((place) =>
  (Object.keys(histories) as History[]).flatMap((last) =>
    (Object.keys(befores) as Before[]).flatMap((before) =>
      (['none', 'claimant'] as const).map((txt) => ({ place, last, before, txt })),
    ),
  ),
);

const ownHistories: readonly History[] = [
  'none',
  'this claim',
  'this claim, which failed',
  'an earlier claim of the project',
];

/** The specification. */
function isProven({ place, last, before, txt }: Row): boolean {
  if (place === 'sub' || txt === 'claimant') return true;
  if (last === 'this claim' && place !== 'wildcard') return true;
  const isFree = ownHistories.includes(last);
  const cameAfter = before.startsWith('no record');
  return isFree && cameAfter && (place === 'apex' || place === 'proxied');
}

function reasonFor({ place, last }: Row) {
  if (!ownHistories.includes(last)) {
    return { code: 'held_elsewhere', heldBefore: true };
  }
  const routes = { apex: 'addresses', wildcard: 'wildcard', proxied: 'proxy', unseen: 'proxy' };
  return { code: 'ownership_unproven', route: routes[place as keyof typeof routes] };
}

async function claimOf({ place, last, before }: Row): Promise<LoadedDomain> {
  count += 1;
  const zone = `owned-${count}.example`;
  const { id } = await histories[last](place === 'apex' ? zone : `docs.${zone}`);
  await befores[before](await stored.load(id));
  return stored.load(id);
}

const check = (claimant: LoadedDomain, txt: Txt, place: Place) =>
  checkRight(stored, { claimant, holder: claimant }, txt, observedAt[place]);

describe('a right check of a name that no other project has', () => {
  it.each(rows.filter(isProven))(
    'verifies: $place, last held by $last, before: $before, TXT: $txt',
    async (row) => {
      const claimant = await claimOf(row);
      await check(claimant, row.txt, row.place);
      expect((await stored.load(claimant.id)).state.status).toBe('verified');
    },
  );

  it.each(rows.filter((row) => !isProven(row)))(
    'refuses: $place, last held by $last, before: $before, TXT: $txt',
    async (row) => {
      const claimant = await claimOf(row);
      const { followed } = await check(claimant, row.txt, row.place);
      const { state, findings } = await stored.load(claimant.id);
      expect(state).toEqual(claimant.state);
      const value = proofFor(claimant.id, claimant.hostname);
      expect(findings).toMatchObject([{ ...reasonFor(row), proof: { record: { value } } }]);
      expect(followed).toEqual([]);
    },
  );

  it('says why, and which records prove it', async () => {
    const wordsOf = async (place: Place, last: History) => {
      const claimant = await claimOf({ place, last, before: 'nothing', txt: 'none' });
      await check(claimant, 'none', place);
      const [words] = (await stored.load(claimant.id)).findings.map(explain);
      expect(words?.expected).toContain(`TXT _signpost.${claimant.hostname} → `);
      return words;
    };
    expect((await wordsOf('apex', 'a project that removed it'))?.summary).toMatch(
      /^Another project used owned-\d+\.example here before\./,
    );
    expect((await wordsOf('apex', 'none'))?.summary).toContain('had our addresses in every check');
    expect((await wordsOf('proxied', 'none'))?.summary).toContain(
      'was behind a proxy in every check',
    );
    const wildcard = await wordsOf('wildcard', 'none');
    expect(wildcard?.summary).toContain('by a wildcard record');
    expect(wildcard?.action).toMatch(
      /Or, without a proxy, create the CNAME record of exactly docs/,
    );
  });

  it('voids the TXT record of a claim that was removed', async () => {
    const row = { place: 'apex', last: 'none', before: 'nothing', txt: 'none' } as const;
    const first = await claimOf(row);
    const { projectId, hostname, target } = first;
    await remove(first);
    const domains = createDomainStore(stored.database.prisma);
    const again = await domains.add(wholeInstallation, { projectId, hostname, target }, noon);
    const claimant = await stored.load(again?.id ?? '');
    // `holder`: the value of the first claim is the only one in the zone.
    await checkRight(stored, { claimant, holder: first }, 'holder');
    expect((await stored.load(claimant.id)).state.status).toBe('pending');
    await domains.requestVerify(wholeInstallation, projectId, hostname, noon);
    await check(await stored.load(claimant.id), 'claimant', 'apex');
    expect((await stored.load(claimant.id)).state.status).toBe('verified');
  });
});

describe('the project that holds a name', () => {
  const claimsOn = async ({ id }: LoadedDomain) => {
    const where = { domainId: id, type: 'domain.contested' };
    const select = { data: true } as const;
    const orderBy = { id: 'asc' } as const;
    const events = await stored.database.prisma.event.findMany({ where, orderBy, select });
    return events.map(({ data }) => data);
  };

  it('gets one event a day about claims of others, however many there are', async () => {
    const holder = await stored.verified('contested-a-day.example');
    for (let claims = 0; claims < 3; claims += 1) {
      const claimant = await stored.pending(holder.hostname);
      await checkRight(stored, { claimant, holder }, 'none');
    }
    expect(await claimsOn(holder)).toEqual([{ isPublished: false }]);
  });

  it('gets one about the TXT record of another claim beside its own', async () => {
    const holder = await stored.verified('proof-left.example');
    const claimant = await stored.pending(holder.hostname);
    for (let checks = 0; checks < 3; checks += 1) {
      await checkRight(stored, { claimant: await stored.load(claimant.id), holder }, 'both');
    }
    expect(await claimsOn(holder)).toEqual([{ isPublished: false }, { isPublished: true }]);
    expect((await stored.load(holder.id)).state.status).toBe('verified');
  });

  it('drifts and recovers without a proof while another claim is pending', async () => {
    const holder = await stored.verified('recovers.example');
    await stored.pending(holder.hostname);
    const data = { status: 'drifted', driftedAt: noon } as const;
    await stored.database.prisma.domain.update({ where: { id: holder.id }, data });
    await check(await stored.load(holder.id), 'none', 'apex');
    expect((await stored.load(holder.id)).state.status).toBe('live');
  });

  it('gets it back without a proof after a wrong check, beside a pending claim', async () => {
    const holder = await stored.verified('back-at-once.example');
    await stored.pending(holder.hostname);
    await stored.check(holder, missing);
    const pending = await stored.load(holder.id);
    expect(pending.state.status).toBe('pending');
    await check(pending, 'none', 'apex');
    expect((await stored.load(holder.id)).state.status).toBe('verified');
  });

  it('gets no event if its claim is only pending, too', async () => {
    const first = await stored.pending('only-pending.example');
    await stored.pending(first.hostname);
    expect(await claimsOn(first)).toEqual([]);
  });
});
