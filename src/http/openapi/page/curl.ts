/** An operation as a command for a shell. */
import { renderJson } from '../../../net/json.ts';
import type { Operation, Parameter } from '../model.ts';

/** The request as `curl` sends it to `url`, parameters and body filled with their examples; the key is in `$KEY`. */
export function curlOf(
  verb: string,
  operation: Operation,
  parameters: readonly Parameter[],
): readonly string[] {
  const body = operation.requestBody?.content['application/json'].example;
  const needsKey = operation.security.length > 0;
  return [
    ...(verb === 'get' ? [] : [`-X ${verb.toUpperCase()}`]),
    ...(needsKey ? ['-H "Authorization: Bearer $KEY"'] : []),
    ...(operation.requestBody ? [`-H ${quoted('Content-Type: application/json')}`] : []),
    ...parameters
      .filter(({ name }) => name === 'Idempotency-Key')
      .map(({ name, example }) => `-H ${quoted(`${name}: ${String(example)}`)}`),
    ...(operation.requestBody ? [`-d ${quoted(renderJson(body))}`] : []),
  ];
}

/** The path with its parameters, and with those of its query that have one, filled with their examples. */
export function examplePath(path: string, parameters: readonly Parameter[]): string {
  const query = parameters.flatMap(({ in: place, name, example }) =>
    place === 'query' && example !== undefined
      ? [`${name}=${encodeURIComponent(String(example))}`]
      : [],
  );
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) => {
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
    return parameter === undefined ? whole : encodeURIComponent(String(parameter.example));
  });
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
