import { describe, expect, test } from 'vitest';
import { createIsSecret } from '../../src/http/keys/auth.ts';
import type { Headers } from '../../src/http/pipeline/route.ts';
import { traceOf as traceOfHeaders } from '../../src/http/pipeline/trace.ts';

const CHOSEN = 'chosen-by-an-operator';
const isSecret = createIsSecret(CHOSEN);
const traceOf = (requestId?: string, traceparent?: string, more: Headers = {}) =>
  traceOfHeaders({ 'x-request-id': requestId, traceparent, ...more }, isSecret);

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('traceparent', () => {
  const taken: readonly [what: string, header: string, flags: string][] = [
    ['a sampled one', `00-${TRACE}-${SPAN}-01`, '01'],
    ['one that is not sampled', `00-${TRACE}-${SPAN}-00`, '00'],
    ['one with a flag that nobody knows yet', `00-${TRACE}-${SPAN}-fe`, '00'],
    ['one of a later version', `01-${TRACE}-${SPAN}-01`, '01'],
    ['one of a later version with more fields', `cc-${TRACE}-${SPAN}-01-what-may-come`, '01'],
  ];
  test.each(taken)('%s is continued with a span of ours', (_what, header, flags) => {
    const { traceId, traceparent } = traceOf(undefined, header);
    expect(traceId).toBe(TRACE);
    expect(traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-${flags}$`));
    expect(traceparent).not.toContain(SPAN);
  });

  const replaced: readonly [what: string, header: string | undefined][] = [
    ['none', undefined],
    ['an empty one', ''],
    ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['the forbidden version ff', `ff-${TRACE}-${SPAN}-01`],
    ['version 00 with more fields', `00-${TRACE}-${SPAN}-01-more`],
    ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['two of them', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['something before it', ` 00-${TRACE}-${SPAN}-01`],
  ];
  test.each(replaced)('%s begins a new trace', (_what, header) => {
    const [one, other] = [traceOf(undefined, header), traceOf(undefined, header)];
    expect(one.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(one.traceId).not.toBe(TRACE);
    expect(one.traceId).not.toBe(other.traceId);
  });
});

describe('X-Request-Id', () => {
  test.each(['a', 'req_1.2-3', 'x'.repeat(64)])('%s comes back', (given) => {
    expect(traceOf(given, undefined).requestId).toBe(given);
  });

  test.each([undefined, '', 'x'.repeat(65), 'with space', 'a/b', '<b>', 'ü'])(
    '%s is replaced by one of ours',
    (given) => {
      expect(traceOf(given, undefined).requestId).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  const secret = 'KnpKO5jtNQzstOsAgWDTKqsu2qLTo62W0Jn3HK';
  const given: readonly [what: string, id: string, authorization: string | undefined][] = [
    ['a key of ours', `signpost_6xLRkqY7pOB3_${secret}`, undefined],
    ['the key of the same request', 'some-other-operators-key', 'Bearer some-other-operators-key'],
    ['a part of it', secret, `Bearer signpost_6xLRkqY7pOB3_${secret}`],
    ['API_KEY', CHOSEN, undefined],
  ];
  test.each(given)(
    'that is %s is replaced, because it would be logged',
    (_what, id, authorization) => {
      expect(traceOf(id, undefined, { authorization }).requestId).toMatch(/^[0-9a-f-]{36}$/);
    },
  );
});
