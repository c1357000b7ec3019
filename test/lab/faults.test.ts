/** Checks on the wire that only the requested faults occur. */

import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type LabDnsOptions, type LabDnsServer, startDnsServer } from '../../src/lab/dns-server.ts';
import type { LabFault } from '../../src/lab/faults.ts';
import { bytesOf, openClient, type Query } from './client.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const zones = {
  'shop.test': ['docs CNAME p1.edge.test.', 'www A 192.0.2.1', '@ CAA 0 issue "ca.example"'],
  'edge.test': ['p1 A 192.0.2.10'],
};

async function openDns(options: Partial<LabDnsOptions> = {}): Promise<LabDnsServer> {
  const dns = await startDnsServer({ zones, ...options });
  open.push(dns.close);
  return dns;
}

function clientOf(dns: Pick<LabDnsServer, 'address' | 'port'>) {
  const client = openClient(dns);
  open.push(client.close);
  return client;
}

async function ask(dns: Pick<LabDnsServer, 'address' | 'port'>, query: Query) {
  const client = clientOf(dns);
  const next = client.next();
  client.send(query);
  return await next;
}

const www = { name: 'www.shop.test' };
const rightAddress = { type: 'A', name: 'www.shop.test', data: '192.0.2.1' };

describe('A lame name server', () => {
  const none: object[] = [];
  it.each<[LabFault, object]>([
    ['servfail', { rcode: 2, authoritative: false, packet: { answers: none } }],
    ['refused', { rcode: 5, authoritative: false, packet: { answers: none } }],
    ['notimp', { rcode: 4, authoritative: false, packet: { answers: none } }],
    ['nxdomain', { rcode: 3, authoritative: true, packet: { answers: none } }],
    ['nodata', { rcode: 0, authoritative: true, packet: { answers: none } }],
    ['not_authoritative', { rcode: 0, authoritative: false, packet: { answers: [rightAddress] } }],
    [
      'upward_referral',
      {
        rcode: 0,
        authoritative: false,
        packet: { answers: none, authorities: [{ type: 'NS', name: '.' }] },
      },
    ],
    [
      'endless_alias',
      { rcode: 0, authoritative: true, packet: { answers: [{ data: 'n1.www.shop.test' }] } },
    ],
  ])('answers %s', async (fault, expected) => {
    const dns = await openDns();
    dns.fail('www.shop.test', 'A', fault);
    expect(await ask(dns, www)).toMatchObject(expected);
  });

  it('returns endless aliases', async () => {
    const dns = await openDns();
    dns.fail('.shop.test', '*', 'endless_alias');
    const { packet } = await ask(dns, { name: 'n41.www.shop.test' });
    expect(packet.answers).toMatchObject([{ type: 'CNAME', data: 'n42.www.shop.test' }]);
  });

  it('answers without EDNS', async () => {
    const dns = await openDns();
    dns.fail('.', '*', 'formerr_edns');
    const first = await ask(dns, { ...www, edns: true });
    expect(first).toMatchObject({ rcode: 1, packet: { answers: [], additionals: [] } });
    expect(await ask(dns, www)).toMatchObject({ rcode: 0, packet: { answers: [rightAddress] } });
  });

  it('knows every type except CAA', async () => {
    const dns = await openDns();
    dns.fail('.', 'CAA', 'notimp');
    expect(await ask(dns, { name: 'shop.test', type: 'CAA' })).toMatchObject({ rcode: 4 });
    expect(await ask(dns, www)).toMatchObject({ rcode: 0 });
  });
});

describe('A broken response', () => {
  it('has another id', async () => {
    const dns = await openDns();
    dns.fail('www.shop.test', 'A', 'wrong_id');
    expect((await ask(dns, { ...www, id: 70 })).packet.id).toBe(71);
  });

  it('is about another name', async () => {
    const dns = await openDns();
    dns.fail('www.shop.test', 'A', 'wrong_question');
    const { packet } = await ask(dns, www);
    expect(packet.questions).toMatchObject([{ name: 'vww.shop.test' }]);
  });

  it('comes from another port', async () => {
    const dns = await openDns();
    dns.fail('www.shop.test', 'A', 'wrong_source');
    const { from, packet } = await ask(dns, www);
    expect(from.address).toBe(dns.address);
    expect(from.port).not.toBe(dns.port);
    expect(packet.answers).toMatchObject([rightAddress]);
  });

  it('never comes', async () => {
    const dns = await openDns();
    dns.fail('www.shop.test', 'A', 'timeout');
    const client = clientOf(dns);
    const next = client.next();
    client.send({ ...www, id: 1 });
    client.send({ name: 'docs.shop.test', id: 2 });
    expect((await next).packet.id).toBe(2);
  });

  it('is held until released, and then correct', async () => {
    const dns = await openDns();
    dns.fail('www.shop.test', 'A', 'hold');
    const client = clientOf(dns);
    const first = client.next();
    client.send({ ...www, id: 1 });
    client.send({ name: 'docs.shop.test', id: 2 });
    expect((await first).packet.id).toBe(2);
    const second = client.next();
    dns.heal('www.shop.test');
    expect(await second).toMatchObject({ packet: { id: 1, answers: [rightAddress] } });
  });

  it('comes later', async () => {
    const dns = await openDns();
    dns.fail('www.shop.test', 'A', { kind: 'delay', ms: 5 });
    const client = clientOf(dns);
    const first = client.next();
    client.send({ ...www, id: 1 });
    client.send({ name: 'docs.shop.test', id: 2 });
    expect((await first).packet.id).toBe(2);
    expect((await client.next()).packet.id).toBe(1);
  });
});

describe('TCP to the lab DNS server', () => {
  const resolver = (dns: LabDnsServer) => {
    const one = new Resolver({ timeout: 3_000, tries: 1 });
    one.setServers([`${dns.address}:${dns.port}`]);
    return one;
  };

  it('can be refused', async () => {
    const dns = await openDns({ tcp: false });
    const socket = connect(dns.port, dns.address);
    const [error] = await once(socket, 'error').catch((thrown: unknown) => [thrown]);
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(await resolver(dns).resolve4('www.shop.test')).toEqual(['192.0.2.1']);
  });

  it('can be closed early, so that a truncated response stays truncated', async () => {
    const dns = await openDns();
    dns.fail('www.shop.test', 'A', 'no_tcp');
    const { packet } = await ask(dns, www);
    expect(packet).toMatchObject({ flag_tc: true, answers: [] });
    const socket = connect(dns.port, dns.address);
    const query = bytesOf(www);
    socket.write(Buffer.concat([Buffer.from([0, query.length]), query]));
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(0);
  });
});

describe('The case of a query name', () => {
  it('is preserved, although the response is prepared once', async () => {
    const dns = await openDns();
    for (const name of ['wWw.ShOp.tEsT', 'WWW.shop.test', 'www.shop.test']) {
      const { packet } = await ask(dns, { name });
      expect(packet.questions).toMatchObject([{ name }]);
      expect(packet.answers).toMatchObject([rightAddress]);
    }
    expect(dns.questions.map(({ name }) => name)).toEqual(Array(3).fill('www.shop.test'));
  });

  it('can get lost', async () => {
    const dns = await openDns();
    dns.fail('www.shop.test', 'A', 'lower_case');
    const { packet } = await ask(dns, { name: 'wWw.ShOp.tEsT' });
    expect(packet.questions).toMatchObject([{ name: 'www.shop.test' }]);
  });
});

describe('A lab recursive server', () => {
  const recursively = (name: string, more: Partial<Query> = {}): Query => ({
    name,
    recursionDesired: true,
    ...more,
  });

  it('can know other zones than the authoritative server', async () => {
    const dns = await openDns({ known: { 'shop.test': ['www A 192.0.2.99'] } });
    expect((await ask(dns, www)).packet.answers).toMatchObject([rightAddress]);
    const old = await ask(dns, recursively('www.shop.test'));
    expect(old.packet.answers).toMatchObject([{ data: '192.0.2.99' }]);
    dns.know('shop.test', ['www A 192.0.2.98']);
    const newer = await ask(dns, recursively('www.shop.test'));
    expect(newer.packet.answers).toMatchObject([{ data: '192.0.2.98' }]);
  });

  it('can fail alone, and so can the authoritative server', async () => {
    const dns = await openDns();
    dns.fail('www.shop.test', '*', 'servfail', 'recursive');
    dns.fail('docs.shop.test', '*', 'refused', 'authority');
    expect(await ask(dns, recursively('www.shop.test'))).toMatchObject({ rcode: 2 });
    expect(await ask(dns, www)).toMatchObject({ rcode: 0 });
    expect(await ask(dns, recursively('docs.shop.test'))).toMatchObject({ rcode: 0 });
    expect(await ask(dns, { name: 'docs.shop.test' })).toMatchObject({ rcode: 5 });
  });

  it('reports bad signatures with SERVFAIL and reasons, unless checking is disabled', async () => {
    const dns = await openDns();
    const errors = [{ code: 7, text: 'signature expired on Monday' }];
    dns.fail('.shop.test', '*', { kind: 'bogus', errors }, 'recursive');
    expect(await ask(dns, recursively('www.shop.test', { dnssecOk: true }))).toMatchObject({
      rcode: 2,
      errors: ['7 signature expired on Monday'],
    });
    const bare = await ask(dns, recursively('www.shop.test'));
    expect(bare).toMatchObject({ rcode: 2, errors: [] });
    const unchecked = recursively('www.shop.test', { dnssecOk: true, checkingDisabled: true });
    expect(await ask(dns, unchecked)).toMatchObject({
      rcode: 0,
      errors: [],
      packet: { flag_cd: true, answers: [rightAddress] },
    });
    expect(await ask(dns, recursively('p1.edge.test'))).toMatchObject({ rcode: 0 });
  });

  it('marks a signed zone as authenticated', async () => {
    const dns = await openDns({ signed: ['shop.test'] });
    const flag = async (name: string, more: Partial<Query>) =>
      (await ask(dns, recursively(name, more))).authenticData;
    expect(await flag('www.shop.test', { dnssecOk: true })).toBe(true);
    expect(await flag('www.shop.test', { dnssecOk: true, checkingDisabled: true })).toBe(false);
    expect(await flag('www.shop.test', {})).toBe(false);
    expect(await flag('p1.edge.test', { dnssecOk: true })).toBe(false);
    expect(await flag('www.shop.test', { dnssecOk: true, recursionDesired: false })).toBe(false);
  });

  it('caches old records and negative answers', async () => {
    const dns = await openDns();
    const lines = ['@ A 192.0.2.99'];
    dns.fail('www.shop.test', '*', { kind: 'remembered', lines, ttlSeconds: 123 }, 'recursive');
    const old = await ask(dns, recursively('www.shop.test'));
    expect(old.packet.answers).toMatchObject([{ data: '192.0.2.99', ttl: 123 }]);
    const six = await ask(dns, recursively('www.shop.test', { type: 'AAAA' }));
    expect(six).toMatchObject({ rcode: 0, packet: { answers: [], authorities: [{ ttl: 123 }] } });
    const nothing = { kind: 'remembered', lines: [], ttlSeconds: 45 } as const;
    dns.fail('www.shop.test', '*', nothing, 'recursive');
    const none = await ask(dns, recursively('www.shop.test'));
    expect(none).toMatchObject({
      rcode: 3,
      packet: { answers: [], authorities: [{ type: 'SOA', name: 'shop.test', ttl: 45 }] },
    });
  });
});

describe('The applied fault', () => {
  it('is the nearest, then the one for the type, then the one for the role', async () => {
    const dns = await openDns();
    dns.fail('.', '*', 'refused');
    dns.fail('.shop.test', '*', 'notimp');
    dns.fail('www.shop.test', '*', 'nxdomain');
    dns.fail('www.shop.test', 'A', 'servfail');
    dns.fail('www.shop.test', 'A', 'nodata', 'recursive');
    const rcode = async (name: string, more: Partial<Query> = {}) =>
      (await ask(dns, { name, ...more })).rcode;
    expect(await rcode('p1.edge.test')).toBe(5);
    expect(await rcode('notshop.test')).toBe(5);
    expect(await rcode('docs.shop.test')).toBe(4);
    expect(await rcode('shop.test')).toBe(4);
    expect(await rcode('www.shop.test', { type: 'TXT' })).toBe(3);
    expect(await rcode('www.shop.test')).toBe(2);
    expect(await rcode('www.shop.test', { recursionDesired: true })).toBe(0);
    dns.heal('www.shop.test');
    expect(await rcode('www.shop.test')).toBe(4);
    dns.heal();
    expect(await rcode('www.shop.test')).toBe(0);
  });
});
