/** src/certificates/reach/examine-reach.ts produces it; the CLI reads it. */
import { z } from 'zod';
import { time, wholeNumber } from '../pipeline/json.ts';
import { explainedEnum } from './common.ts';

const said = (description: string) => ({ description });
const inWords = {
  summary: z.string().meta(said('One or two sentences for people')),
  isProblem: z.boolean().meta(said('Someone has to act')),
};

const answer = z
  .object({
    url: z.string().meta(said('Without the token')),
    address: z.string(),
    status: wholeNumber({ min: 0, max: 999 }),
    server: z.nullable(z.string()).meta(said('The `Server` header')),
    proxy: z
      .nullable(z.object({ name: z.string(), header: z.string() }))
      .meta(said('A proxy in between, by the header that it adds')),
  })
  .meta({ id: 'ReachAnswer', description: 'One HTTP response' });

const addressReach = z
  .object({
    address: z.string(),
    port: wholeNumber({ min: 1, max: 65_535 }),
    scheme: z.enum(['http', 'https']),
    outcome: explainedEnum('ReachOutcome', 'Who answered, or why there was no answer', {
      edge: 'Our edge, for this name',
      other_answer: 'Another server',
      refused: 'The connection was refused',
      timeout: 'No answer in time',
      no_route: 'We have no route to it',
      reserved: 'It cannot be reached from the internet, so it was not queried',
      no_tls: 'No TLS handshake for this name',
      no_http: 'The answer was not HTTP',
      bad_redirect: 'A redirect that CAs do not follow',
    }),
    redirect: z
      .nullable(z.object({ problem: z.string(), to: z.string() }))
      .meta(said('The redirect that was not followed')),
    lastUrl: z.nullable(z.string()).meta(said('Where the last request went, without the token')),
    answers: z.array(answer).meta(said('The address’s own first, then those after redirects')),
    ...inWords,
  })
  .meta({ id: 'AddressReach', description: 'What one address answers for the challenge path' });

const authorityReach = z
  .object({
    directoryUrl: z
      .nullable(z.string())
      .meta(said('Null: this installation issues the certificates')),
    directoryAnswers: z.nullable(z.boolean()).meta(said('Null: not queried')),
    statusPage: z
      .nullable(z.object({ url: z.string(), status: z.string(), isOperational: z.boolean() }))
      .meta(said('Null: none that is known, or none that answered')),
    noOrderBefore: z
      .nullable(time())
      .meta(said('When its rate limits allow the next order for this name; null: now')),
    refused: z
      .nullable(z.object({ type: z.string(), detail: z.string() }))
      .meta(said('Why it refused the latest order for this name')),
    ...inWords,
  })
  .meta({ id: 'AuthorityReach', description: 'A CA in use' });

export const proxyAnswer = z
  .object({
    address: z.string(),
    result: explainedEnum('ProxyResult', 'What a proxy does with a challenge', {
      edge: 'It passes it on to our edge',
      other: 'Another server, or the proxy itself, answers',
      redirect: 'It redirects to where no CA follows',
      none: 'No response',
      unseen: 'Not queried: this machine cannot recognize our edge',
    }),
    status: z.nullable(wholeNumber({ min: 0, max: 999 })),
  })
  .meta({ id: 'ProxyAnswer', description: 'One address of a proxy in front of the name' });

export const reach = z
  .object({
    addresses: z.array(addressReach).meta(said('At ports 80 and 443; empty if the name has none')),
    authorities: z
      .array(authorityReach)
      .meta(said('In order of preference; empty if another edge obtains the certificates')),
  })
  .meta({ id: 'Reach', description: 'What a certificate needs besides DNS' });
