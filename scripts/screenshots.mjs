/**
 * `npm run screenshots`: the picture in the README, a domain's page that explains a wrong record. The real service in a test lab,
 * on free ports; the customer's CNAME points to a previous host.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { chromium } from 'playwright-core';
import { PLATFORM_DOMAIN, startTestLab, ZONE } from '../dist/src/cli/demo/test-lab.js';
import { loadConfig } from '../dist/src/config/config.js';
import { startSignpost } from '../dist/src/start.js';

const images = fileURLToPath(new URL('../docs/images/', import.meta.url));
const apiKey = randomBytes(16).toString('hex');
const closings = [];

try {
  await takePictures();
} finally {
  for (const close of closings.reverse()) await close();
}

async function takePictures() {
  const testLab = await startTestLab();
  closings.push(testLab.close);
  const url = await startService(testLab);
  const path = await playShop(testLab, url);
  const browser = await chromium.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-gpu'],
  });
  closings.push(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await page.goto(`${url}/?then=${encodeURIComponent(path)}`);
  await page.fill('#key', apiKey);
  await page.click('button:text-is("Sign in")');
  await page.waitForSelector(':text("old-host.example")');
  await mkdir(images, { recursive: true });
  for (const [name, colorScheme] of [
    ['domain', 'light'],
    ['domain-dark', 'dark'],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: `${images}${name}.png`, animations: 'disabled' });
    console.log(`docs/images/${name}.png`);
  }
}

async function startService({ dnsPort }) {
  const dataDir = await mkdtemp(join(tmpdir(), 'signpost-screenshots-'));
  closings.push(() => rm(dataDir, { recursive: true, force: true }));
  const loaded = loadConfig({
    PORT: '0',
    EDGE_HTTP_PORT: '0',
    EDGE_HTTPS_PORT: '0',
    DATA_DIR: dataDir,
    API_KEY: apiKey,
    PLATFORM_DOMAIN,
    DNS_SERVERS: `127.0.0.1:${dnsPort}`,
    DNS_AUTHORITY_PORT: String(dnsPort),
    DNS_ALLOW_PRIVATE: 'true',
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const signpost = await startSignpost(loaded.config, pino({ level: 'silent' }));
  closings.push(() => signpost.close(5_000));
  return signpost.addresses.http;
}

/** Returns the path of the domain's page. */
async function playShop({ publish, upstream }, url) {
  const api = async (method, path, body) => {
    const response = await fetch(`${url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text);
  };
  const shop = { name: 'Toy shop', slug: 'toy-shop', plan: 'pro' };
  const { id } = await api('POST', '/projects', shop);
  await api('POST', `/projects/${id}/deploys`, { status: 'succeeded', upstream });
  const hostname = `docs.${ZONE}`;
  await api('POST', `/projects/${id}/domains`, { hostname });
  await publish(['docs CNAME old-host.example.']);
  await api('POST', `/projects/${id}/domains/${hostname}/verify`);
  return `/projects/${id}/domains/${hostname}`;
}

function findChromium() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = ['chromium-headless-shell', 'chromium']
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find(existsSync);
  if (found === undefined) throw new Error('chromium is not installed (Debian: chromium)');
  return found;
}
