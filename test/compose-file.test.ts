import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { variableNames } from '../src/config/config.ts';
import { signpost } from './cli/cli.ts';
import { command } from './support/process.ts';

const file = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

describe('docker-compose.yml', () => {
  const compose = file('docker-compose.yml');
  const commands = [...compose.matchAll(/command: (\[.*\])/g)].map(([, json = '']) =>
    JSON.parse(json),
  );
  /** By name: the text of each service. */
  const services = new Map(
    (compose.split(/^services:\n/m)[1] ?? '')
      .split(/^volumes:/m)[0]
      ?.split(/^(?= {2}\w+:$)/m)
      .flatMap((text) => {
        const [, name] = /^ {2}(\w+):\n/.exec(text) ?? [];
        return name === undefined ? [] : [[name, text] as const];
      }),
  );
  const ours = commands.filter(([program]) => program === 'node');

  it('runs api, worker and edge by the command that the tests run', () => {
    expect(ours).toEqual([command, command, command]);
    for (const role of ['api', 'worker', 'edge']) expect(compose).toContain(`ROLE: ${role}`);
  });

  it('passes on every variable that an operator may set', () => {
    const ofEachRole = ['ROLE', 'HOST', 'PORT', 'EDGE_HTTP_PORT', 'EDGE_HTTPS_PORT', 'DATA_DIR'];
    for (const name of variableNames.filter((one) => !ofEachRole.includes(one))) {
      expect(compose).toContain(`    ${name}: `);
    }
  });

  it('installs the packages of its image before the source is there, which changes more often', () => {
    const build = file('Dockerfile').split(/^FROM /m)[1] ?? '';
    const steps = [...build.matchAll(/^(?:COPY|RUN) .*$/gm)].map(([step]) => step);
    expect(steps.slice(0, 3)).toEqual([
      'COPY package.json package-lock.json ./',
      'RUN npm ci --include=dev',
      'COPY . .',
    ]);
  });

  it('starts with nothing that the README does not ask for, a token for metrics among it', () => {
    const required = new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name));
    const steps = file('README.md').split('## Production')[1]?.split('docker compose')[0] ?? '';
    const asked = [...steps.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name);
    expect([...required].toSorted()).toEqual(asked.filter((one) => one !== 'API_KEY').toSorted());
    expect(required).toContain('METRICS_TOKEN');
  });

  it('is what the image and npm start run, too', () => {
    expect(file('Dockerfile')).toContain(`CMD ${JSON.stringify(command).replaceAll(',', ', ')}`);
    // npm start adds the set-up, in the same process.
    const start = command.join(' ').replace('dist/src/main.js', 'scripts/start.mjs');
    expect(file('package.json')).toContain(`"start": "${start}"`);
    expect(file('scripts/start.mjs')).toContain("import('../dist/src/main.js')");
  });

  it('has Caddy in front, by the file that the command line prints', async () => {
    const { stdout, code } = await signpost(['edge', 'caddyfile'], {
      HOST: '0.0.0.0',
      EDGE_HTTP_PORT: '80',
      EDGE_HTTPS_PORT: '443',
    });
    expect([code, stdout]).toEqual([0, file('deploy/caddy/Caddyfile')]);
    expect(compose).toContain('./deploy/caddy/Caddyfile:/etc/caddy/Caddyfile:ro');
    expect(compose).toContain('EDGE_CADDY_ADDRESS: 127.0.0.1:9180');
  });

  it('keeps Redis from evicting or forgetting jobs, and from answering whoever has no password', () => {
    const redis = services.get('redis') ?? '';
    expect(redis).toContain('--maxmemory-policy noeviction --appendonly yes');
    expect(redis).toContain('requirepass $$REDIS_PASSWORD');
    expect(redis).not.toMatch(/redis-server.*--requirepass/); // the list of processes would show it
    expect(compose).toMatch(/REDIS_URL: redis:\/\/:\$\{REDIS_PASSWORD:\?/);
  });

  it('gives no container a capability, nor anything of its image to write', () => {
    expect([...services.keys()]).toEqual('api worker front edge caddy postgres redis'.split(' '));
    for (const [name, text] of services) {
      const isConfined = /^ {4}<<: \*(?:confined|signpost)$/m.test(text);
      expect([name, isConfined]).toEqual([name, true]);
      expect([name, /cap_add:|privileged:|read_only: false/.test(text)]).toEqual([name, false]);
    }
    expect(compose).toMatch(/^x-signpost: &signpost\n {2}<<: \*confined$/m);
    const confined = /^x-confined: &confined\n((?: {2}.*\n)+)/m.exec(compose)?.[1];
    expect(confined).toContain('read_only: true');
    expect(confined).toContain('cap_drop: ["ALL"]');
    expect(confined).toContain('security_opt: ["no-new-privileges:true"]');
  });

  it('lets the user of the image read the empty database that embedded storage begins with', () => {
    const [, build = '', image = ''] = file('Dockerfile').split(/^FROM /m);
    expect(image).toMatch(/^USER node$/m);
    expect(build).toMatch(/^RUN .* && chmod -R go=rX node_modules\/\.signpost$/m);
    expect(file('scripts/setup.mjs')).toContain("at('node_modules', '.signpost')");
  });

  it('makes no volume but those of PostgreSQL and Redis', () => {
    const image = file('Dockerfile');
    expect([...image.matchAll(/^VOLUME (.*)$/gm)].map(([, path]) => path)).toEqual(['/data']);
    expect(compose).toContain('\n  tmpfs: ["/tmp", "/data"]\n'); // of x-signpost
    expect(services.get('front')).toContain('\n    tmpfs: ["/data"]\n');
    expect(compose.split(/^volumes:\n/m)[1]).toBe('  postgres:\n  redis:\n');
  });

  it('shows the API to this machine alone, and no storage to anybody', () => {
    const ports = [...services].flatMap(([name, text]) => {
      const [, list] = /^ {4}ports: (.*)$/m.exec(text) ?? [];
      return list === undefined ? [] : [[name, JSON.parse(list)]];
    });
    expect(Object.fromEntries(ports)).toEqual({
      api: ['127.0.0.1:3000:3000'],
      front: ['80:80', '443:443', '443:443/udp'],
    });
  });

  it('has roles of PostgreSQL that are no superuser: one for edges, one for the others', () => {
    expect(compose).not.toContain('POSTGRES_USER');
    expect(compose).toContain(
      './deploy/postgres/roles.sql:/docker-entrypoint-initdb.d/roles.sql:ro',
    );
    expect(services.get('postgres')).toContain('OWN_SERVER: "true"');
    const urls = [...compose.matchAll(/DATABASE_URL: postgres:\/\/(\w+):/g)].map(
      ([, user]) => user,
    );
    expect(urls).toEqual(['signpost', 'signpost_edge']);
    const edge = services.get('edge') ?? '';
    expect(edge).toMatch(/ KEY_ENCRYPTION_KEY: \$\{EDGE_KEY_ENCRYPTION_KEY:-/);
    for (const name of ['REDIS_URL', 'API_KEY', 'ACME_EAB_HMAC_KEY']) {
      expect(edge).toContain(`      ${name}: ""\n`);
    }
  });

  it('takes images by digest', () => {
    const dockerfiles = [file('Dockerfile'), file('deploy/caddy/Dockerfile')];
    const bases = dockerfiles.flatMap((text) => [...text.matchAll(/^FROM (?:\$\{(\w+)\})?/gm)]);
    expect(bases.map(([, name]) => name)).toEqual(['NODE_IMAGE', 'NODE_IMAGE', 'CADDY_IMAGE']);
    const images = [compose, ...dockerfiles].flatMap((text) => [
      ...text.matchAll(/(?:image: \$\{\w+:-|ARG \w+_IMAGE=)([^}\n]+)/g),
    ]);
    const pinned = images.map(
      ([, image = '']) => /^(\w+):[\w.-]+@sha256:[0-9a-f]{64}$/.exec(image)?.[1],
    );
    expect(pinned).toEqual(['postgres', 'redis', 'node', 'caddy']);
    expect(compose.match(/image:/g)).toHaveLength(2);
  });
});
