import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { welcome, welcomeFields } from '../../src/process/welcome.ts';

const server = {
  DATABASE_URL: 'postgres://db.example/signpost',
  KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
};
const addresses = { http: 'http://127.0.0.1:3000', edge: null, metricsPort: null };

function shown(env: Readonly<Record<string, string>>): string {
  const result = loadConfig({ ...server, ...env });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return welcome(result.config, { addresses, firstKey: null });
}

describe('On servers, the ready text', () => {
  it('names the roles that are still to be started, and the page for operators', () => {
    const text = shown({ ROLE: 'api', ACME_DIRECTORY_URL: 'local' });
    expect(text.match(/ROLE=\w+/g)).toEqual(['ROLE=worker', 'ROLE=edge']);
    expect(text).toContain('http://127.0.0.1:3000/ops');
    expect(text).not.toMatch(/pets|demo/);
  });

  it('has the same next steps as JSON', () => {
    const result = loadConfig({ ...server, ROLE: 'api', ACME_DIRECTORY_URL: 'local' });
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    expect(welcomeFields(result.config, { addresses, firstKey: null })).toMatchObject({
      next: { start: ['ROLE=worker', 'ROLE=edge'], operations: 'http://127.0.0.1:3000/ops' },
    });
  });

  it('names no edge with CERTIFICATES=external, which refuses that role', () => {
    const text = shown({ ROLE: 'api', CERTIFICATES: 'external' });
    expect(text.match(/ROLE=\w+/g)).toEqual(['ROLE=worker']);
  });

  it('names no role where one process has all', () => {
    expect(shown({ ACME_DIRECTORY_URL: 'local' })).not.toContain('ROLE=');
  });
});
