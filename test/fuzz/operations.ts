/** Requests by operation: method, target and body of every route, and of none. */
import fc from 'fast-check';
import { anyBody, bodiesLike, json } from './bodies.ts';
import type { Known } from './known.ts';

/* Request targets: paths and queries in many spellings, all of visible ASCII. */

type Target = fc.Arbitrary<string>;

const visible = Array.from({ length: 94 }, (_, n) => String.fromCharCode(0x21 + n));
/** `#` would end a target for some parsers; a spelling below covers it. */
const pathText = fc.string({
  unit: fc.constantFrom(...visible.filter((character) => character !== '#')),
  maxLength: 20,
});

const parameterName = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('limit', 'status', 'cursor') },
  { weight: 1, arbitrary: fc.constantFrom('x', '', '__proto__', 'limit%00', 'LIMIT') },
);
const parameterValue = fc.oneof(
  fc.constantFrom('1', '5', '20', '100', '101', '0', '-1', '1.5', '1e1', '', '020', '%31', '+1'),
  fc.constantFrom('available', 'sold', 'gone', '%00', '%zz', '%', '%F0%9F%90%95', '%ED%A0%80'),
  fc.constantFrom('AQAAAAAAAAAF', 'AQAAAAAAAAAG', 'AX__________', 'AAAAAAAAAAAA', 'A'.repeat(99)),
  pathText,
);
const parameter = fc.tuple(parameterName, parameterValue).map((pair) => pair.join('='));

/** A path with valid and invalid parameters. */
function withQuery(path: string): Target {
  const right = fc.constantFrom('', '', '?limit=2', '?status=sold', '?limit=1&cursor=AQAAAAAAAAAF');
  const any = fc.array(parameter, { maxLength: 3 }).map((list) => `?${list.join('&')}`);
  return fc.oneof(right, any).map((query) => path + query);
}

/** The path of an existing or missing project. */
function projectPath(ids: readonly string[]): Target {
  const strange = ['0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11', 'x', '%00', '..', 'x'.repeat(3_000)];
  return fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom(...ids) },
      { weight: 1, arbitrary: fc.constantFrom(...strange) },
    )
    .map((id) => `/v1/projects/${id}`);
}

/** The service's other paths, and unknown ones. */
const otherTargets: Target = fc.oneof(
  fc.constantFrom('/healthz', '/readyz', '/', '/openapi.json', '/docs', '/metrics', '*'),
  fc.constantFrom('/v1', '/v1/', '//v1/pets', '/v1/pets/1/2', '/V1/PETS', '/v1/./pets', '/docs/'),
  fc.constantFrom('/nothing', '/__proto__', '/v1/%', '/v1/%2', '/v1/%c0%af', '/v1/%ff'),
  fc.constantFrom('/v1//..%2f..%2fetc/passwd', '/v1/%2e%2e/', `/v1/${'a'.repeat(2_000)}`),
  pathText.map((text) => `/${text}`),
  pathText.map((text) => `/v1/pets?${text}`),
  fc.integer({ min: 8_185, max: 8_195 }).map((length) => '/v1/pets?'.padEnd(length, 'x')),
);

const spellings: readonly ((target: string) => string)[] = [
  (target) => `http://x${target}`, // absolute form: RFC 9112, 3.2.2
  (target) => `HTTPS://a.example:443${target}`,
  (target) => `http://user:password@x${target}`,
  (target) => `${target}/`,
  (target) => `/${target}`,
  (target) => `${target};a=b`,
  (target) => `${target}#fragment`,
  (target) => `${target}%00`,
  (target) => `${target}%`,
  (target) => `${target}?`,
  (target) => `${target}&limit=1`,
  (target) => target.replace('/v1/', '/v1/../v1/'),
  (target) => target.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (target) => target.toUpperCase(),
];

/** A target, sometimes in another spelling. */
function decorated(target: Target): Target {
  return fc.oneof(
    { weight: 12, arbitrary: target },
    {
      weight: 1,
      arbitrary: fc
        .tuple(target, fc.constantFrom(...spellings))
        .map(([text, spell]) => spell(text)),
    },
  );
}

export type Operation = {
  readonly method: string;
  /** Visible ASCII, so that every parser accepts it as a target. */
  readonly target: string;
  /** Octets; null: no body. */
  readonly body: string | null;
};

/** Targets of one route, with right and wrong methods and its bodies. */
export function operations(known: Known): fc.Arbitrary<Operation> {
  return fc.oneof(
    { weight: 8, arbitrary: pets() },
    { weight: 4, arbitrary: projects(known) },
    { weight: 4, arbitrary: domains(known) },
    { weight: 2, arbitrary: keys(known) },
    { weight: 3, arbitrary: elsewhere(known) },
  );
}

const none = fc.constant(null);
const read = fc.constantFrom('GET', 'HEAD');
const name = fc.oneof(fc.constantFrom('Rex', 'a', '\u{1f415}'), fc.string({ minLength: 1 }));

/** Every method that Node's parser knows, except CONNECT, which the API does not answer. */
const anyMethod = fc.constantFrom(
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'SEARCH'],
  ...['PROPFIND', 'LOCK', 'M-SEARCH', 'PURGE', 'LINK', 'SOURCE', 'COPY', 'MKCOL', 'REPORT'],
);

function operation(
  method: fc.Arbitrary<string>,
  target: fc.Arbitrary<string>,
  body: fc.Arbitrary<string | null>,
): fc.Arbitrary<Operation> {
  return fc.record({ method, target: decorated(target), body });
}

function pets() {
  const pet = json(
    fc.record(
      { name, categoryId: fc.nat(), status: fc.constantFrom('available', 'pending', 'sold') },
      { requiredKeys: ['name', 'categoryId'] },
    ),
  );
  const one = fc
    .oneof(
      fc.nat({ max: 2_000 }).map(String),
      fc.constantFrom(...['0', '-1', '-0', '007', '1.5', '1e3', '%31', 'abc', '', '%D9%A1', '%00']),
      fc.constantFrom('9223372036854775807', '9223372036854775808', '-9223372036854775809'),
    )
    .map((id) => `/v1/pets/${id}`);
  return fc.oneof(
    operation(read, withQuery('/v1/pets'), none),
    operation(
      fc.constant('POST'),
      fc.constant('/v1/pets'),
      bodiesLike(pet, ['name', 'categoryId', 'status']),
    ),
    operation(read, one, none),
  );
}

function projects({ projectIds }: Known) {
  const slug = fc.constantFrom(...Array.from({ length: 30 }, (_, n) => `fuzz-${n}`));
  const plan = fc.constantFrom('free', 'pro', 'enterprise');
  const project = json(fc.record({ name, slug, plan }));
  const change = json(fc.record({ name, plan: fc.constant('pro') }, { requiredKeys: [] }));
  const upstream = fc.constantFrom('http://upstream.test', 'https://[::1]:8443/a', 'ftp://x');
  const deploy = json(fc.record({ status: fc.constantFrom('succeeded', 'failed'), upstream }));
  const path = projectPath(projectIds);
  return fc.oneof(
    operation(read, fc.constant('/v1/projects'), none),
    operation(
      fc.constant('POST'),
      fc.constant('/v1/projects'),
      bodiesLike(project, ['name', 'slug', 'plan']),
    ),
    operation(read, path, none),
    operation(fc.constant('PATCH'), path, bodiesLike(change, ['name', 'plan'])),
    operation(
      fc.constant('POST'),
      path.map((project) => `${project}/deploys`),
      bodiesLike(deploy, ['status', 'upstream']),
    ),
  );
}

const hostname = fc.oneof(
  fc.nat({ max: 40 }).map((n) => `docs-${n}.example.com`),
  fc.constantFrom('example.com', 'co.uk', '*.example.com', 'x.edge.signpost.test', 'localhost'),
  fc.constantFrom('https://docs.example.com/a?b#c', 'DOCS-1.EXAMPLE.COM.', 'b\u00fccher.example'),
  fc.constantFrom('127.0.0.1', '[::1]', 'xn--a', '-a.example', 'a..example', '\0.example'),
  fc.constantFrom(`${'a'.repeat(64)}.example`, `${'a.'.repeat(130)}example`),
  fc.domain(),
  fc.string({ unit: 'binary' }),
);

function domains({ projectIds }: Known) {
  const list = projectPath(projectIds).map((project) => `${project}/domains`);
  const one = fc.tuple(list, hostname).map(([path, host]) => `${path}/${encodeURIComponent(host)}`);
  const added = bodiesLike(json(fc.record({ hostname })), ['hostname']);
  // A valid GET would be endless, so it always names a missing domain.
  const events = projectPath(projectIds).map((project) => `${project}/events`);
  const noEvents = events.map((path) => `${path}?hostname=nobody.example.org`);
  return fc.oneof(
    operation(fc.constant('HEAD'), events, none),
    operation(read, noEvents, none),
    operation(read, list, none),
    operation(fc.constant('POST'), list, added),
    operation(fc.constantFrom('GET', 'HEAD', 'DELETE'), one, none),
    operation(
      fc.constant('POST'),
      one.map((path) => `${path}/verify`),
      none,
    ),
    operation(
      read,
      one.map((path) => `${path}/timeline`),
      none,
    ),
  );
}

function keys({ keyIds }: Known) {
  const scopes = fc.subarray(['pets:read', 'domains:read', 'ops:read'], { minLength: 1 });
  const expiresAt = fc.constantFrom(2099, 2001, 9999).map((year) => `${year}-12-31T23:59:59Z`);
  const key = { name, scopes, expiresAt };
  const created = json(fc.record(key, { requiredKeys: ['name', 'scopes'] }));
  const one = fc
    // Without API_KEY, which the run itself uses.
    .constantFrom(...keyIds, 'x7Gk2mPq9LwZ', '', '%00', 'x'.repeat(5_000))
    .map((id) => `/v1/keys/${id}`);
  const rotation = json(fc.record({ graceSeconds: fc.constantFrom(0, 60, 2_592_000, 2_592_001) }));
  const rest = operation(
    fc.constant('POST'),
    fc.constant('/v1/keys'),
    bodiesLike(created, ['name', 'scopes']),
  );
  return fc.oneof(
    // Rare, because listing keys returns all of them.
    { weight: 1, arbitrary: rest },
    { weight: 1, arbitrary: operation(read, fc.constant('/v1/keys'), none) },
    { weight: 4, arbitrary: operation(fc.constantFrom('GET', 'HEAD', 'DELETE'), one, none) },
    {
      weight: 4,
      arbitrary: operation(
        fc.constant('POST'),
        one.map((path) => `${path}/rotate`),
        bodiesLike(rotation, ['graceSeconds']),
      ),
    },
  );
}

/** Any method and body on existing and missing paths. */
function elsewhere({ projectIds, keyIds }: Known) {
  const target = fc.oneof(
    otherTargets,
    fc.constantFrom(
      ...['/v1/pets', '/v1/pets/1', '/v1/projects', '/v1/keys'],
      ...projectIds.map((id) => `/v1/projects/${id}/deploys`),
      ...keyIds.map((id) => `/v1/keys/${id}/rotate`),
    ),
  );
  return operation(anyMethod, target, fc.oneof(none, anyBody));
}
