import type { Context } from './context.ts';
import type { OperationAsks } from './operations.ts';
import type { Ask, Asking } from './requests.ts';

const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';
const url = 'https://hooks.example.com/signpost';

type Kind = {
  readonly noun: string;
  readonly params: (context: Context) => Readonly<Record<string, string>>;
  readonly idOf: (context: Context) => string;
  readonly disabledIdOf: (context: Context) => string;
  /** Extra fields in a replay request. */
  readonly whose: (context: Context) => object;
  /** Errors of a replay with the project in its body. */
  readonly ofNoProject: boolean;
  /** Errors of a project in the path. */
  readonly inNoProject: (ask: Ask) => OperationAsks['refusals'];
};

const kinds: readonly Kind[] = [
  {
    noun: '',
    params: ({ projectId }) => ({ projectId }),
    idOf: ({ webhookId }) => webhookId,
    disabledIdOf: ({ disabledWebhookId }) => disabledWebhookId,
    whose: () => ({}),
    ofNoProject: false,
    inNoProject: (ask) => [
      [
        404,
        'project_not_found',
        () => ({ ...ask, params: { ...ask.params, projectId: UNKNOWN_ID } }),
      ],
    ],
  },
  {
    noun: 'Operator',
    params: () => ({}),
    idOf: ({ operatorWebhookId }) => operatorWebhookId,
    disabledIdOf: ({ disabledOperatorWebhookId }) => disabledOperatorWebhookId,
    whose: ({ projectId }) => ({ projectId }),
    ofNoProject: true,
    inNoProject: () => [],
  },
];

function ofKind(kind: Kind): Readonly<Record<string, OperationAsks>> {
  const { noun, params, inNoProject } = kind;
  const asks =
    (idOf: (context: Context) => string, json?: (context: Context) => object): Asking =>
    (context) => ({
      params: { ...params(context), webhookId: idOf(context) },
      ...(json !== undefined && { json: json(context) }),
    });
  const unknownId = () => UNKNOWN_ID;
  /** An operation on one webhook. */
  const ofOne = (status: number, json?: (context: Context) => object): OperationAsks => ({
    success: [status, asks(kind.idOf, json)],
    refusals: [
      ...(inNoProject({
        params: { webhookId: UNKNOWN_ID },
        ...(json !== undefined && { json: json({ projectId: UNKNOWN_ID } as Context) }), // only this field is read
      }) ?? []),
      [404, 'webhook_not_found', asks(unknownId, json)],
    ],
  });
  const replay = (what: object) => (context: Context) => ({ ...what, ...kind.whose(context) });
  const replays = ofOne(202, replay({ after: 0 }));
  const inProject: Asking = (context) => ({ params: params(context) });
  return {
    [`list${noun}Webhooks`]: { success: [200, inProject], refusals: inNoProject({}) ?? [] },
    [`create${noun}Webhook`]: {
      // Unique per context: the path of an operator's webhook names no project.
      success: [
        201,
        (context) => ({ params: params(context), json: { url: `${url}/${context.unique}` } }),
      ],
      refusals: inNoProject({ json: { url } }) ?? [],
    },
    [`get${noun}Webhook`]: ofOne(200),
    [`update${noun}Webhook`]: ofOne(200, () => ({ events: [] })),
    // 204 is also the answer for a missing one, as after the others of this list.
    [`delete${noun}Webhook`]: {
      success: [204, asks(unknownId)],
      refusals: inNoProject({ params: { webhookId: UNKNOWN_ID } }) ?? [],
    },
    [`rotate${noun}WebhookSecret`]: ofOne(200),
    [`list${noun}WebhookDeliveries`]: ofOne(200),
    [`test${noun}Webhook`]: ofOne(200),
    [`replay${noun}WebhookEvents`]: {
      ...replays,
      refusals: [
        ...(replays.refusals ?? []),
        ...(kind.ofNoProject
          ? ([
              [
                404,
                'project_not_found',
                asks(kind.idOf, () => ({ after: 0, projectId: UNKNOWN_ID })),
              ],
            ] as const)
          : []),
        [404, 'event_not_found', asks(kind.idOf, replay({ event: 999_999 }))],
        [409, 'webhook_disabled', asks(kind.disabledIdOf, replay({ after: 0 }))],
      ],
    },
  };
}

/** By operationId. */
export const webhookOperations: Readonly<Record<string, OperationAsks>> = Object.assign(
  {},
  ...kinds.map(ofKind),
);
