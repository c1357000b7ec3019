import type { LabFault } from '../../../src/lab/faults.ts';
import type { Fault, World } from '../fault.ts';
import { sleep } from '../system/wait.ts';
import { customerZones } from '../system/zones.ts';

const BAD_MS = 20_000;

type Count = { count: string };

/** Customers of other zones are unaffected, and no domain is lost over an unknown answer. */
function misbehaving(
  name: string,
  what: string,
  faults: readonly LabFault[],
  { saysWhere = false } = {},
): Fault {
  const own = saysWhere ? 'are served' : 'stay `live` and are served';
  return {
    name: `dns-${name}`,
    what,
    pass: `its pending domains stay \`pending\`, its live ones ${own}, other zones are checked as usual`,
    seconds: BAD_MS / 1_000,
    parts: ['dns'],
    tolerance: { api: 'none', visitors: 'none' },
    recoverySeconds: 30,
    async inject(world) {
      const { random, system } = world;
      // Not the zone of the domain that signals recovery.
      const zone = random.pick(customerZones.slice(1));
      const before = await statuses(world, zone);
      for (const fault of faults) {
        system.zones.fail(zone, fault);
        await sleep(BAD_MS / faults.length);
      }
      const late = await lateElsewhere(world, zone);
      const after = await statuses(world, zone);
      system.zones.heal(zone);
      const ends: Readonly<Record<string, string>> = { pending: 'failed', live: 'drifted' };
      const lost = [...before].filter(([hostname, status]) => {
        const end = saysWhere && status === 'live' ? undefined : ends[status];
        return end !== undefined && after.get(hostname) === end;
      });
      return {
        seen: [`${before.size} domains in the zone`],
        wrong: [
          ...lost.map(
            ([hostname]) => `${hostname} is ${after.get(hostname)} after an inconclusive answer`,
          ),
          ...(late === 0 ? [] : [`${late} domains of other zones were not checked in time`]),
        ],
      };
    },
  };
}

/** None of these answers reveals the zone's content. */
export const dnsSilent = misbehaving(
  'silent',
  'the name servers of a zone answer nothing, then 5 s late',
  ['timeout', { kind: 'delay', ms: 5_000 }],
);
export const dnsLying = misbehaving(
  'lying',
  'answers with a wrong id, question or port, truncated ones, and garbage',
  ['wrong_id', 'wrong_question', 'wrong_source', 'no_tcp', 'garbage', 'flood'],
);
export const dnsLooping = misbehaving(
  'looping',
  'every name of a zone an alias of a further one, without an end',
  ['endless_alias'],
  // An alias to another name is a wrong record in any case.
  { saysWhere: true },
);
export const dnsLame = misbehaving(
  'lame',
  'a zone delegated to servers that refuse, fail or refer to the root',
  ['refused', 'servfail', 'upward_referral', 'not_authoritative'],
);

async function statuses({ system }: World, zone: string): Promise<Map<string, string>> {
  const rows = await system.sql<{ hostname: string; status: string }>(
    `SELECT hostname, status FROM domain WHERE removed_at IS NULL AND hostname LIKE '%.' || $1`,
    [zone],
  );
  return new Map(rows.map(({ hostname, status }) => [hostname, status]));
}

async function lateElsewhere({ system }: World, zone: string): Promise<number> {
  const [row] = await system.sql<Count>(
    `SELECT count(*) FROM domain WHERE removed_at IS NULL AND hostname NOT LIKE '%.' || $1
       AND coalesce(recheck_at, next_check_at) < now() - interval '15 seconds'`,
    [zone],
  );
  return Number(row?.count);
}
