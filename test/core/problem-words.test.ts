import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { explainProblem, problemTypes } from '../../src/core/certificates/problem-words.ts';

const rows: readonly (readonly [type: string, actor: string, action: RegExp])[] = [
  ['caa', 'customer', /CAA records of the name and its parent domains/],
  ['dns', 'customer', /every name server .* DNSSEC/],
  ['unauthorized', 'customer', /Remove other A and AAAA records/],
  ['incorrect_response', 'customer', /Remove other A and AAAA records/],
  ['tls', 'customer', /Remove other A and AAAA records/],
  ['connection', 'customer', /Remove other A and AAAA records/],
  ['secondary_validation', 'customer', /answer queries from every region/],
  ['rejected_identifier', 'customer', /another host name/],
  ['unsupported_identifier', 'customer', /another host name/],
  ['rate_limited', 'platform', /No action needed: .*when the authority accepts it/],
  ['order_lost', 'platform', /No action needed: .*automatically/],
  ['account_does_not_exist', 'platform', /No action needed: the operator of this service/],
  ['user_action_required', 'platform', /No action needed: the operator of this service/],
  ['other', 'platform', /authority's message\. .* no action is needed/],
];

describe('a refusal by the CA', () => {
  it.each(rows)('%s is for the %s to resolve', (type, actor, action) => {
    const { summary, ...words } = explainProblem(type);
    expect(words).toEqual({ action: expect.stringMatching(action), actor });
    expect(summary).toMatch(/^The certificate authority |^The order /);
  });

  it.each(problemTypes)('%s has whole sentences of printable characters', (type) => {
    const { summary, action } = explainProblem(type);
    for (const words of [summary, action]) expect(words).toMatch(/^[A-Z][ -~]{20,400}\.$/);
  });

  it('of a type from a newer version has the generic text', () => {
    expect(explainProblem('of_tomorrow')).toEqual(explainProblem('other'));
    expect(explainProblem('constructor')).toEqual(explainProblem('other'));
  });
});

describe('docs/integrate/domains.md', () => {
  it('lists exactly the types', () => {
    const api = readFileSync(new URL('../../docs/integrate/domains.md', import.meta.url), 'utf8');
    const [, text = ''] = api.split('### Why an order was refused');
    const [section = ''] = text.split('\n##');
    const listed = [...section.matchAll(/^\| (`\w+`(?:, `\w+`)*)/gm)].flatMap(([, names = '']) =>
      names.split(', ').map((name) => name.replaceAll('`', '')),
    );
    expect(listed.sort()).toEqual([...problemTypes].sort());
  });
});
