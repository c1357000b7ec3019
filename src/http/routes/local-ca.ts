/** The root of the local CA, for machines that test against this installation. */
import { readRoot } from '../../certificates/x509.ts';
import type { Service } from '../../service/service.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { docsLocalCa, localCa } from '../schemas/certificates.ts';

const unused = { name: null, fingerprint: null, expiresAt: null } as const;

export function localCaRoute(service: Service): Route {
  return route({
    at: 'GET /v1/operations/local-ca',
    scope: 'any',
    operationId: 'getLocalCa',
    tag: 'Operations',
    stability: 'experimental',
    summary: "Get the local CA's root certificate",
    description:
      'Without a CA that browsers trust, a local CA signs. A client that trusts this root accepts its certificates: `curl --cacert`. Only trust it on machines for tests. All fields are null before the local CA has signed something.',
    success: success(200, 'The root certificate', localCa, docsLocalCa),
    handle: async () => {
      const certificate = await service.rootCertificate();
      const facts = certificate === null ? unused : readRoot(certificate);
      return { status: 200, body: { certificate, ...facts } };
    },
  });
}
