/** Receives Signpost's webhooks (Standard Webhooks 1.0.0) and prints each event once. Node.js 20, no packages. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const secret = process.env.SIGNPOST_WEBHOOK_SECRET ?? '';
if (!secret.startsWith('whsec_'))
  throw new Error('SIGNPOST_WEBHOOK_SECRET must be a secret that begins with whsec_');
const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
const seen = new Set(); // in production: a table, kept for two days or longer

/** Over the bytes as they arrived, before parsing them. During a rotation there are two signatures. */
function isSigned(headers, body) {
  const id = headers['webhook-id'] ?? '';
  const time = headers['webhook-timestamp'] ?? '';
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= 300)) return false;
  const expected = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest();
  return (headers['webhook-signature'] ?? '').split(' ').some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!isSigned(request.headers, body)) return response.writeHead(400).end();
  const id = request.headers['webhook-id'];
  if (!seen.has(id)) {
    const { type, data } = JSON.parse(body);
    console.log(`${data.id ?? '-'} ${type} ${data.hostname ?? ''}`); // store it; do slow work later
    seen.add(id);
  }
  response.writeHead(204).end();
}).listen(Number(process.env.PORT ?? 8000));
