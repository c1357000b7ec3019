/** A deploy that accepts only requests through Signpost's edge. Node.js 20, no packages. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const secret = process.env.SIGNPOST_SIGNING_SECRET ?? '';
const key = Buffer.from(secret.replace(/^sigsec_/, ''), 'base64');
if (key.length !== 32)
  throw new Error('SIGNPOST_SIGNING_SECRET must be the project’s signing secret');

function cameThroughSignpost({ method, url, headers }) {
  const parts = (headers['signpost-signature'] ?? '').split(',').map((part) => part.split('='));
  const [, t] = parts.find(([name]) => name === 't') ?? [];
  if (!(Math.abs(Date.now() / 1000 - Number(t)) <= 300)) return false;
  const lines = [t, method, headers.host, url, headers['x-forwarded-for']];
  const expected = createHmac('sha256', key).update(lines.join('\n'), 'latin1').digest();
  return parts.some(([name, value = '']) => {
    const given = Buffer.from(value, 'hex');
    return name === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

createServer((request, response) => {
  if (cameThroughSignpost(request)) response.end('Hello through Signpost.\n');
  else response.writeHead(403).end();
}).listen(Number(process.env.PORT ?? 8000));
