/** What addresses and authorities answered, in words; where redirects may lead; who passes requests on. */
import { describe, expect, it } from 'vitest';
import {
  type AddressReach,
  proxyIn,
  type ReachAnswer,
  type ReachEnd,
  readRedirect,
} from '../../src/core/certificates/reach.ts';
import {
  type AuthorityReach,
  authorityInWords,
  reachInWords,
} from '../../src/core/certificates/reach-words.ts';

describe('a redirect', () => {
  const from = new URL('http://docs.shop.test/.well-known/acme-challenge/token');
  const ports = { http: 80, https: 443 };

  it.each([
    ['/elsewhere', 'http://docs.shop.test/elsewhere'],
    ['https://docs.shop.test/x', 'https://docs.shop.test/x'],
    ['//other.test/x', 'http://other.test/x'],
    ['http://other.test:443/x', 'http://other.test:443/x'],
  ])('to %s is followed', (location, to) => {
    expect(readRedirect(location, from, ports)).toEqual({ to: new URL(to) });
  });

  it.each([
    ['http://docs.shop.test:8080/x', 'port'],
    ['https://docs.shop.test.well-known/acme-challenge/x', 'glued'],
    ['https://192.0.2.1/x', 'address'],
    ['http://0x7f000001/x', 'address'],
    ['http://[::1]/x', 'address'],
    ['ftp://docs.shop.test/x', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['http://', 'unreadable'],
  ])('to %s is not: %s', (location, reason) => {
    expect(readRedirect(location, from, ports)).toEqual({ reason });
  });

  it('may lead to a laboratory’s ports', () => {
    const lab = { http: 8080, https: 8443 };
    const to = 'https://docs.shop.test:8443/x';
    expect(readRedirect(to, from, lab)).toEqual({ to: new URL(to) });
  });
});

describe('who passed an answer on', () => {
  it.each([
    [
      { 'cf-ray': '8f', via: '1.1 x' },
      { name: 'Cloudflare', field: 'cf-ray' },
    ],
    [{ via: '1.1 varnish' }, { name: 'a proxy', field: 'via' }],
    [{ server: 'nginx' }, null],
  ])('%j: %j', (fields, proxy) => {
    expect(proxyIn(fields)).toEqual(proxy);
  });
});

const answer = (more: Partial<ReachAnswer> = {}): ReachAnswer => ({
  url: 'http://docs.shop.test/.well-known/acme-challenge/',
  address: '192.0.2.1',
  status: 404,
  server: null,
  proxy: null,
  ...more,
});
const cloudflare = { name: 'Cloudflare', field: 'cf-ray' };

function said(end: ReachEnd, more: Partial<AddressReach> = {}, isAttached = true) {
  const reach = {
    address: '192.0.2.1',
    port: 80,
    scheme: 'http',
    answers: [answer()],
    end,
    ...more,
  } as const;
  return reachInWords(reach, { isAttached, challenge: 'http-01' });
}

const https = { scheme: 'https', port: 443 } as const;

describe('an address in words', () => {
  const other = { outcome: 'other_answer' } as const;
  const cases: readonly (readonly [string, ReturnType<typeof said>, boolean, RegExp])[] = [
    ['our edge', said({ outcome: 'edge' }), false, /^Port 80 of 192\.0\.2\.1 is our edge\.$/],
    [
      'our edge behind a proxy',
      said({ outcome: 'edge' }, { answers: [answer({ status: 200, proxy: cloudflare })] }),
      false,
      /is our edge, through Cloudflare, by its field cf-ray\.$/,
    ],
    [
      'another site',
      said(other, { answers: [answer({ server: 'nginx' })] }),
      true,
      /answers with status 404 \(nginx\); that isn’t our edge\. Point the record at us alone/,
    ],
    [
      'a proxy that leads elsewhere',
      said(other, { answers: [answer({ proxy: cloudflare })] }),
      true,
      /Turn Cloudflare’s proxy off for this name/,
    ],
    ['another site, of a name that is not ours', said(other, {}, false), false, /status 404\.$/],
    ['a deploy at the other port', said(other, https), false, /^Port 443 .* status 404\.$/],
    [
      'a redirect that was followed',
      said(other, { answers: [answer({ status: 301 }), answer({ url: 'https://other.test/' })] }),
      true,
      /status 404 after a redirect to https:\/\/other\.test\/; that isn’t our edge/,
    ],
    [
      'refused',
      said({ outcome: 'refused' }),
      true,
      /refuses .*The certificate authority asks here/,
    ],
    ['refused at 443', said({ outcome: 'refused' }, https), true, /refuses .*Visitors come here/],
    ['silent', said({ outcome: 'timeout' }), true, /a firewall may drop/],
    ['no certificate yet', said({ outcome: 'no_tls' }, https), false, /no certificate there yet/],
    ['no HTTP', said({ outcome: 'no_http' }), true, /answers, but not with HTTP/],
    ['no route', said({ outcome: 'no_route' }), false, /no route to it/],
    ['a reserved address', said({ outcome: 'reserved' }), true, /nobody on the internet can reach/],
    [
      'a bad redirect',
      said({ outcome: 'bad_redirect', reason: 'port', to: 'http://docs.shop.test:8080/' }),
      true,
      /redirects to http:\/\/docs\.shop\.test:8080\/, and authorities follow redirects to ports 80 and 443 only/,
    ],
  ];
  it.each(cases)('%s', (_what, { summary, isProblem }, expected, words) => {
    expect(summary).toMatch(words);
    expect(isProblem).toBe(expected);
  });

  it('counts a missing handshake where the authority asks for one', () => {
    const end = { outcome: 'no_tls' } as const;
    const reach = { address: '192.0.2.1', ...https, answers: [], end };
    const { isProblem } = reachInWords(reach, { isAttached: true, challenge: 'tls-alpn-01' });
    expect(isProblem).toBe(true);
  });
});

describe('an authority in words', () => {
  const fine: AuthorityReach = {
    directoryUrl: 'https://ca.example/dir',
    isAnswering: true,
    statusPage: null,
    wait: null,
    refused: null,
  };
  const until = new Date('2026-11-23T12:00:00Z');
  const status = { url: 'https://status.example/1', status: 'Partial Service Disruption' };
  it.each<[string, Partial<AuthorityReach>, boolean, RegExp]>([
    ['the local one', { directoryUrl: null, isAnswering: null }, false, /this installation itself/],
    ['one that answers', {}, false, /^ca\.example answers\.$/],
    ['silence', { isAnswering: false }, true, /^ca\.example doesn’t answer\.$/],
    [
      'its own page',
      { statusPage: { ...status, isOperational: false } },
      true,
      /says “Partial Service Disruption” \(https:\/\/status\.example\/1\)/,
    ],
    ['a page without a word', { statusPage: { ...status, isOperational: true } }, false, /answers/],
    [
      'a limit',
      { wait: { limit: 'same_names', subject: 'docs.shop.test', until } },
      true,
      /No new order before 2026-11-23T12:00:00\.000Z: it allows 5 /,
    ],
    [
      'a refusal',
      { refused: { type: 'rate_limited', detail: 'too many' } },
      true,
      /refused the last order \(rate_limited\): “too many”/,
    ],
  ])('%s', (_what, more, isProblem, words) => {
    const said = authorityInWords({ ...fine, ...more });
    expect(said.summary).toMatch(words);
    expect(said.isProblem).toBe(isProblem);
  });
});
