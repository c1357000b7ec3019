/** Request targets: paths and queries in many spellings, all of visible ASCII. */
import fc from 'fast-check';

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
export function withQuery(path: string): Target {
  const right = fc.constantFrom('', '', '?limit=2', '?status=sold', '?limit=1&cursor=AQAAAAAAAAAF');
  const any = fc.array(parameter, { maxLength: 3 }).map((list) => `?${list.join('&')}`);
  return fc.oneof(right, any).map((query) => path + query);
}

/** The path of an existing or missing project. */
export function projectPath(ids: readonly string[]): Target {
  const strange = ['0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11', 'x', '%00', '..', 'x'.repeat(3_000)];
  return fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom(...ids) },
      { weight: 1, arbitrary: fc.constantFrom(...strange) },
    )
    .map((id) => `/v1/projects/${id}`);
}

/** The service's other paths, and unknown ones. */
export const otherTargets: Target = fc.oneof(
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
export function decorated(target: Target): Target {
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
