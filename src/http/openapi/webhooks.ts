import { DELIVERY_TIMEOUT_MS } from '../../core/operations/webhook-plan.ts';
import { SECOND } from '../../core/time.ts';
import { webhookMessage } from '../schemas/events.ts';
import { docsEvents } from '../schemas/examples.ts';
import { docsProject } from '../schemas/projects.ts';
import type { SchemaWriter } from './json-schema.ts';
import type { Parameter, WebhookOperation } from './model.ts';

const [newest] = docsEvents;
const example = {
  type: newest?.type,
  timestamp: newest?.at,
  data: { ...newest, projectId: docsProject.id },
};

/** What a receiver gets, so that generators make types for it. */
export function webhookOperation(schemas: SchemaWriter): WebhookOperation {
  return {
    operationId: 'receiveMessage',
    tags: ['Webhooks'],
    summary: 'A message to your URL',
    description: `Sent to the URL of a webhook, signed as [Standard Webhooks](https://www.standardwebhooks.com) 1.0.0 defines. Answer with any 2xx within ${DELIVERY_TIMEOUT_MS / SECOND} seconds. The same \`webhook-id\` can arrive more than once. \`type\` determines the fields of \`data\`; later versions add types.`,
    'x-stability': 'stable',
    'x-addition': true,
    security: [],
    parameters: [
      header(
        'webhook-id',
        'ID of the message, the same for every attempt',
        `msg_${docsProject.id}`,
      ),
      header('webhook-timestamp', 'Time of the attempt, in seconds since 1970', '1795176000'),
      header(
        'webhook-signature',
        'HMAC-SHA256 with each valid secret, separated by spaces',
        'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
      ),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: schemas.output(webhookMessage), example } },
    },
    responses: {
      '2XX': { description: 'The message is accepted and not sent again', headers: {} },
      '410': { description: 'The webhook is disabled', headers: {} },
      default: { description: 'The message is sent again later', headers: {} },
    },
  };
}

function header(name: string, description: string, example: string): Parameter {
  return {
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
    example,
  };
}
