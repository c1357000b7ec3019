/** The OpenAPI document as the contract tests read it: every operation, and every answer that it promises. */
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
  /** Its success has no end, for which the tools would wait; test/http/events.test.ts reads it. */
  readonly isEndless: boolean;
  /** Statuses with the codes of their Error body, none for those that have another body. Without `default`. */
  readonly answers: ReadonlyMap<number, readonly string[]>;
};

/** The document as a service serves it. Rejects where it serves none. */
export async function fetchDocument(origin: string): Promise<string> {
  const response = await fetch(`${origin}/openapi.json`);
  if (response.status !== 200) throw new Error(`/openapi.json answered ${response.status}`);
  return response.text();
}

/** Every operation, in the order of the document. */
export function operationsOf(text: string): readonly DocumentedOperation[] {
  const document = JSON.parse(text) as OpenApiDocument; // the tools say whether it is one
  return Object.entries(document.paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const operation = item[verb];
      if (operation === undefined) return [];
      const { operationId, 'x-required-scope': scope = null, requestBody } = operation;
      return {
        operationId,
        method: verb.toUpperCase(),
        path,
        base: item.servers === undefined ? '/v1' : '', // its own servers: those without a version
        scope,
        takesBody: requestBody !== undefined,
        isEndless: isStream(operation.responses['200']),
        answers: answersIn(operation, document),
      };
    }),
  );
}

/** The answers of an operation as `getPet 200` and `getPet 404 pet_not_found`, but for some codes. */
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

/** The document of getPet alone, as it would be if ids were text and every animal were found. */
export function wrongAboutGetPet(text: string): string {
  const { paths, components, ...document } = JSON.parse(text) as OpenApiDocument; // as above
  const path = '/pets/{petId}';
  const { schemas } = components;
  const operation = paths[path]?.get;
  const pet = schemas['Pet'];
  if (operation === undefined || pet === undefined) throw new Error('the document has no getPet');
  const { 404: _, default: __, ...responses } = operation.responses;
  const wrongPet = { ...pet, properties: { ...pet.properties, id: { type: 'string' } } };
  return JSON.stringify({
    ...document,
    paths: { [path]: { get: { ...operation, responses } } },
    components: { ...components, schemas: { ...schemas, Pet: wrongPet } },
  });
}

function answersIn({ responses }: Operation, document: OpenApiDocument) {
  const listed = Object.entries(responses).filter(([status]) => status !== 'default');
  return new Map(
    listed.map(([status, response]) => [Number(status), codesOf(resolve(response, document))]),
  );
}

function resolve(response: Response | Ref, { components }: OpenApiDocument): Response {
  if (!('$ref' in response)) return response;
  const found = components.responses[response.$ref.split('/').at(-1) ?? ''];
  if (found === undefined) throw new Error(`the document has no ${response.$ref}`);
  return found;
}

function isStream(response: Response | Ref | undefined): boolean {
  const content = response === undefined || '$ref' in response ? undefined : response.content;
  return content?.['text/event-stream'] !== undefined;
}

/** The examples of an Error are called by their codes. */
function codesOf({ content }: Response): readonly string[] {
  return Object.keys(content?.['application/json']?.examples ?? {});
}
