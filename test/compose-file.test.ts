import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { variableNames } from '../src/config/variables.ts';
import { roleNames } from '../src/core/operations/roles.ts';
import { signpost } from './cli/cli.ts';
import { command } from './support/process.ts';

const file = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

describe('docker-compose.yml', () => {
  const compose = file('docker-compose.yml');
  const commands = [...compose.matchAll(/command: (\[.*\])/g)].map(([, json = '']) =>
    JSON.parse(json),
  );
  const ours = commands.filter(([program]) => program === 'node');

  it('runs api, worker and edge with the command of the tests', () => {
    expect(ours).toEqual([command, command, command]);
    for (const role of roleNames) expect(compose).toContain(`ROLE: ${role}`);
  });

  it('forwards every variable that an operator can set', () => {
    const ofEachRole = ['ROLE', 'HOST', 'PORT', 'EDGE_HTTP_PORT', 'EDGE_HTTPS_PORT', 'DATA_DIR'];
    for (const name of variableNames.filter((one) => !ofEachRole.includes(one))) {
      expect(compose).toContain(`    ${name}: `);
    }
  });

  it('keeps its own defaults when .env is a copy of .env.example', () => {
    const example = file('.env.example').matchAll(/^([A-Z_]+)=(.+)$/gm);
    const copied = new Map([...example].map(([, name = '', value = '']) => [name, value]));
    const defaults = [...compose.matchAll(/\$\{([A-Z_]+):-([^}]*)\}/g)];
    const changed = defaults.flatMap(([, name = '', value = '']) => {
      const other = copied.get(name);
      return value === '' || other === undefined || other === value ? [] : [`${name}=${other}`];
    });
    expect(defaults.length).toBeGreaterThan(10);
    expect(changed).toEqual([]);
  });

  it('runs the same command as the image and npm start', () => {
    expect(file('Dockerfile')).toContain(`CMD ${JSON.stringify(command).replaceAll(',', ', ')}`);
    // npm start runs the setup first, in the same process.
    const start = command.join(' ').replace('dist/src/main.js', 'scripts/start.mjs');
    expect(file('package.json')).toContain(`"start": "${start}"`);
    expect(file('scripts/start.mjs')).toContain("import('../dist/src/main.js')");
  });

  it('runs Caddy in front, with the file that the command line prints', async () => {
    const { stdout, code } = await signpost(['edge', 'caddyfile'], {
      HOST: '0.0.0.0',
      EDGE_HTTP_PORT: '80',
      EDGE_HTTPS_PORT: '443',
    });
    expect([code, stdout]).toEqual([0, file('deploy/caddy/Caddyfile')]);
    expect(compose).toContain('./deploy/caddy/Caddyfile:/etc/caddy/Caddyfile:ro');
    expect(compose).toContain('EDGE_CADDY_ADDRESS: 127.0.0.1:9180');
  });

  it('keeps Redis from evicting or losing jobs', () => {
    const redis = commands.find(([program]) => program === 'redis-server');
    expect(redis).toEqual([
      'redis-server',
      '--maxmemory-policy',
      'noeviction',
      '--appendonly',
      'yes',
    ]);
  });
});
