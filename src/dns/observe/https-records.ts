/** HTTPS records (RFC 9460) of an apex, and where they lead. */
import type { DnsAnswer, HttpsRecord } from '../../core/diagnosis/observation.ts';
import { failureOf } from '../servers/reply.ts';
import { answerAt } from '../servers/select.ts';
import type { Zone } from '../servers/zone.ts';
import type { ObservationContext } from './context.ts';
import { type ServerSeen, withoutReferral } from './server-view.ts';
import { addressesBehind } from './target.ts';

/** Further target names stay unknown. */
const TARGETS_MAX = 2;

/** Records of the name itself. Foreign target names are resolved, because they can lead here, too. */
export async function askHttps(
  context: ObservationContext,
  zone: Zone,
  { server }: ServerSeen,
): Promise<DnsAnswer<HttpsRecord>> {
  const { hostname: name } = context.check;
  const { reply } = await context.askServer(zone, server, { name, type: 'HTTPS' });
  const direct = withoutReferral(reply);
  if (direct.kind !== 'message') return failureOf(direct);
  const answer = answerAt(
    direct.message,
    name,
    'HTTPS',
    ({ priority, target, port, hints, ech }): HttpsRecord => ({
      priority,
      target,
      port,
      hints,
      ech,
    }),
  );
  return answer.kind === 'records' ? resolved(context, answer) : answer;
}

async function resolved(
  context: ObservationContext,
  answer: DnsAnswer<HttpsRecord> & { readonly kind: 'records' },
): Promise<DnsAnswer<HttpsRecord>> {
  const { hostname, target } = context.check;
  const names = [...new Set(answer.records.map((record) => record.target))]
    .filter((name) => !['.', hostname, target].includes(name))
    .slice(0, TARGETS_MAX);
  const known = new Map(
    await Promise.all(
      names.map(async (name) => [name, await addressesBehind(context, name)] as const),
    ),
  );
  const withAddresses = (record: HttpsRecord): HttpsRecord => {
    const addresses = known.get(record.target) ?? [];
    return addresses.length === 0 ? record : { ...record, addresses };
  };
  const [first, ...rest] = answer.records;
  return { ...answer, records: [withAddresses(first), ...rest.map(withAddresses)] };
}
