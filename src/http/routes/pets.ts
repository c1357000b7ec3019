/** The pets API of docs/interface.md. */
import type { z } from 'zod';
import type { PetStore } from '../../db/pets.ts';
import type { Service } from '../../service/service.ts';
import { cursorAfter } from '../pipeline/cursor.ts';
import { type ApiResponse, type ListAnswer, refuse } from '../pipeline/errors.ts';
import { int64Of } from '../pipeline/json.ts';
import { pageOfJson } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { listQuery, newPet, pet, petList, rex } from '../schemas/pets.ts';

type PetService = Pick<Service, 'now' | 'pets'>;

export function petRoutes(service: PetService): readonly Route[] {
  return [listPets(service), createPet(service), getPet(service)];
}

/** Ordered by ID, so pages neither repeat nor skip pets. */
function listPets({ pets }: PetService): Route {
  return route({
    at: 'GET /v1/pets',
    scope: 'pets:read',
    operationId: 'listPets',
    tag: 'Pets',
    summary: 'List pets',
    description: 'Lists pets in pages, ordered by ID.',
    stability: 'stable',
    original: { statuses: [200, 401], parameters: ['limit', 'status'] },
    query: listQuery,
    success: success(200, 'A page of pets', petList, [rex]),
    handle: ({ query }) => page(pets, query),
  });
}

/** Adds a pet per request, except for repetitions with the same Idempotency-Key. */
function createPet({ pets }: PetService): Route {
  return route({
    at: 'POST /v1/pets',
    scope: 'pets:write',
    operationId: 'createPet',
    tag: 'Pets',
    summary: 'Add a pet',
    stability: 'stable',
    original: { statuses: [201, 400, 401], parameters: [] },
    body: newPet,
    bodyExample: { name: rex.name, categoryId: rex.categoryId },
    success: success(201, 'The pet was added', pet, rex, { location: 'Path of the pet' }),
    handle: async ({ body }) => {
      const { id, json } = await pets.create(body);
      return { status: 201, text: json, headers: { location: `/v1/pets/${id}` } };
    },
  });
}

const DEPRECATED_AT = Date.UTC(2026, 10, 20); // release of version 1.0.0
const REMOVED_AT = Date.UTC(2030, 11, 5); // docs/interface.md, section 9

const endHeaders = {
  deprecation: `@${DEPRECATED_AT / 1_000}`, // RFC 9745, 2.1: a structured date
  sunset: new Date(REMOVED_AT).toUTCString(), // RFC 8594, 3: an HTTP date
  link: '</v1/pets>; rel="successor-version"', // RFC 5829
};

const endHeaderDocs = {
  deprecation: 'Since when the operation is deprecated (RFC 9745)',
  sunset: 'When it is removed (RFC 8594)',
  link: 'The replacement as `rel="successor-version"`',
};

/** From REMOVED_AT on, it answers 410. */
function getPet({ pets, now }: PetService): Route {
  return route({
    at: 'GET /v1/pets/:petId',
    scope: 'pets:read',
    operationId: 'getPet',
    tag: 'Pets',
    summary: 'Get one pet',
    description:
      'Deprecated: removed on December 5, 2030, after which it answers 410. Use `GET /pets` with the status filter instead.',
    stability: 'stable',
    deprecated: true,
    original: { statuses: [200, 401, 404], parameters: ['petId'] },
    refusals: ['pet_not_found', 'gone'],
    success: success(200, 'The pet', pet, rex, endHeaderDocs),
    headers: endHeaders,
    ended: () =>
      now().getTime() < REMOVED_AT
        ? null
        : refuse('gone', 'getPet was removed on December 5, 2030. Use GET /v1/pets instead.'),
    handle: ({ params }) => find(pets, params.petId),
  });
}

/** Links to the next page if more pets follow. */
async function page(pets: PetStore, query: z.infer<typeof listQuery>): Promise<ListAnswer> {
  const { limit, status, cursor } = query;
  const { json, next } = await pets.list({
    after: cursor ?? null,
    status: status ?? null,
    limit,
  });
  return pageOfJson(json, next === null ? null : cursorAfter(next));
}

/** An ID that is not in its shortest form is unknown, without a query. */
async function find(pets: PetStore, petId: string): Promise<ApiResponse> {
  const id = int64Of(petId);
  const json = id === null ? null : await pets.get(id);
  return json === null ? refuse('pet_not_found') : { status: 200, text: json };
}
