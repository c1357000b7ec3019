/** Our own resolver, and addresses that nobody can reach. */
import type { Case } from '../case.ts';
import { table } from '../table.ts';

const right = 'docs CNAME p1.edge.test.';

export const ours: readonly Case[] = [
  ...sick('silent', 'our resolver is silent'),
  ...sick('refuses', 'our resolver declines everything'),
  ...table(
    'private',
    `
*an address of a private network  | nsd bind | docs A 10.0.0.7 | docs | wrong conflicting_a +reserved_address CNAME docs | Delete the A record 10.0.0.7
an apex at a private address      | nsd bind | @ A 192.168.1.7 | @ | wrong apex_elsewhere +reserved_address ALIAS @ | 192.168.1.7
an address of this host           | nsd knot | docs AAAA ::1 | docs | wrong conflicting_aaaa +reserved_address CNAME docs | Delete the AAAA record ::1
`,
  ).map((one): Case => ({ ...one, strict: true })),
];

function sick(resolver: 'silent' | 'refuses', title: string): readonly Case[] {
  const cases = table(
    resolver,
    `
${title}                 | nsd bind | ${right} | docs | unknown dns_unknown CNAME docs | Nothing for you to do
${title}, and the apex   | nsd bind | @ A 203.0.113.10 | @ | unknown dns_unknown ALIAS @ | our side couldn’t ask
`,
  );
  return cases.map((one): Case => ({ ...one, resolver }));
}
