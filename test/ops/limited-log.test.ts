import { pino } from 'pino';
import { expect, it } from 'vitest';
import { limitedLog } from '../../src/ops/log.ts';
import { until } from '../support/world.ts';

function setUp(everyMs: number) {
  const lines: { msg: string; count?: number; err?: { message: string } }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = limitedLog(pino({ level: 'debug' }, { write }), everyMs);
  const logged = () => lines.map(({ msg, count, err }) => [msg, err?.message, count]);
  return { log, logged };
}

it('The first fault is logged at once; later ones of its kind are summed up in one line', async () => {
  const { log, logged } = setUp(50);
  for (let nth = 0; nth < 1_000; nth += 1) {
    for (const kind of ['one', 'other']) log.error({ err: new Error(`no. ${nth}`) }, kind);
  }
  expect(logged()).toEqual([
    ['one', 'no. 0', undefined],
    ['other', 'no. 0', undefined],
  ]);
  await until('the rest', async () => logged().length > 3);
  expect(logged().slice(2)).toEqual([
    ['one', 'no. 999', 999],
    ['other', 'no. 999', 999],
  ]);
});

it('A kind is logged at once again after a quiet period; other levels always are', async () => {
  const { log, logged } = setUp(20);
  log.error({}, 'kind');
  log.error({}, 'kind');
  await until('their number', async () => logged().length === 2);
  // Two later ones: the first carries the count of those before it, or has no count.
  log.error({}, 'kind');
  await until('that one', async () => logged().length === 3);
  log.warn({}, 'warning');
  log.warn({}, 'warning');
  log.debug({}, 'detail');
  expect(logged().map(([msg]) => msg)).toEqual([
    'kind',
    'kind',
    'kind',
    'warning',
    'warning',
    'detail',
  ]);
});
