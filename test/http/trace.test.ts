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

describe('The traceparent header', () => {
  const taken: readonly [what: string, header: string, flags: string][] = [
    ['a sampled header', `00-${TRACE}-${SPAN}-01`, '01'],
    ['a header that is not sampled', `00-${TRACE}-${SPAN}-00`, '00'],
    ['a header with an unknown flag', `00-${TRACE}-${SPAN}-fe`, '00'],
    ['a header of a later version', `01-${TRACE}-${SPAN}-01`, '01'],
    ['a header of a later version with more fields', `cc-${TRACE}-${SPAN}-01-what-may-come`, '01'],
  ];
  test.each(taken)('continues the trace of %s with a new span', (_what, header, flags) => {
    const { traceId, traceparent } = traceOf(undefined, header);
    expect(traceId).toBe(TRACE);
    expect(traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-${flags}$`));
    expect(traceparent).not.toContain(SPAN);
  });

  const replaced: readonly [what: string, header: string | undefined][] = [
    ['no header', undefined],
    ['an empty header', ''],
    ['an upper-case header', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['the forbidden version ff', `ff-${TRACE}-${SPAN}-01`],
    ['version 00 with more fields', `00-${TRACE}-${SPAN}-01-more`],
    ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['two headers', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['a header with a prefix', ` 00-${TRACE}-${SPAN}-01`],
  ];
  test.each(replaced)('starts a new trace for %s', (_what, header) => {
    const [one, other] = [traceOf(undefined, header), traceOf(undefined, header)];
    expect(one.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(one.traceId).not.toBe(TRACE);
    expect(one.traceId).not.toBe(other.traceId);
  });
});

describe('The X-Request-Id header', () => {
  test.each(['a', 'req_1.2-3', 'x'.repeat(64)])('is returned: %s', (given) => {
    expect(traceOf(given, undefined).requestId).toBe(given);
  });

  test.each([undefined, '', 'x'.repeat(65), 'with space', 'a/b', '<b>', 'ü'])(
    'is replaced: %s',
    (given) => {
      expect(traceOf(given, undefined).requestId).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  const secret = 'KnpKO5jtNQzstOsAgWDTKqsu2qLTo62W0Jn3HK';
  const given: readonly [what: string, id: string, authorization: string | undefined][] = [
    ['a Signpost key', `signpost_6xLRkqY7pOB3_${secret}`, undefined],
    ['the key of the same request', 'some-other-operators-key', 'Bearer some-other-operators-key'],
    ['a part of a key', secret, `Bearer signpost_6xLRkqY7pOB3_${secret}`],
    ['API_KEY', CHOSEN, undefined],
  ];
  test.each(given)(
    'is replaced when it is %s, because it is logged',
    (_what, id, authorization) => {
      expect(traceOf(id, undefined, { authorization }).requestId).toMatch(/^[0-9a-f-]{36}$/);
    },
  );
});
