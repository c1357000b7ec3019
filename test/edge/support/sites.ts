/** Sites whose certificate has the id of their name, and session ticket keys. */

import { createTicketKeys, type Site } from '../../../src/edge/tls/secure-contexts.ts';

export const siteOf = (id: string): Site => ({
  hostname: id,
  projectId: 'acme',
  certificateId: id,
});

export const ticketKeys = createTicketKeys(new Uint8Array(32), () => new Date());
