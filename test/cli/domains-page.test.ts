import { describe, expect, it } from 'vitest';
import { renderDomain } from '../../src/cli/domains/render.ts';
import { createPaint } from '../../src/cli/layout.ts';
import { shownDomain, shownEvent } from '../../src/cli/shown.ts';
import { docsDomain, docsEvents } from '../../src/http/schemas/examples.ts';
import { parseJson } from '../../src/net/json.ts';

const evil = '\u001b[2J\u0007\u202e';

/** As sent over HTTP. */
function onWire(value: unknown): unknown {
  const parsed = parseJson(new TextEncoder().encode(JSON.stringify(value)));
  return parsed.ok ? parsed.value : undefined;
}

function page(changes: object = {}, events: readonly unknown[] = docsEvents): string {
  return renderDomain(
    {
      domain: shownDomain.parse(onWire({ ...docsDomain, ...changes })),
      project: { id: 'x', name: 'Docs', slug: 'docs' },
      events: events.map((event) => shownEvent.parse(onWire(event))),
    },
    { columns: 100, paint: createPaint(false) },
  );
}

describe('The page of a domain in the terminal', () => {
  it('starts with the status, the next step and its time', () => {
    const [head, summary] = page().split('\n');
    expect(head).toBe('! docs.example.com · Action needed · project docs');
    expect(summary).toMatch(
      /^ {2}Do this at Porkbun\. docs\.example\.com does not exist in the DNS yet\. The next check is /,
    );
  });

  it('removes control sequences from every source', () => {
    const [finding] = docsDomain.findings;
    const text = page(
      {
        hostname: `docs${evil}`,
        zone: evil,
        summary: { ...docsDomain.summary, line: `Wrong. ${evil}` },
        record: { ...docsDomain.record, name: evil, value: evil },
        provider: { name: evil, apex: evil, where: evil, dnsUrl: evil, siteUrl: evil },
        changes: docsDomain.changes.map((one) => ({
          ...one,
          name: evil,
          value: evil,
          was: evil,
          note: evil,
        })),
        findings: [
          { ...finding, code: evil, summary: evil, found: evil, expected: evil, action: evil },
        ],
        certificate: {
          ...docsDomain.certificate,
          issuer: evil,
          problem: { type: evil, detail: evil },
        },
        escalation: { openedAt: docsDomain.createdAt, summary: evil, nextAction: evil },
      },
      [{ type: evil, at: evil, data: { detail: evil } }],
    );
    expect(text).not.toMatch(/(?!\n)\p{C}/u);
    expect(text).toContain('\\u{1b}[2J\\u{7}\\u{202e}');
  });

  it('shows the CA’s error and the reason of an escalation', () => {
    const problem = { type: 'rateLimited', detail: 'Too many certificates.' };
    const certificate = { ...docsDomain.certificate, status: 'failed', problem };
    const escalation = {
      openedAt: '2026-11-20T12:30:00.123Z',
      summary: 'The authority is busy.',
      nextAction: 'It is tried again.',
    };
    const text = page({
      summary: { ...docsDomain.summary, tone: 'wait', badge: 'Getting certificate' },
      findings: [],
      certificate,
      escalation,
    });
    expect(text).toContain('… docs.example.com · Getting certificate');
    expect(text).toContain('  refused       Too many certificates. (rateLimited)\n');
    expect(text).toContain(
      '  operator      alerted at 2026-11-20T12:30:00Z: The authority is busy.\n',
    );
    expect(text).toContain('                It is tried again.\n');
  });
});
