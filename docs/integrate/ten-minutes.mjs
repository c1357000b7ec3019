/** Steps 2 and 4 of the ten-minute guide with the typed client. */
import { createSignpost, pages, SignpostRefusal, unwrap } from 'signpost-client';

const { KEY: apiKey = '', DOMAIN: hostname = '', API = 'http://localhost:3000/v1' } = process.env;
const signpost = createSignpost({ baseUrl: API, apiKey });

const project = await unwrap(
  signpost.POST('/projects', {
    body: {
      name: 'My shop',
      slug: `shop-${Date.now()}`,
      plan: 'pro',
      metadata: { customer: '42' },
    },
  }),
);
const path = { projectId: project.id };
await unwrap(
  signpost.POST('/projects/{projectId}/deploys', {
    params: { path },
    body: { status: 'succeeded', upstream: 'http://127.0.0.1:4000' },
  }),
);

try {
  const domain = await unwrap(
    signpost.POST('/projects/{projectId}/domains', { params: { path }, body: { hostname } }),
  );
  console.log(`Create: ${domain.record.type} ${domain.record.name} → ${domain.record.value}`);
} catch (refusal) {
  // The code says what happened; the message is for your customer.
  if (!(refusal instanceof SignpostRefusal) || !refusal.is('invalid_hostname')) throw refusal;
  console.log(`Ask for another name: ${refusal.error.message}`);
}

for await (const { hostname: name, status } of pages((cursor) =>
  signpost.GET('/domains', { params: { query: { search: hostname, ...(cursor && { cursor }) } } }),
)) {
  console.log(`${name} is ${status}`);
}
