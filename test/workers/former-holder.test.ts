/** A name that a project held earlier: whether the next one needs its TXT record. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { explain } from '../../src/core/diagnosis/findings.ts';
import { createAccountStore } from '../../src/db/accounts.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { missing, noon } from '../support/builders.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';
import { checkRight, observedAt, type Place, type Txt } from './claim-world.ts';

let stored: StoredDomains;
let accountId: string;
let count = 0;

beforeAll(async () => {
  stored = await openStoredDomains();
  const accounts = createAccountStore(stored.database.prisma);
  ({ id: accountId } = await accounts.create(wholeInstallation, { name: 'Another' }, noon));
});
afterAll(() => stored?.close());

/** How the former holder stopped holding the name. */
const endings = {
  removed: async ({ projectId, hostname }: LoadedDomain) => {
    const domains = createDomainStore(stored.database.prisma);
    await domains.remove(wholeInstallation, { projectId, hostname }, { at: noon });
  },
  deleted: async (domain: LoadedDomain) => {
    await endings.removed(domain);
    const projects = createProjectStore(stored.database.prisma);
    await projects.remove(wholeInstallation, domain.projectId, noon);
  },
  failed: async ({ id }: LoadedDomain) => {
    const data = { status: 'failed', failedAt: noon, verifiedAt: null } as const;
    await stored.database.prisma.domain.update({ where: { id }, data });
  },
};

type Row = {
  readonly place: Place;
  readonly ending: keyof typeof endings;
  readonly from: 'another account' | 'the same account';
  readonly txt: Txt;
};

const rows: readonly Row[] = (['apex', 'sub', 'proxied'] as const).flatMap((place) =>
  (['removed', 'deleted', 'failed'] as const).flatMap((ending) =>
    (['another account', 'the same account'] as const).flatMap((from) =>
      (['none', 'claimant', 'both', 'unknown'] as const).map((txt) => ({
        ...{ place, ending, from, txt },
      })),
    ),
  ),
);

/** A CNAME names the project, and projects of one account trust each other. */
const needsProof = ({ place, from }: Row) => place === 'apex' && from === 'another account';
const proven = (row: Row) => !needsProof(row) || row.txt === 'claimant';

/** Proxied subdomains need the record in any account: test/workers/resolve-claim.test.ts. */
const decided = rows.filter(({ place, from }) => place !== 'proxied' || from === 'another account');
const isRefused = (row: Row) => (row.place === 'proxied' ? row.txt !== 'claimant' : !proven(row));

async function claimAfter({ place, ending, from }: Row) {
  count += 1;
  const zone = `former-${count}.example`;
  const hostname = place === 'apex' ? zone : `docs.${zone}`;
  const owner = from === 'another account' ? accountId : undefined;
  const holder = await stored.verified(hostname, owner);
  await endings[ending](holder);
  return { holder, claimant: await stored.pending(hostname) };
}

describe('a right check of a name that a project held before', () => {
  it.each(decided.filter((row) => !isRefused(row)))(
    'verifies the $place after $from $ending it, TXT: $txt',
    async (row) => {
      const pair = await claimAfter(row);
      await checkRight(stored, pair, row.txt, observedAt[row.place]);
      expect((await stored.load(pair.claimant.id)).state.status).toBe('verified');
    },
  );

  it.each(decided.filter(isRefused))(
    'refuses the $place after $from $ending it, TXT: $txt',
    async (row) => {
      const pair = await claimAfter(row);
      const { followed } = await checkRight(stored, pair, row.txt, observedAt[row.place]);
      const { state, findings } = await stored.load(pair.claimant.id);
      expect(state.status).toBe('pending');
      expect(findings).toMatchObject([{ code: 'held_elsewhere', proof: { record: {} } }]);
      expect(followed).toEqual([]);
    },
  );

  it('says that another account had it', async () => {
    const row = { place: 'apex', ending: 'removed', from: 'another account', txt: 'none' } as const;
    const pair = await claimAfter(row);
    await checkRight(stored, pair, 'none');
    const { findings } = await stored.load(pair.claimant.id);
    expect(findings).toMatchObject([{ code: 'held_elsewhere', heldBefore: true }]);
    const [said] = findings.map(explain);
    const { hostname } = pair.claimant;
    expect(said?.summary).toBe(
      `Another account used ${hostname} here before. Its DNS records can be left over, so they do not prove who owns it now.`,
    );
    expect(said?.expected).toContain(`TXT _signpost.${hostname} → `);
    expect(said?.action).toContain(`create a TXT record with the name “_signpost”`);
  });

  it('counts a moved project in the account where it is now', async () => {
    const projects = createProjectStore(stored.database.prisma);
    const row = {
      place: 'apex',
      ending: 'removed',
      from: 'the same account',
      txt: 'none',
    } as const;
    const { holder, claimant } = await claimAfter(row);
    await projects.update(wholeInstallation, holder.projectId, { accountId });
    await checkRight(stored, { holder, claimant }, 'none');
    expect((await stored.load(claimant.id)).findings).toMatchObject([{ heldBefore: true }]);
    await projects.update(wholeInstallation, claimant.projectId, { accountId });
    const again = await stored.load(claimant.id);
    await checkRight(stored, { holder, claimant: again }, 'none');
    expect((await stored.load(claimant.id)).state.status).toBe('verified');
  });

  it('needs nothing of a claim that was never verified', async () => {
    const hostname = 'never-held.example';
    const other = await stored.pending(hostname, accountId);
    await stored.check(other, missing);
    await endings.removed(other);
    const pair = { holder: other, claimant: await stored.pending(hostname) };
    await checkRight(stored, pair, 'none');
    expect((await stored.load(pair.claimant.id)).state.status).toBe('verified');
  });

  it('needs the record again of an account that lost the name to another one', async () => {
    const row = { place: 'apex', ending: 'removed', from: 'another account', txt: 'none' } as const;
    const { holder, claimant } = await claimAfter(row);
    await checkRight(stored, { holder, claimant }, 'claimant');
    await endings.removed(claimant);
    const back = { holder: claimant, claimant: await stored.pending(holder.hostname, accountId) };
    await checkRight(stored, back, 'none');
    expect((await stored.load(back.claimant.id)).state.status).toBe('pending');
  });
});
