import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { logOptions } from '../../src/ops/log.ts';

function logged(err: unknown): { readonly text: string; readonly err: Record<string, unknown> } {
  const written: string[] = [];
  const log = pino(logOptions({ logLevel: 'trace', role: 'all' }), {
    write: (line) => void written.push(line),
  });
  log.error({ err }, 'fault');
  const text = written.join('');
  return { text, err: JSON.parse(text).err };
}

describe('A logged error', () => {
  it('has its class, message, stack and codes', () => {
    const fault = Object.assign(new TypeError('no'), { code: 'ECONNREFUSED', port: 5432 });
    const { err } = logged(fault);
    expect(err).toMatchObject({
      type: 'TypeError',
      message: 'no',
      code: 'ECONNREFUSED',
      port: 5432,
    });
    expect(err['stack']).toContain('TypeError: no');
  });

  it('includes the message of its cause', () => {
    const { err } = logged(new Error('could not start', { cause: new Error('port in use') }));
    expect(err['message']).toBe('could not start: port in use');
  });

  it('leaves out the data that it was about', () => {
    const about = { command: { name: 'set', args: ['key', 'secret-1'] }, parameters: ['secret-2'] };
    const { text } = logged(
      Object.assign(new Error('no'), about, { detail: 'Key (x)=(secret-3)' }),
    );
    expect(text).not.toMatch(/secret-\d/);
  });

  const secrets = [
    'postgres://signpost:secret@db/x',
    'redis://:secret@cache:6379',
    'key signpost_secretsecretsecret',
    'whsec_c2VjcmV0c2VjcmV0',
    '-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----',
  ];
  it.each(secrets)('redacts secrets in its message: %s', (words) => {
    const { text } = logged(new Error(`failed with ${words}`));
    expect(text).toContain('failed with');
    expect(text).not.toMatch(/secret|c2VjcmV0/);
  });

  it('is created for a thrown value that is not an error', () => {
    expect(logged('plain').err).toEqual({ type: 'Thrown', message: 'plain' });
  });
});
