import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { explainProblem, problemTypes } from '../../src/core/certificates/problem-words.ts';

/** Whoever may act on it, and a word of what to do. */
const rows: readonly (readonly [type: string, actor: string, action: RegExp])[] = [
  ['caa', 'customer', /CAA records of the name and its parent domains/],
  ['dns', 'customer', /every name server .* DNSSEC/],
  ['unauthorized', 'customer', /Remove other A and AAAA records/],
  ['incorrect_response', 'customer', /Remove other A and AAAA records/],
  ['tls', 'customer', /Remove other A and AAAA records/],
  ['connection', 'customer', /Remove other A and AAAA records/],
  ['rejected_identifier', 'customer', /another host name/],
  ['unsupported_identifier', 'customer', /another host name/],
  ['rate_limited', 'platform', /No action needed: .*when the authority accepts it/],
  ['order_lost', 'platform', /No action needed: .*automatically/],
  ['account_does_not_exist', 'platform', /No action needed: the operator of this service/],
  ['user_action_required', 'platform', /No action needed: the operator of this service/],
  ['other', 'platform', /authority's message\. .* no action is needed/],
];

describe('a refusal of the certificate authority', () => {
  it.each(rows)('%s is for the %s to act on', (type, actor, action) => {
    const { summary, ...words } = explainProblem(type);
    expect(words).toEqual({ action: expect.stringMatching(action), actor });
    expect(summary).toMatch(/^The certificate authority |^The order /);
  });

  it.each(problemTypes)('%s has whole sentences, printable', (type) => {
    const { summary, action } = explainProblem(type);
    for (const words of [summary, action]) expect(words).toMatch(/^[A-Z][ -~]{20,400}\.$/);
  });

  it('that a newer version stored is one that we have no words for', () => {
    expect(explainProblem('of_tomorrow')).toEqual(explainProblem('other'));
    expect(explainProblem('constructor')).toEqual(explainProblem('other'));
  });
});

describe('docs/integrate/domains.md', () => {
  it('lists every type, and no other', () => {
    const api = readFileSync(new URL('../../docs/integrate/domains.md', import.meta.url), 'utf8');
    const [, text = ''] = api.split('### Why an order was refused');
    const [section = ''] = text.split('\n##');
    const listed = [...section.matchAll(/^\| (`\w+`(?:, `\w+`)*)/gm)].flatMap(([, names = '']) =>
      names.split(', ').map((name) => name.replaceAll('`', '')),
    );
    expect(listed.sort()).toEqual([...problemTypes].sort());
  });
});
