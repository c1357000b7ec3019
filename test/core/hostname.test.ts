import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HostnameRefusalCode, parseHostname } from '../../src/core/names/hostname.ts';

const PLATFORM = 'edge.example';

/** The typed text, and the resulting name or the refusal's code. */
type Row = readonly [typed: string, outcome: string];

/** Two vectors describe their text instead of giving it; one adds a remark. */
const meant: Readonly<Record<string, string>> = {
  '{63+1 letters}.example.com': `${'a'.repeat(64)}.example.com`,
  '{name over 253 octets}': `${'a123456789.'.repeat(23)}com`,
  "p1.edge.example (any name under the platform's own domains)": 'p1.edge.example',
};

const vectors: { readonly vectors: readonly Row[] } = JSON.parse(
  readFileSync(new URL('../vectors/hostnames.json', import.meta.url), 'utf8'),
);

function outcomeOf(typed: string): string {
  const result = parseHostname(typed, PLATFORM);
  return result.ok ? result.hostname.ascii : result.code;
}

describe('a hostname as typed', () => {
  it.each(vectors.vectors)('%j becomes %s', (typed, outcome) => {
    expect(outcomeOf(meant[typed] ?? typed)).toBe(outcome);
  });

  const accepted: readonly Row[] = [
    ['http://docs.example.com', 'docs.example.com'],
    ['HTTPS://docs.Example.com./path ', 'docs.example.com'],
    ['//docs.example.com/x', 'docs.example.com'],
    ['docs.example.com/', 'docs.example.com'],
    ['docs.example.com?a=b#c', 'docs.example.com'],
    ['https://docs.example.com:8443/', 'docs.example.com'],
    ['docs.example.com:', 'docs.example.com'],
    ['\tdocs.example.com\r\n', 'docs.example.com'],
    ['\u00a0docs.example.com\ufeff', 'docs.example.com'],
    ['docs\u3002example\uff0ecom\uff61', 'docs.example.com'],
    ['ｄｏｃｓ.example.com', 'docs.example.com'],
    ['do\u00adcs.exam\u200bple.com', 'docs.example.com'],
    ['BÜCHER.example.com', 'xn--bcher-kva.example.com'],
    ['bu\u0308cher.example.com', 'xn--bcher-kva.example.com'],
    ['XN--BCHER-KVA.example.com', 'xn--bcher-kva.example.com'],
    ['straße.example.com', 'xn--strae-oqa.example.com'],
    ['日本語.jp', 'xn--wgv71a119e.jp'],
    ['example.xn--p1ai', 'example.xn--p1ai'],
    ['пример.рф', 'xn--e1afmkfd.xn--p1ai'],
    ['1.example.com', '1.example.com'],
    ['a--b.example.com', 'a--b.example.com'],
    [`${'a'.repeat(63)}.example.com`, `${'a'.repeat(63)}.example.com`],
    ['a.b.c.d.e.f.g.h.example.com', 'a.b.c.d.e.f.g.h.example.com'],
    ['example.com', 'example.com'],
    ['docs.lab.test', 'docs.lab.test'],
    ['myname.github.io', 'myname.github.io'],
    ['notedge.example', 'notedge.example'],
  ];
  it.each(accepted)('%j is normalized to %s', (typed, ascii) => {
    expect(outcomeOf(typed)).toBe(ascii);
  });

  const refused: Readonly<Record<HostnameRefusalCode, readonly string[]>> = {
    invalid_hostname: [
      ...['   ', '.', '..', 'https://', '/', ':', ':80', 'docs.example.com..', '.example.com'],
      ...['me@example.com', 'https://user:secret@docs.example.com/', 'docs.example.com:x'],
      ...[
        'docs.example.com:65536',
        'docs.example.com:1:2',
        'docs example.com',
        'docs.example.com x',
      ],
      ...['127.0.0.1', '127.0.0.1:80', 'http://127.0.0.1/', '0x7f.1', '2130706433', '0x7f000001'],
      ...['017700000001', '1.2.3', '127.0.0.1.', '１２７.０.０.１', 'a.example.com.1', '0x'],
      ...['::1', '2001:db8::1', '[::1]:443', '[2001:db8::1', 'fe80::1%eth0', '::ffff:192.0.2.1'],
      ...[
        'a\u0000.example.com',
        'a\u202eb.example.com\u0007',
        'a!b.example.com',
        'a%2eb.example.com',
      ],
      ...[
        'a\\b.example.com',
        'a＿b.example.com',
        'a／b.example.com',
        '\ud800.example.com',
        '𐀀\udfff.com',
      ],
      ...['_acme-challenge.example.com', 'a.*.example.com', '*', '*a.example.com', '*.'],
      ...[
        'xn--.example.com',
        'xn--a.example.com',
        'xn--bcher-kva-.example.com',
        'xn--0.example.com',
      ],
      ...[
        'xn--BCHER-!.example.com',
        'xn---example-.com',
        'xn--docs-.example.com',
        'xn--99999999.com',
      ],
      ...['AB--cd.example.com', '\u0301a.example.com', 'a\u200db.example.com', 'אa.example.com'],
      ...['localhost', 'a.localhost', 'x.local', 'x.invalid', 'x.internal', 'x.alt', 'onion'],
      ...[
        'home.arpa',
        'router.home.arpa',
        '1.2.0.192.in-addr.arpa',
        'arpa',
        'a.nosuchtld',
        'intranet',
      ],
      ...['a.b.c.d.e.f.g.h.i.example.com', `${'ü'.repeat(60)}.example.com`, 'a'.repeat(100_000)],
    ],
    public_suffix: [
      'net',
      'COM.',
      'org.uk',
      'xn--p1ai',
      'рф',
      '公司.cn',
      'foo.ck',
      'test',
      'example',
    ],
    platform_hostname: [
      'edge.example',
      'EDGE.example.',
      'a.b.edge.example',
      'https://x.edge.example/',
    ],
    wildcard_unsupported: [
      '*.docs.example.com',
      'https://*.example.com/',
      '*.com',
      '*.edge.example',
    ],
  };
  it.each(
    Object.entries(refused).flatMap(([code, names]) => names.map((name) => ({ code, name }))),
  )('$name is refused as $code', ({ code, name }) => {
    expect(outcomeOf(name)).toBe(code);
  });
});

describe('a refusal', () => {
  it.each([
    ['a_b.example.com', 'The label “a_b” contains an underscore.'],
    ['-a.example.com', 'The label “-a” begins or ends with a hyphen.'],
    ['a..example.com', 'A label is empty: two dots follow each other.'],
    ['b c.example.com', 'The label “b c” contains a space.'],
    ['a\u0007.example.com', 'The label “a\\u{7}” can contain only letters, digits and hyphens.'],
    [
      'ab--cd.com',
      'The label “ab--cd” has hyphens in the third and fourth place, which is reserved.',
    ],
    [
      'xn--zzzz.com',
      'The label “xn--zzzz” starts with “xn--” but is not Punycode in its normal form.',
    ],
    [
      `${'x'.repeat(70)}.example.com`,
      `The label “${'x'.repeat(40)}…” is longer than 63 characters.`,
    ],
    ['10.0.0.1', '“10.0.0.1” is an IP address or a number. Enter a host name.'],
    ['co.uk', '“co.uk” is a public suffix: names are registered below it.'],
    ['a.onion', 'Names under “.onion” do not exist in the public DNS (RFC 7686).'],
    ['intranet', '“intranet” is a single label. Enter the full name, such as docs.example.com.'],
  ])('of %j explains the problem', (typed, reason) => {
    expect(parseHostname(typed, PLATFORM)).toMatchObject({ ok: false, reason });
  });
});

describe('an accepted name', () => {
  it.each([
    ['docs.example.com', 'example.com', 'docs', false],
    ['a.b.example.co.uk', 'example.co.uk', 'a.b', false],
    ['example.co.uk', 'example.co.uk', '@', true],
    ['docs.lab.test', 'lab.test', 'docs', false],
    ['lab.test', 'lab.test', '@', true],
    ['me.github.io', 'github.io', 'me', false],
  ])('%s is in the zone %s as %s', (typed, zone, label, apex) => {
    expect(parseHostname(typed, PLATFORM)).toMatchObject({
      ok: true,
      hostname: { zone, label, apex },
    });
  });

  it('is shown in its own script', () => {
    expect(parseHostname('xn--bcher-kva.example', PLATFORM)).toMatchObject({
      hostname: { unicode: 'bücher.example' },
    });
  });

  it('is not in the platform’s domain, whatever its spelling', () => {
    for (const domain of ['Edge.Lab.Test.', 'edge.lab.test']) {
      expect(parseHostname('x.edge.lab.test', domain)).toMatchObject({ code: 'platform_hostname' });
    }
    expect(parseHostname('docs.example.com', '')).toMatchObject({ ok: true });
  });
});

describe('for any input', () => {
  const label = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.stringMatching(/^[a-z0-9-]{1,20}$/),
    fc.stringMatching(/^[a-z0-9-]{1,12}$/).map((tail) => `xn--${tail}`),
    fc.stringMatching(/^[\u00c0-\u05ff\u0900-\u09ff\u200c\u200d]{1,8}$/),
  );
  const typed = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc
      .tuple(fc.array(label, { maxLength: 4 }), fc.constantFrom('com', 'co.uk', 'test', 'рф'))
      .map(([labels, suffix]) => [...labels, suffix].join('.')),
  );

  it('the result is a refusal or a stable LDH name', () => {
    fc.assert(
      fc.property(typed, (text) => {
        const result = parseHostname(text, PLATFORM);
        if (!result.ok) {
          expect(result.reason).toMatch(/^[^\p{C}]+\.$/u);
          return;
        }
        const { ascii, unicode, zone, label: left, apex } = result.hostname;
        expect(ascii).toMatch(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/);
        expect(ascii.length).toBeLessThanOrEqual(253);
        expect(apex ? zone : `${left}.${zone}`).toBe(ascii);
        expect(parseHostname(ascii, PLATFORM)).toEqual(result);
        expect(parseHostname(unicode, PLATFORM)).toEqual(result);
      }),
      { numRuns: 3_000 },
    );
  });
});
