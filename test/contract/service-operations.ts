import type { OperationAsks } from './operations.ts';
import { heldHostname } from './services.ts';

const asksFor = (domain: string) => () => ({ query: { domain } });
const noDomain = asksFor('nobody-added-this.shop.test');

const reads = (text: string) => () => ({ query: { text } });

export const serviceOperations = {
  readHostname: {
    success: [200, reads('https://Docs.Shop.test/')],
    refusals: [
      [400, 'invalid_hostname', reads('not a host name')],
      [400, 'wildcard_unsupported', reads('*.shop.test')],
      [400, 'platform_hostname', reads('docs.edge.signpost.test')],
      [400, 'public_suffix', reads('co.uk')],
    ],
  },
  mayHaveCertificate: {
    success: [200, asksFor(heldHostname)],
    refusals: [
      [400, 'invalid_hostname', asksFor('not a host name')],
      [400, 'wildcard_unsupported', asksFor('*.shop.test')],
      [400, 'platform_hostname', asksFor('docs.edge.signpost.test')],
      [400, 'public_suffix', asksFor('co.uk')],
      [404, 'domain_not_found', noDomain],
      [404, 'not_found', () => ({ ...noDomain(), headers: { 'x-forwarded-for': '8.8.8.8' } })],
    ],
  },
  getLlmsText: { success: [200, () => ({})] },
  getLocalCa: { success: [200, () => ({})] },
  getLiveness: { success: [200, () => ({})] },
  getReadiness: { success: [200, () => ({})] },
  getMetrics: { success: [200, () => ({})] },
  getOpenApiDocument: { success: [200, () => ({})] },
  getDocsPage: { success: [200, () => ({})] },
  getDocsSection: { success: [200, () => ({ params: { section: 'domains' } })] },
  getDocsStyle: { success: [200, () => ({})] },
  getDocsScript: { success: [200, () => ({})] },
} as const satisfies Readonly<Record<string, OperationAsks>>;
