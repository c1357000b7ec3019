/** What the interface document says of animals, as schemas: they validate, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { idOfCursor } from '../pipeline/cursor.ts';
import { int64, queryInteger, text } from '../pipeline/json.ts';

const petStatus = z
  .enum(['available', 'pending', 'sold'])
  .meta({ id: 'PetStatus', description: 'Availability of the animal' });

const categoryId = int64().meta({ description: 'ID of the category the animal belongs to' });
const name = text({ max: 255 }).meta({ description: "The animal's name" });

/**
 * Body of `POST /v1/pets`. A status that is left out is `available`: the interface document shows none, so this is our
 * choice.
 */
export const newPet = z
  .strictObject({ name, categoryId, status: petStatus.default('available') })
  .meta({ id: 'NewPet', description: 'An animal to be added' });

/** Answer about one animal. Both ids are int64, and bigint in our own code. */
export const pet = z
  .object({
    id: int64().meta({ description: 'Unique identifier assigned at creation' }),
    name,
    categoryId,
    status: petStatus,
  })
  .meta({ id: 'Pet', description: 'An animal of the store' });

/** Answer of `GET /v1/pets`: one page. */
export const petList = z
  .array(pet)
  .meta({ id: 'Pets', description: 'Animals in the order of their ids' });

/** Query of `GET /v1/pets`. `limit` becomes a number, `cursor` the id that the page starts after. */
export const listQuery = z.strictObject({
  limit: queryInteger({ min: 1, max: 100, default: 20 }).meta({
    description: 'Maximum number of animals returned',
  }),
  status: petStatus.optional().meta({ description: 'Filters by availability' }),
  cursor: z
    .string()
    .transform(idOfCursor)
    .refine((id) => id !== null, 'must be one that a list of animals linked to')
    .optional()
    .meta({ description: 'Where the page starts: taken from a `Link`, never made by hand' }),
});

/** The example of the OpenAPI document, also for the body that makes it. */
export const rex = { id: 42n, name: 'Rex', categoryId: 7n, status: 'available' };
