/** A CNAME that leads to itself, as each program answers it. */
import type { Case } from '../case.ts';

export const loops: readonly Case[] = (['nsd', 'bind', 'knot', 'pdns'] as const).flatMap(
  (program): readonly Case[] => {
    const [self, pair] = [`self-${program}.test`, `pair-${program}.test`];
    const servers = [`a.${program}.test`];
    const loop = { verdict: 'wrong', leading: 'cname_loop', record: 'CNAME docs' } as const;
    return [
      {
        title: `a CNAME to itself at ${program}`,
        zones: [{ name: self, records: [`docs CNAME docs.${self}.`], servers }],
        hostname: `docs.${self}`,
        ...loop,
        says: 'forms a loop',
        ...(program === 'bind' && { quick: true as const }),
      },
      {
        title: `a CNAME to itself by way of another name at ${program}`,
        zones: [{ name: pair, records: ['docs CNAME other', 'other CNAME docs'], servers }],
        hostname: `docs.${pair}`,
        ...loop,
        says: `docs.${pair} → other.${pair} → docs.${pair}`,
      },
    ];
  },
);
