/** Zones with more name servers than one check queries. */
import type { Case } from '../case.ts';

const right = 'docs CNAME p1.edge.test.';
const names = (operator: string, letter: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${letter}${10 + i}.${operator}.test`);

export const manyServers: readonly Case[] = [
  {
    title: 'the second of two providers with eight servers lacks the record',
    zones: [
      {
        name: 'eight.test',
        records: [],
        servers: [...names('nsd', 'a', 4), ...names('bind', 'z', 4)],
        apart: { nsd: [right] },
      },
    ],
    hostname: 'docs.eight.test',
    verdict: 'wrong',
    leading: 'name_servers_disagree',
    record: 'CNAME docs',
    says: 'no such name',
    quick: true,
  },
  {
    title: 'one of four providers with six servers lacks the record in its own copy',
    zones: [
      {
        name: 'six.test',
        records: [],
        servers: [...names('nsd', 'a', 3), 'k.knot.test', 'p.pdns.test', 'z.bind.test'],
        apart: { nsd: [right], knot: [right], pdns: [right] },
      },
    ],
    hostname: 'docs.six.test',
    verdict: 'wrong',
    leading: 'name_servers_disagree',
    record: 'CNAME docs',
    says: 'z.bind.test still shows',
  },
  {
    title: 'the first four of eight servers have no address',
    zones: [
      {
        name: 'half.test',
        records: [right],
        servers: [...names('nameless', 'a', 4), ...names('nsd', 'z', 4)],
      },
    ],
    hostname: 'docs.half.test',
    verdict: 'right',
    leading: 'name_server_unreachable',
    record: 'CNAME docs',
    says: 'or enter a name that has public addresses',
  },
  {
    title: 'one of thirty servers has no address and the next three are dead',
    zones: [
      {
        name: 'mixed.test',
        records: [right],
        servers: [...names('nameless', 'a', 1), ...names('dead', 'b', 3), ...names('nsd', 'z', 26)],
      },
    ],
    hostname: 'docs.mixed.test',
    verdict: 'right',
    leading: 'name_server_unreachable',
    record: 'CNAME docs',
    says: 'some servers answer',
  },
  {
    title: 'the first four of thirty servers are dead',
    zones: [
      {
        name: 'thirty.test',
        records: [right],
        servers: [...names('dead', 'a', 4), ...names('nsd', 'z', 26)],
      },
    ],
    hostname: 'docs.thirty.test',
    verdict: 'right',
    leading: 'name_server_unreachable',
    record: 'CNAME docs',
    says: 'are unreachable',
  },
  {
    title: 'five of six servers are dead and the record is missing',
    zones: [{ name: 'five.test', records: [], servers: [...names('dead', 'a', 5), 'z.nsd.test'] }],
    hostname: 'docs.five.test',
    verdict: 'wrong',
    leading: 'record_missing',
    record: 'CNAME docs',
    says: 'does not exist',
  },
];
