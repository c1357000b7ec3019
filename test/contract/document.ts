import {
  type OpenApiDocument,
  type Operation,
  type Ref,
  type Response,
  verbs,
} from '../../src/http/openapi/model.ts';

export type DocumentedOperation = {
  readonly operationId: string;
  /** Upper case. */
  readonly method: string;
  /** Below `base`, with `{name}` for its parameters. */
  readonly path: string;
  readonly base: '/v1' | '';
  /** Null: it needs no key. */
  readonly scope: string | null;
  readonly takesBody: boolean;
  /** Its success is an endless stream; test/http/events.test.ts covers it. */
  readonly isEndless: boolean;
  /** Statuses with the codes of their Error body, empty for other bodies. Without `default`. */
  readonly answers: ReadonlyMap<number, readonly string[]>;
};

/** Rejects if the service serves no document. */
export async function fetchDocument(origin: string): Promise<string> {
  const response = await fetch(`${origin}/openapi.json`);
  if (response.status !== 200) throw new Error(`/openapi.json answered ${response.status}`);
  return response.text();
}

export function operationsOf(text: string): readonly DocumentedOperation[] {
  const document = JSON.parse(text) as OpenApiDocument; // the tools validate it
  return Object.entries(document.paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const operation = item[verb];
      if (operation === undefined) return [];
      const { operationId, 'x-required-scope': scope = null, requestBody } = operation;
      return {
        operationId,
        method: verb.toUpperCase(),
        path,
        base: baseOf(item.servers),
        scope,
        takesBody: requestBody !== undefined,
        isEndless: isStream(operation.responses['200']),
        answers: answersIn(operation, document),
      };
    }),
  );
}

/** The path prefix of the wrong document in the combined one. */
export const WRONG = '/wrong';

/** Both documents in one: their paths differ and include the path of the server. */
export function withWholePaths(text: string, wrong: string): string {
  const { servers: _, paths, ...document } = JSON.parse(text) as OpenApiDocument; // as above
  const doubted = JSON.parse(wrong) as OpenApiDocument;
  const whole = (of: OpenApiDocument['paths'], prefix = '') =>
    Object.entries(of).map(([path, { servers, ...item }]) => [
      `${prefix}${baseOf(servers)}${path}`,
      item,
    ]);
  const all = [...whole(paths), ...whole(doubted.paths, WRONG)];
  return JSON.stringify({ ...document, paths: Object.fromEntries(all) });
}

/** The responses of an operation as `getPet 200` and `getPet 404 pet_not_found`. */
export function answersOf(
  { operationId, answers, isEndless }: DocumentedOperation,
  exceptCodes: readonly string[],
): readonly string[] {
  return [...answers].flatMap(([status, codes]) => {
    const others = codes.filter((code) => !exceptCodes.includes(code));
    const title = `${operationId} ${status}`;
    if (isEndless && status === 200) return [];
    return others.length === 0 ? [title] : others.map((code) => `${title} ${code}`);
  });
}

/** A document of getPet that says that ids are text and every pet exists. */
export function wrongAboutGetPet(text: string): string {
  const { paths, ...document } = JSON.parse(text) as OpenApiDocument; // as above
  const path = '/pets/{petId}';
  const pet = document.components.schemas['Pet'];
  const operation = paths[path]?.get;
  const success = operation?.responses['200'];
  if (pet === undefined || operation === undefined || success === undefined) {
    throw new Error('the document has no getPet');
  }
  const schema = { ...pet, properties: { ...pet.properties, id: { type: 'string' } } };
  const content = { 'application/json': { schema } };
  const { 404: _, default: __, ...responses } = operation.responses;
  const wrong = { ...responses, 200: { ...resolve(success, document), content } };
  return JSON.stringify({
    ...document,
    paths: { [path]: { get: { ...operation, responses: wrong } } },
  });
}

/** Operations whose paths have no version have their own servers. */
function baseOf(servers: unknown): DocumentedOperation['base'] {
  return servers === undefined ? '/v1' : '';
}

function answersIn({ responses }: Operation, document: OpenApiDocument) {
  const listed = Object.entries(responses).filter(([status]) => status !== 'default');
  return new Map(
    listed.map(([status, response]) => [Number(status), codesOf(resolve(response, document))]),
  );
}

function resolve(
  response: Response | Ref,
  { components }: Pick<OpenApiDocument, 'components'>,
): Response {
  if (!('$ref' in response)) return response;
  const found = components.responses[response.$ref.split('/').at(-1) ?? ''];
  if (found === undefined) throw new Error(`the document has no ${response.$ref}`);
  return found;
}

function isStream(response: Response | Ref | undefined): boolean {
  const content = response === undefined || '$ref' in response ? undefined : response.content;
  return content?.['text/event-stream'] !== undefined;
}

/** The examples of an Error are named by their codes. */
function codesOf({ content }: Response): readonly string[] {
  return Object.keys(content?.['application/json']?.examples ?? {});
}
