/** Words for what addresses and CAs answered, redirects, and the headers of proxies. */
import { describe, expect, it } from 'vitest';
import {
  type AddressReach,
  proxyIn,
  type ReachAnswer,
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
    ['http://other.test./x', 'http://other.test./x'],
    ['http://other.test:443/x', 'http://other.test:443/x'],
  ])('to %s is followed', (location, to) => {
    expect(readRedirect(location, from, ports)).toEqual({ to: new URL(to) });
  });

  it.each([
    ['http://docs.shop.test:8080/x', 'port'],
    ['https://docs.shop.test.well-known/acme-challenge/x', 'missing_slash'],
    ['https://192.0.2.1/x', 'address'],
    ['http://0x7f000001/x', 'address'],
    ['http://[::1]/x', 'address'],
    ['ftp://docs.shop.test/x', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['http://', 'unreadable'],
    ['http://a..b/', 'unreadable'],
    [`http://${'a'.repeat(64)}.test/`, 'unreadable'],
  ])('to %s is not: %s', (location, problem) => {
    expect(readRedirect(location, from, ports)).toEqual({ problem });
  });

  it('can lead to the ports of a test lab', () => {
    const lab = { http: 8080, https: 8443 };
    const to = 'https://docs.shop.test:8443/x';
    expect(readRedirect(to, from, lab)).toEqual({ to: new URL(to) });
  });
});

describe('the proxy of an answer', () => {
  it.each([
    [
      { 'cf-ray': '8f', via: '1.1 x' },
      { name: 'Cloudflare', header: 'cf-ray' },
    ],
    [{ via: '1.1 varnish' }, { name: 'a proxy', header: 'via' }],
    [{ server: 'nginx' }, null],
  ])('%j: %j', (headers, proxy) => {
    expect(proxyIn(headers)).toEqual(proxy);
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
const cloudflare = { name: 'Cloudflare', header: 'cf-ray' };

type End = Pick<AddressReach, 'outcome'> & Partial<Pick<AddressReach, 'redirect'>>;

const unanswered = { answers: [] };

function said(
  end: End,
  more: Partial<AddressReach> = {},
  isEdgeKnown = true,
  hasCertificate = false,
) {
  const reach = {
    address: '192.0.2.1',
    port: 80,
    scheme: 'http',
    answers: [answer()],
    redirect: null,
    lastUrl: 'http://next.test/',
    ...end,
    ...more,
  } as const;
  return reachInWords(reach, { isEdgeKnown, hasCertificate, challenge: 'http-01' });
}

const https = { scheme: 'https', port: 443 } as const;

describe('the text about an address', () => {
  const other = { outcome: 'other_answer' } as const;
  const cases: readonly (readonly [string, ReturnType<typeof said>, boolean, RegExp])[] = [
    ['our edge', said({ outcome: 'edge' }), false, /^Port 80 of 192\.0\.2\.1 is our edge\.$/],
    [
      'our edge behind a proxy',
      said({ outcome: 'edge' }, { answers: [answer({ status: 200, proxy: cloudflare })] }),
      false,
      /is our edge, through Cloudflare \(header cf-ray\)\.$/,
    ],
    [
      'another site',
      said(other, { answers: [answer({ server: 'nginx' })] }),
      true,
      /answers with status 404 \(nginx\), which is not our edge\. Remove this address/,
    ],
    [
      'a proxy that leads elsewhere',
      said(other, { answers: [answer({ proxy: cloudflare })] }),
      true,
      /\(through Cloudflare: header cf-ray\), which .* Turn the proxy of Cloudflare off for this name/,
    ],
    [
      'another site, if our edge cannot be recognized',
      said(other, {}, false),
      false,
      /status 404\. Only the service recognizes our edge/,
    ],
    ['another server at the other port', said(other, https), true, /^Port 443 .*not our edge/],
    [
      'a redirect that was followed',
      said(other, { answers: [answer({ status: 301 }), answer({ url: 'https://other.test/' })] }),
      true,
      /status 404 after a redirect to https:\/\/other\.test\/, which is not our edge/,
    ],
    ['refused', said({ outcome: 'refused' }, unanswered), true, /refuses .*The CA connects there/],
    [
      'refused at 443',
      said({ outcome: 'refused' }, { ...https, ...unanswered }),
      true,
      /refuses .*Visitors connect there/,
    ],
    ['silent', said({ outcome: 'timeout' }, unanswered), true, /a firewall may drop/],
    [
      'no certificate yet',
      said({ outcome: 'no_tls' }, { ...https, ...unanswered }),
      false,
      /has no certificate for this name yet/,
    ],
    [
      'no TLS though there is a certificate',
      said({ outcome: 'no_tls' }, { ...https, ...unanswered }, true, true),
      true,
      /completes no TLS handshake for this name\. Visitors connect there/,
    ],
    [
      'a refused redirect',
      said({ outcome: 'refused' }),
      true,
      /^Port 80 of 192\.0\.2\.1 redirects to http:\/\/next\.test\/, which refuses the connection/,
    ],
    ['no HTTP', said({ outcome: 'no_http' }, unanswered), true, /answers, but not with HTTP/],
    ['no route', said({ outcome: 'no_route' }, unanswered), false, /no route to it/],
    [
      'a reserved address',
      said({ outcome: 'reserved' }, unanswered),
      true,
      /cannot be reached from the internet/,
    ],
    [
      'a bad redirect',
      said({
        outcome: 'bad_redirect',
        redirect: { problem: 'port', to: 'http://docs.shop.test:8080/' },
      }),
      true,
      /redirects to http:\/\/docs\.shop\.test:8080\/, but CAs follow redirects to ports 80 and 443 only/,
    ],
  ];
  it.each(cases)('%s', (_what, { summary, isProblem }, expected, words) => {
    expect(summary).toMatch(words);
    expect(isProblem).toBe(expected);
  });

  it('is a problem without a handshake if the CA needs one', () => {
    const end = { outcome: 'no_tls', redirect: null, lastUrl: null } as const;
    const reach = { address: '192.0.2.1', ...https, answers: [], ...end };
    const { isProblem } = reachInWords(reach, {
      isEdgeKnown: true,
      hasCertificate: false,
      challenge: 'tls-alpn-01',
    });
    expect(isProblem).toBe(true);
  });
});

describe('the text about a CA', () => {
  const fine: AuthorityReach = {
    directoryUrl: 'https://ca.example/dir',
    directoryAnswers: true,
    statusPage: null,
    wait: null,
    refused: null,
  };
  const until = new Date('2026-11-23T12:00:00Z');
  const status = { url: 'https://status.example/1', status: 'Partial Service Disruption' };
  it.each<[string, Partial<AuthorityReach>, boolean, RegExp]>([
    [
      'the local CA',
      { directoryUrl: null, directoryAnswers: null },
      false,
      /This installation issues the certificates itself/,
    ],
    ['one that answers', {}, false, /^ca\.example answers\.$/],
    ['silence', { directoryAnswers: false }, true, /^ca\.example does not answer\.$/],
    [
      'a status page with a problem',
      { statusPage: { ...status, isOperational: false } },
      true,
      /says “Partial Service Disruption” \(https:\/\/status\.example\/1\)/,
    ],
    [
      'a status page without a problem',
      { statusPage: { ...status, isOperational: true } },
      false,
      /answers/,
    ],
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
      /refused the latest order \(rate_limited\): “too many”/,
    ],
  ])('%s', (_what, more, isProblem, words) => {
    const said = authorityInWords({ ...fine, ...more });
    expect(said.summary).toMatch(words);
    expect(said.isProblem).toBe(isProblem);
  });
});
