import { expect, it } from 'vitest';
import type { DnsChange } from '../../../../src/core/diagnosis/changes/change.ts';
import { zoneFile } from '../../../../src/core/diagnosis/changes/zone-file.ts';
import { records, server, target } from '../../support/observations.ts';
import { APEX, changesAt, DOCS } from './support.ts';

const fileFor = (hostname: string, changes: readonly DnsChange[]) =>
  zoneFile({ zone: 'example.com', hostname, changes });

const text: DnsChange = {
  verb: 'add',
  type: 'TXT',
  name: '_signpost.docs',
  value: `${'x'.repeat(300)}"\\`,
  ttl: 3600,
  state: 'to_do',
  servers: [],
};

it('has a line for each record to add, and a comment for each one to delete', () => {
  const changes = changesAt(DOCS, [server({ a: records('151.101.1.7') })]);
  expect(fileFor(DOCS, changes)).toBe(`; docs.example.com: changes to make
$ORIGIN example.com.
; delete: docs IN A 151.101.1.7
docs 3600 IN CNAME ${target}.
`);
});

it('has the value to replace as a comment', () => {
  const changes = changesAt(DOCS, [server({ cname: records('old.example') })]);
  expect(fileFor(DOCS, changes)).toContain('; replace: docs IN CNAME old.example\n');
});

it('has a comment in place of an ALIAS', () => {
  expect(fileFor(APEX, changesAt(APEX, [server()]))).toBe(
    `; example.com: changes to make
$ORIGIN example.com.
; ALIAS @ → ${target}: without such a type, add A and AAAA records with its addresses.
`,
  );
});

it('says that nothing is left to change', () => {
  const changes = changesAt(DOCS, [server({ cname: records(target) })]);
  expect(fileFor(DOCS, changes)).toBe(
    '; docs.example.com: nothing to change\n$ORIGIN example.com.\n',
  );
});

it('cuts a long text into strings, and escapes quotes', () => {
  expect(fileFor(DOCS, [text])).toContain(`IN TXT "${'x'.repeat(255)}" "${'x'.repeat(45)}\\"\\\\"`);
});
