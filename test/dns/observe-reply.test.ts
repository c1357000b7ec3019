/** How responses of servers are classified and what they are trusted for. */
import { describe, expect, it } from 'vitest';
import { classifyAuthoritative, classifyRecursive } from '../../src/dns/servers/reply.ts';
import { soaIn, textsAt } from '../../src/dns/servers/select.ts';
import type { Message } from '../../src/dns/wire/message.ts';
import type { ResourceRecord } from '../../src/dns/wire/records.ts';

const message = (fields: Partial<Message>): Message => ({
  id: 1,
  response: true,
  authoritative: false,
  truncated: false,
  recursionDesired: false,
  recursionAvailable: false,
  authenticData: false,
  checkingDisabled: false,
  rcode: 0,
  question: undefined,
  answers: [],
  authority: [],
  additional: [],
  extendedErrors: [],
  ...fields,
});

const response = (fields: Partial<Message>) =>
  ({ kind: 'response', message: message(fields), via: 'udp', rttMs: 3 }) as const;

const ns = (name: string, target: string): ResourceRecord => ({
  type: 'NS',
  name,
  target,
  ttlSeconds: 300,
});
const a = (name: string, address: string): ResourceRecord => ({
  type: 'A',
  name,
  address,
  ttlSeconds: 60,
});

describe('the response of a server of shop.test about docs.b.shop.test', () => {
  const replyTo = (fields: Partial<Message>) =>
    classifyAuthoritative(response(fields), 'shop.test', 'docs.b.shop.test');

  it('is a downward referral with in-bailiwick glue', () => {
    const reply = replyTo({
      authority: [ns('b.shop.test', 'ns.b.shop.test'), ns('b.shop.test', 'ns.other.test')],
      additional: [a('ns.b.shop.test', '192.0.2.1'), a('ns.other.test', '192.0.2.66')],
    });
    expect(reply).toEqual({
      kind: 'referral',
      zone: 'b.shop.test',
      servers: [
        { name: 'ns.b.shop.test', glue: ['192.0.2.1'] },
        { name: 'ns.other.test', glue: [] },
      ],
      ttlSeconds: 300,
    });
  });

  it.each<[string, Partial<Message>, string]>([
    ['refers to the root', { authority: [ns('.', 'a.root-servers.net')] }, 'not_authoritative'],
    ['refers above itself', { authority: [ns('test', 'ns1.test')] }, 'not_authoritative'],
    ['refers to itself', { authority: [ns('shop.test', 'ns1.shop.test')] }, 'not_authoritative'],
    ['refers sideways', { authority: [ns('c.shop.test', 'ns1.shop.test')] }, 'not_authoritative'],
    ['answers without AA', { answers: [a('docs.b.shop.test', '192.0.2.1')] }, 'not_authoritative'],
    ['denies without AA', { rcode: 3 }, 'not_authoritative'],
    ['refuses', { rcode: 5, authoritative: true }, 'refused'],
    ['has RCODE REFUSED', { rcode: 9 }, 'refused'],
    ['has RCODE FORMERR', { rcode: 1 }, 'servfail'],
    ['fails', { rcode: 2 }, 'servfail'],
    ['has RCODE NOTIMP', { rcode: 4 }, 'servfail'],
  ])('is rejected when it %s', (_what, fields, state) => {
    const { rcode = 0, authoritative: aa = false } = fields;
    expect(replyTo(fields)).toMatchObject({ state, aa, rcode, rttMs: 3 });
  });

  it.each(['timeout', 'malformed', 'not_asked'] as const)('is a failure when it is: %s', (kind) => {
    expect(classifyAuthoritative({ kind }, 'shop.test', 'docs.shop.test')).toMatchObject({
      state: kind,
      aa: null,
      rcode: null,
    });
  });

  it('is trusted with AA', () => {
    expect(replyTo({ authoritative: true, rcode: 3 })).toMatchObject({ kind: 'message', rttMs: 3 });
  });
});

it('a server without recursion is rejected as a resolver', () => {
  const answers = [a('docs.shop.test', '192.0.2.1')];
  expect(classifyRecursive(response({ answers }))).toMatchObject({ kind: 'refused' });
  expect(classifyRecursive(response({ answers, recursionAvailable: true }))).toMatchObject({
    kind: 'message',
  });
});

it('an alias with a dot inside a label differs from the name with two labels', () => {
  const answers: ResourceRecord[] = [
    { type: 'CNAME', name: 'docs.shop.test', target: 'p1\\.edge.test', ttlSeconds: 60 },
  ];
  expect(textsAt(message({ answers }), 'docs.shop.test', 'CNAME')).toMatchObject({
    records: ['p1\\.edge.test'],
  });
});

it('the SOA record of another zone is ignored', () => {
  const soa = (name: string): ResourceRecord => ({
    type: 'SOA',
    name,
    mname: 'ns1',
    serial: 7,
    minimumSeconds: 300,
    ttlSeconds: 900,
  });
  const of = (name: string) => soaIn(message({ authority: [soa(name)] }), 'docs.shop.test');
  expect(of('shop.test')).toEqual({ serial: 7, negativeTtlSeconds: 300 });
  expect(of('edge.test')).toBeNull();
});
