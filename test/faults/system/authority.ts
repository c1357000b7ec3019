/** Pebble as the CA, behind a proxy that records orders and injects faults. */
import {
  type FrontRequest,
  type Meddling,
  type Said,
  startAcmeFront,
} from '../../support/acme-front.ts';
import { startPebble } from '../../support/pebble.ts';

type Placed = { readonly hostname: string; readonly url: string };

export type Authority = {
  readonly directoryUrl: string;
  readonly caFile: string;
  readonly roots: string;
  /** Placed orders whose client waited for the response, oldest first. */
  readonly placed: readonly Placed[];
  /** Null: no fault. */
  misbehave(how: Meddling | null): void;
  close(): Promise<void>;
};

export type AuthorityPorts = { readonly httpPort: number; readonly tlsPort: number };

export async function startAuthority(ports: AuthorityPorts, dnsPort: number): Promise<Authority> {
  const pebble = await startPebble({ ...ports, dnsServer: `127.0.0.1:${dnsPort}` });
  const front = await startAcmeFront(pebble).catch(async (fault: unknown) => {
    await pebble.close();
    throw fault;
  });
  const placed: Placed[] = [];
  const note = (request: FrontRequest, said: Said) => {
    const url = said.headers['location'];
    if (request.step !== 'newOrder' || said.status !== 201 || url === undefined) return;
    if (!request.isAwaited()) return; // the client never saw it
    const { identifiers } = request.payload as { identifiers: readonly { value: string }[] }; // RFC 8555, 7.4
    placed.push({ hostname: identifiers[0]?.value ?? '', url });
  };
  const misbehave: Authority['misbehave'] = (how) => {
    front.forget();
    front.meddle({
      ...(how?.before && { before: how.before }),
      after(request, said) {
        note(request, said);
        return how?.after?.(request, said);
      },
    });
  };
  misbehave(null);
  return {
    directoryUrl: front.directoryUrl,
    caFile: front.caFile,
    roots: await pebble.rootCertificates(),
    placed,
    misbehave,
    async close() {
      await front.close();
      await pebble.close();
    },
  };
}
