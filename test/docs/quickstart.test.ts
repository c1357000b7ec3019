/** Runs every command of the guide, with a loopback name server for the customer's provider. */
import { expect, it, onTestFinished } from 'vitest';
import { startDnsServer } from '../../src/lab/dns-server.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { blocksOf } from './blocks.ts';
import { replaceAll, runShell, startLine } from './shell.ts';

const guide = 'docs/integrate/quickstart.md';

/** A line of the guide's output that a customer would wait for. */
const waitFor = (file: string, words: string) =>
  `for i in $(seq 600); do grep -q '${words}' ${file} && break; sleep 0.1; done\n`;

/** A message that is sent before the receiver listens comes again only later. */
const waitUntilListening = (port: number) =>
  `for i in $(seq 600); do (: < /dev/tcp/127.0.0.1/${port}) 2>/dev/null && break; sleep 0.1; done\n`;

/** Starts the service with the guide's first command and this test's name server. */
async function startService(command: string, dnsPort: number) {
  const { storage, close } = await freshStorage('embedded');
  onTestFinished(close);
  if (storage.kind !== 'embedded') throw new Error('freshStorage gave another storage');
  const [port, edgeHttp, edgeHttps] = [await freePort(), await freePort(), await freePort()];
  const env = {
    DATA_DIR: storage.dataDir,
    PORT: String(port),
    EDGE_HTTP_PORT: String(edgeHttp),
    EDGE_HTTPS_PORT: String(edgeHttps),
    DNS_SERVERS: `127.0.0.1:${dnsPort}`,
    DNS_AUTHORITY_PORT: String(dnsPort),
    DNS_ALLOW_PRIVATE: 'true',
  };
  const { output } = await startLine(command, env, /signpost_\w{50,}\W/);
  const key = /signpost_\w+/.exec(output)?.[0] ?? '';
  return { key, port, edgeHttps };
}

it('The quickstart leads from an empty folder to a live domain and its removal', async () => {
  const dns = await startDnsServer({
    zones: { 'example.com': [], 'edge.signpost.test': ['* A 127.0.0.1'] },
  });
  onTestFinished(dns.close);
  const [start = '', ...steps] = blocksOf(guide, 'sh');
  const { key, port, edgeHttps } = await startService(start, dns.port);
  expect(steps).toHaveLength(9);
  const [setUp = '', deploy = '', receiver = '', add = '', findings = '', ...rest] = steps;
  const [verify = '', visit = '', remove = '', code = ''] = rest;
  const [deployPort, receiverPort] = [await freePort(), await freePort()];
  const received = `received-${port}`;

  const listening = ` > "$TMPDIR/${received}" &\n${waitUntilListening(receiverPort)}`;
  const script = replaceAll(
    [
      ...[setUp, deploy, receiver.replace(/ &\n/, listening)],
      ...['echo "# record"\n', add, 'echo "# findings"\n', findings],
      ...['echo "# verify"\n', verify, 'echo "# visit"\n', visit],
      waitFor(`"$TMPDIR/${received}"`, 'domain.live'),
      ...['echo "# removed"\n', remove, 'echo "# received"\n', `cat "$TMPDIR/${received}"\n`],
      ...['echo "# code"\n', code],
    ].join(''),
    [
      ['KEY=…', `KEY=${key}`],
      ['localhost:3000', `localhost:${port}`],
      ['listen(4000)', `listen(${deployPort})`],
      ['127.0.0.1:4000', `127.0.0.1:${deployPort}`],
      ['127.0.0.1:8000/', `127.0.0.1:${receiverPort}/`],
      [':8443', `:${edgeHttps}`],
    ],
  );
  const publishing = publishTheRecord(dns, port, key);
  const ran = await runShell(script, {
    PORT: String(receiverPort),
    SIGNPOST_URL: `http://localhost:${port}`,
    TMPDIR: process.env['TMPDIR'] ?? '/tmp',
  });
  await publishing;
  const { stdout } = ran;
  expect([ran.code, ran.stderr]).toEqual([0, expect.any(String)]);
  const said = (name: string) => stdout.split(`# ${name}\n`)[1]?.split(/^# /m)[0] ?? '';
  expect(said('record')).toContain('"type": "CNAME"');
  expect(said('visit')).toBe('Hello from my app\n');
  expect(said('code')).toMatch(
    /^Create: CNAME shop\.docs → \S+\nshop\.docs\.example\.com is pending\n$/,
  );
  const events = said('received').match(/(domain|certificate)\.\w+/g) ?? [];
  expect(events).toEqual(
    expect.arrayContaining([
      'domain.added',
      'domain.verified',
      'certificate.issued',
      'domain.live',
    ]),
  );
});

/** The customer's change at their provider while the guide waits. */
async function publishTheRecord(
  dns: Awaited<ReturnType<typeof startDnsServer>>,
  port: number,
  key: string,
): Promise<void> {
  type Shown = { readonly id: string; readonly record: { readonly value: string } };
  const get = async (path: string) => {
    const response = await fetch(`http://localhost:${port}/v1${path}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return (await response.json()) as Shown[]; // the two lists of the API that it reads
  };
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const [project] = await get('/projects');
    const [domain] = project === undefined ? [] : await get(`/projects/${project.id}/domains`);
    if (domain === undefined) continue;
    await dns.setZone('example.com', [`docs CNAME ${domain.record.value}.`]);
    return;
  }
}
