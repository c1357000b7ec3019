/** The pets API: listPets, createPet and the deprecated getPet of the interface document. */
import { z } from 'zod';
import type { PetStore } from '../../db/pets.ts';
import { cursorAfter, idOfCursor } from '../cursor.ts';
import { refuse } from '../errors.ts';
import { int64, int64Of, text } from '../json.ts';
import { type ApiResponse, type Route, route } from '../route.ts';

export type PetRoutesDeps = { readonly pets: PetStore; readonly now: () => Date };

const DEFAULT_LIMIT = 20;
const petStatus = z.enum(['available', 'pending', 'sold']);

/** NewPet. A status that is left out is `available`: the document shows none, so this is our choice. */
const newPet = z.strictObject({
  name: text({ max: 255 }),
  categoryId: int64(),
  status: petStatus.default('available'),
});

const listQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .transform(Number)
    .default(DEFAULT_LIMIT),
  status: petStatus.optional(),
  cursor: z
    .string()
    .transform(idOfCursor)
    .refine((id) => id !== null, 'must be one that a list of animals linked to')
    .optional(),
});

export function petRoutes({ pets, now }: PetRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/pets',
      scope: 'pets:read',
      operationId: 'listPets',
      query: listQuery,
      handle: ({ query }) => listPets(pets, query),
    }),
    route({
      method: 'POST',
      path: '/v1/pets',
      scope: 'pets:write',
      operationId: 'createPet',
      body: newPet,
      handle: async ({ body }) => {
        const pet = await pets.create(body);
        return { status: 201, body: pet, headers: { location: `/v1/pets/${pet.id}` } };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/pets/:petId',
      scope: 'pets:read',
      operationId: 'getPet',
      handle: async ({ params }) => withEnd(await getPet(pets, params.petId, now())),
    }),
  ];
}

/** One animal more than asked for is read: it tells whether there is a next page. */
async function listPets(pets: PetStore, query: z.infer<typeof listQuery>): Promise<ApiResponse> {
  const { limit, status, cursor } = query;
  const found = await pets.list({
    after: cursor ?? null,
    status: status ?? null,
    limit: limit + 1,
  });
  const page = found.slice(0, limit);
  const last = page.at(-1);
  if (found.length <= limit || last === undefined) return { status: 200, body: page };
  const next = new URLSearchParams({ limit: String(limit), ...(status && { status }) });
  next.set('cursor', cursorAfter(last.id));
  return { status: 200, body: page, headers: { link: `</v1/pets?${next}>; rel="next"` } };
}

const DEPRECATED_AT = Date.UTC(2026, 10, 20); // our choice: the day version 1.0.0 came out
const REMOVED_AT = Date.UTC(2030, 11, 5); // interface document, part 9

async function getPet(pets: PetStore, petId: string, now: Date): Promise<ApiResponse> {
  if (now.getTime() >= REMOVED_AT) {
    return refuse('gone', 'getPet was removed on 5 December 2030; use GET /v1/pets.');
  }
  const id = int64Of(petId);
  const pet = id === null ? null : await pets.get(id);
  return pet === null ? refuse('pet_not_found') : { status: 200, body: pet };
}

/** Every answer of getPet says that it is deprecated, until when it works, and what replaces it. */
function withEnd(answer: ApiResponse): ApiResponse {
  return { ...answer, headers: { ...answer.headers, ...endHeaders } };
}

const endHeaders = {
  deprecation: `@${DEPRECATED_AT / 1_000}`, // RFC 9745, 2.1: a structured date
  sunset: new Date(REMOVED_AT).toUTCString(), // RFC 8594, 3: an HTTP date
  link: '</v1/pets>; rel="successor-version"', // RFC 5829
};
