/** What stands at the addresses of a host name, as a schema; src/certificates/reach/reach.ts makes it. */
import { z } from 'zod';
import { time, wholeNumber } from '../pipeline/json.ts';
import { explainedEnum } from './common.ts';

const said = (description: string) => ({ description });
const port = () => wholeNumber({ min: 1, max: 65_535 });
const summary = z.string().meta(said('One sentence for a person'));
const isProblem = z.boolean().meta(said('Whether somebody has to act'));

const answer = z
  .object({
    url: z.string().meta(said('What was asked, without the token')),
    address: z.string(),
    status: wholeNumber({ min: 0, max: 999 }),
    server: z.nullable(z.string()).meta(said('The `Server` field')),
    proxy: z
      .nullable(z.object({ name: z.string(), field: z.string() }))
      .meta(said('Who passed the request on, by a field that they leave')),
  })
  .meta({ id: 'ReachAnswer', description: 'One answer over HTTP' });

const addressReach = z
  .object({
    address: z.string(),
    port: port(),
    scheme: z.enum(['http', 'https']),
    outcome: explainedEnum('ReachOutcome', 'Who answered, or why nobody did', {
      edge: 'An edge of this platform, for this name',
      other_answer: 'Somebody else; at port 443 it may be the deploy, through an edge',
      refused: 'The connection is refused',
      timeout: 'No answer came in time',
      no_route: 'This platform has no way there',
      reserved: 'Nobody on the internet can reach it, so it was not asked',
      no_tls: 'No TLS handshake for this name',
      no_http: 'What came is no HTTP',
      bad_redirect: 'A redirect that no certificate authority follows',
    }),
    redirect: z
      .nullable(z.object({ reason: z.string(), to: z.string() }))
      .meta(said('The redirect that is not followed')),
    answers: z.array(answer).meta(said('The address’s own first, then those of redirects')),
    summary,
    isProblem,
  })
  .meta({ id: 'AddressReach', description: 'What one address answers for the challenge' });

const authorityReach = z
  .object({
    directoryUrl: z.nullable(z.string()).meta(said('Null: certificates come from the platform')),
    isAnswering: z.nullable(z.boolean()).meta(said('Null: not asked')),
    statusPage: z
      .nullable(z.object({ url: z.string(), status: z.string(), isOperational: z.boolean() }))
      .meta(said('Null: it has none that is known, or that answered')),
    orderNotBefore: z
      .nullable(time())
      .meta(said('Its limits allow no new order for this name before then; null: they do')),
    summary,
    isProblem,
  })
  .meta({ id: 'AuthorityReach', description: 'How a certificate authority in use is' });

/** Part of the diagnosis with `reach=true`. */
export const reach = z
  .object({ addresses: z.array(addressReach), authorities: z.array(authorityReach) })
  .meta({ id: 'Reach', description: 'What stands between a host name and its certificate' });
