import { expect, it } from 'vitest';
import { createAuthorityAsker } from '../../src/dns/servers/authority.ts';
import { createHosts } from '../../src/dns/servers/hosts.ts';
import { defaultLimits, startBudget } from '../../src/dns/wire/budget.ts';
import type { WireAnswer } from '../../src/dns/wire/exchange.ts';

const [public4, public6] = ['93.184.215.14', '2606:2800::1'];

/** Queries a server at these glue addresses; others than those in `answers` fail the test. */
async function contact(glue: readonly string[], answers: Readonly<Record<string, WireAnswer>>) {
  const nobody = () => Promise.reject(new Error('unexpected query'));
  const recursive = { servers: [], inTurn: () => [], ask: nobody, askOne: nobody };
  const asker = createAuthorityAsker({
    hosts: createHosts({ recursive, allowPrivate: false }),
    authorityPort: 53,
    throttle: {
      ask: async (_question, { address }) => {
        const answer = answers[address];
        if (answer === undefined) throw new Error(`queried ${address}`);
        return answer;
      },
    },
  });
  const server = { name: 'ns1.shop.test', glue };
  const question = { name: 'docs.shop.test', type: 'A' } as const;
  const budget = () => startBudget(defaultLimits);
  return {
    asker,
    found: await asker.ask('shop.test', server, question, budget()),
    askAt: (address: string) => asker.askAt(address, 'shop.test', server, question, budget()),
  };
}

const silence = { kind: 'timeout' } as const;
const unsent = { kind: 'not_asked' } as const;
const nonsense = { kind: 'malformed' } as const;

it.each<[string, string[], Record<string, WireAnswer>, string | null, string]>([
  [
    'silent at one, answers at the other',
    [public4, public6],
    { [public4]: silence, [public6]: nonsense },
    public6,
    'malformed',
  ],
  [
    'silent at both',
    [public4, public6],
    { [public4]: silence, [public6]: silence },
    public4,
    'timeout',
  ],
  [
    'no IPv4 route, answers by IPv6',
    [public4, public6],
    { [public4]: unsent, [public6]: nonsense },
    public6,
    'malformed',
  ],
  [
    'silent by IPv4, no IPv6 route',
    [public4, public6],
    { [public4]: silence, [public6]: unsent },
    public4,
    'timeout',
  ],
  [
    'no route to either',
    [public4, public6],
    { [public4]: unsent, [public6]: unsent },
    public4,
    'not_asked',
  ],
  ['no route to the only one', [public6], { [public6]: unsent }, public6, 'not_asked'],
  [
    'one reserved, answers at the other',
    ['10.0.0.1', public6],
    { [public6]: nonsense },
    public6,
    'malformed',
  ],
  [
    'one reserved, silent at the other',
    ['10.0.0.1', public6],
    { [public6]: silence },
    public6,
    'timeout',
  ],
  ['both reserved', ['10.0.0.1', 'fd00::1'], {}, '10.0.0.1', 'reserved_address'],
  ['only a reserved one, by IPv6', ['fd00::1'], {}, 'fd00::1', 'reserved_address'],
])(
  'a server with addresses %s: the most informative response counts',
  async (_what, glue, answers, address, state) => {
    const { found } = await contact(glue, answers);
    expect(found).toMatchObject({ address, reply: { state } });
  },
);

it('a reserved address is not queried when it is cached', async () => {
  const { askAt } = await contact([public4], { [public4]: nonsense });
  expect(await askAt('169.254.169.254')).toMatchObject({ state: 'reserved_address' });
});

it.each([
  ['silence', silence, false],
  ['a query that was never sent', unsent, false],
  ['a partial response', { kind: 'timeout', responded: true } as const, true],
  ['nonsense', nonsense, true],
])('after %s (%j), hasResponded is %s', async (_what, answer, responded) => {
  const { asker } = await contact([public4], { [public4]: answer });
  expect(asker.hasResponded()).toBe(responded);
});
