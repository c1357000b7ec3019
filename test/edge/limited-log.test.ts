/** What the edge writes to its log while faults come by the thousand. */
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { limitedLog } from '../../src/edge/edge.ts';
import { until } from '../support/world.ts';

function setUp(everyMs: number) {
  const lines: { msg: string; count?: number; err?: { message: string } }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = limitedLog(pino({ level: 'debug' }, { write }), everyMs);
  const told = () => lines.map(({ msg, count, err }) => [msg, err?.message, count]);
  return { log, told };
}

it('A fault is told at once; those that follow in one line of each kind, with the last and their number', async () => {
  const { log, told } = setUp(50);
  for (let nth = 0; nth < 1_000; nth += 1) {
    for (const kind of ['one', 'other']) log.error({ err: new Error(`no. ${nth}`) }, kind);
  }
  expect(told()).toEqual([
    ['one', 'no. 0', undefined],
    ['other', 'no. 0', undefined],
  ]);
  await until('the rest', async () => told().length > 3);
  expect(told().slice(2)).toEqual([
    ['one', 'no. 999', 999],
    ['other', 'no. 999', 999],
  ]);
});

it('A kind that was quiet for so long is told at once again, and other levels always are', async () => {
  const { log, told } = setUp(20);
  log.error({}, 'kind');
  log.error({}, 'kind');
  await until('their number', async () => told().length === 2);
  // Two after that: the first comes with the number of those before it, or by itself.
  log.error({}, 'kind');
  await until('that one', async () => told().length === 3);
  log.warn({}, 'warning');
  log.warn({}, 'warning');
  log.debug({}, 'detail');
  expect(told().map(([msg]) => msg)).toEqual([
    'kind',
    'kind',
    'kind',
    'warning',
    'warning',
    'detail',
  ]);
});
