import { describe, expect, it } from 'vitest';
import { listenFault } from '../../src/net/connections.ts';

describe('A port that cannot be opened', () => {
  it.each([
    ['EADDRINUSE', 'EDGE_HTTPS_PORT 443 on 0.0.0.0 is in use (EADDRINUSE)'],
    ['EACCES', 'EDGE_HTTPS_PORT 443 on 0.0.0.0 needs a permission that this user lacks (EACCES)'],
    [
      'EADDRNOTAVAIL',
      'EDGE_HTTPS_PORT 443 on 0.0.0.0 cannot be opened: HOST is not an address of this machine (EADDRNOTAVAIL)',
    ],
    ['EMFILE', 'EDGE_HTTPS_PORT 443 on 0.0.0.0 cannot be opened (EMFILE)'],
  ])('with %s fails with an error that names port, address and reason', (code, message) => {
    const cause = Object.assign(new Error('listen'), { code });
    expect(listenFault('EDGE_HTTPS_PORT', '0.0.0.0', 443, cause)).toMatchObject({ message, cause });
  });
});
