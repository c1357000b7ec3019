/** Our own resolvers fail, and addresses that cannot be reached. */
import type { Case } from '../case.ts';
import { table } from '../table.ts';

const right = 'docs CNAME p1.edge.test.';

export const ourSide: readonly Case[] = [
  ...failing('silent', 'our resolver is silent', 'we could not query the DNS'),
  ...failing('refuses', 'our resolver refuses everything', 'we could not query the DNS'),
  ...failing('fails', 'our resolver fails for everything', 'our own resolvers fail for every name'),
  ...table(
    'private',
    `
*the address is one of a private network | nsd bind | docs A 10.0.0.7 | docs | wrong conflicting_a +reserved_address CNAME docs | Delete the A record 10.0.0.7
an apex has a private address | nsd bind | @ A 192.168.1.7 | @ | wrong apex_elsewhere +reserved_address ALIAS @ | 192.168.1.7
the address is the one of this host | nsd knot | docs AAAA ::1 | docs | wrong conflicting_aaaa +reserved_address CNAME docs | Delete the AAAA record ::1
`,
  ).map((one): Case => ({ ...one, strict: true })),
];

function failing(
  resolver: NonNullable<Case['resolver']>,
  title: string,
  says: string,
): readonly Case[] {
  const cases = table(
    resolver,
    `
${title} | nsd bind | ${right} | docs | unknown dns_unknown CNAME docs | ${says}
${title} for an apex | nsd bind | @ A 203.0.113.10 | @ | unknown dns_unknown ALIAS @ | ${says}
`,
  );
  return cases.map((one): Case => ({ ...one, resolver }));
}
