/** The pets API: listPets, createPet and the deprecated getPet of the interface document. */
import type { z } from 'zod';
import type { PetStore } from '../../db/pets.ts';
import { cursorAfter } from '../pipeline/cursor.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import { int64Of } from '../pipeline/json.ts';
import { type Route, route } from '../pipeline/route.ts';
import { listQuery, newPet, pet, petList, rex } from '../schemas/pets.ts';

/** `now` decides whether getPet has been removed. */
export type PetRoutesDeps = { readonly pets: PetStore; readonly now: () => Date };

/** The three operations of the interface document. */
export function petRoutes(deps: PetRoutesDeps): readonly Route[] {
  return [listPets(deps), createPet(deps), getPet(deps)];
}

/** In the order of the ids, so that pages neither repeat nor miss what is there all the time. */
function listPets({ pets }: PetRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/pets',
    scope: 'pets:read',
    operationId: 'listPets',
    tag: 'Pets',
    summary: 'List animals',
    description: 'A paginated list of animals, in the order of their ids.',
    stability: 'stable',
    original: { statuses: [200, 401], parameters: ['limit', 'status'] },
    query: listQuery,
    success: {
      status: 200,
      description: 'A page of animals',
      schema: petList,
      example: [rex],
      headers: { link: 'Where more animals follow: the next page, as `rel="next"`' },
    },
    handle: ({ query }) => page(pets, query),
  });
}

/** Every request adds an animal, unless it repeats one with the same Idempotency-Key. */
function createPet({ pets }: PetRoutesDeps): Route {
  return route({
    audits: null, // the store's goods, many a second, and no account's
    method: 'POST',
    path: '/v1/pets',
    scope: 'pets:write',
    operationId: 'createPet',
    tag: 'Pets',
    summary: 'Add an animal',
    stability: 'stable',
    original: { statuses: [201, 400, 401], parameters: [] },
    body: newPet,
    bodyExample: { name: rex.name, categoryId: rex.categoryId },
    success: {
      status: 201,
      description: 'The animal was added',
      schema: pet,
      example: rex,
      headers: { location: 'The path of the animal' },
    },
    handle: async ({ body }) => {
      const { id, json } = await pets.create(body);
      return { status: 201, text: json, headers: { location: `/v1/pets/${id}` } };
    },
  });
}

const DEPRECATED_AT = Date.UTC(2026, 10, 20); // our choice: the day version 1.0.0 came out
const REMOVED_AT = Date.UTC(2030, 11, 5); // interface document, part 9

/** Headers of every answer of getPet. */
const endHeaders = {
  deprecation: `@${DEPRECATED_AT / 1_000}`, // RFC 9745, 2.1: a structured date
  sunset: new Date(REMOVED_AT).toUTCString(), // RFC 8594, 3: an HTTP date
  link: '</v1/pets>; rel="successor-version"', // RFC 5829
};

/** What each of them says, for the OpenAPI document. */
const endHeaderDocs = {
  deprecation: 'Since when the operation is deprecated (RFC 9745)',
  sunset: 'When it is removed (RFC 8594)',
  link: 'What replaces it, as `rel="successor-version"`',
};

/** Every call that is admitted is counted by its key. From REMOVED_AT on, each is answered 410. */
function getPet({ pets, now }: PetRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/pets/:petId',
    scope: 'pets:read',
    operationId: 'getPet',
    tag: 'Pets',
    summary: 'Get one animal',
    description:
      'Deprecated: it is removed on 5 December 2030, and answers 410 from that day. Use `GET /pets` with the status filter instead.',
    stability: 'stable',
    deprecated: true,
    original: { statuses: [200, 401, 404], parameters: ['petId'] },
    refusals: ['pet_not_found', 'gone'],
    success: {
      status: 200,
      description: 'The animal',
      schema: pet,
      example: rex,
      headers: endHeaderDocs,
    },
    headers: endHeaders,
    ended: () =>
      now().getTime() < REMOVED_AT
        ? null
        : refuse('gone', 'getPet was removed on 5 December 2030; use GET /v1/pets.'),
    handle: ({ params }) => find(pets, params.petId),
  });
}

/** A page as the store renders it, with a link to the next one where more animals follow. */
async function page(pets: PetStore, query: z.infer<typeof listQuery>): Promise<ApiResponse> {
  const { limit, status, cursor } = query;
  const { json, next } = await pets.list({
    after: cursor ?? null,
    status: status ?? null,
    limit,
  });
  if (next === null) return { status: 200, text: json };
  // The next page has the same filter and length.
  const target = new URLSearchParams({ limit: String(limit), ...(status && { status }) });
  target.set('cursor', cursorAfter(next));
  return { status: 200, text: json, headers: { link: `</v1/pets?${target}>; rel="next"` } };
}

/** Text that is no id in its shortest form is of no animal, and costs no query. */
async function find(pets: PetStore, petId: string): Promise<ApiResponse> {
  const id = int64Of(petId);
  const json = id === null ? null : await pets.get(id);
  return json === null ? refuse('pet_not_found') : { status: 200, text: json };
}
