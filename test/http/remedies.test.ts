import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ErrorCode, errors } from '../../src/http/pipeline/errors.ts';
import { type CallOptions, callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let t: TestApi;
let key: string;
beforeAll(async () => {
  t = await startTestApi();
  key = await t.keyWith('pets:read', 'pets:write');
});
afterAll(() => t.close());

const pet = { name: 'a', categoryId: 1 };
const typed = (type: string): CallOptions => ({ raw: '{}', headers: { 'content-type': type } });

const typeWords = 'The body must be JSON in UTF-8, sent with Content-Type: application/json.';
const remedies: readonly [
  code: ErrorCode,
  line: string,
  options: CallOptions,
  message: string,
  header: object,
][] = [
  [
    'unsupported_media_type',
    'POST /v1/pets',
    typed('text/plain'),
    typeWords,
    { accept: 'application/json' },
  ],
  [
    'unsupported_media_type',
    'POST /v1/pets',
    { json: pet, headers: { 'content-encoding': 'gzip' } },
    'The body must not be compressed. Send it without Content-Encoding.',
    { 'accept-encoding': 'identity' },
  ],
  [
    'method_not_allowed',
    'DELETE /v1/pets',
    {},
    'This path does not support this method. It supports GET, POST, HEAD, OPTIONS.',
    { allow: 'GET, POST, HEAD, OPTIONS' },
  ],
  [
    'method_not_allowed',
    'PATCH /v1/pets/1',
    {},
    'This path does not support this method. It supports GET, HEAD, OPTIONS.',
    { allow: 'GET, HEAD, OPTIONS' },
  ],
  [
    'invalid_query',
    'GET /v1/pets/1?color=red',
    {},
    'color: is not a query parameter of this operation, which accepts none',
    {},
  ],
];
test.each(remedies)(
  'the error for %s of %s with %j says what to do',
  async (code, line, options, message, header) => {
    const answer = await callApi(t.api, line, { key, ...options });
    expect(answer.body).toEqual(errorBody(errors[code][0], code, message));
    expect(answer.headers).toMatchObject(header);
  },
);
