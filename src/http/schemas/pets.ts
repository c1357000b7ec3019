/** As docs/interface.md defines them. */
import { z } from 'zod';
import { idOfCursor } from '../pipeline/cursor.ts';
import { int64, text } from '../pipeline/json.ts';
import { cursorOf, limitOf } from '../pipeline/paging.ts';
import { component, requestComponent } from './common.ts';

const petStatus = z
  .enum(['available', 'pending', 'sold'])
  .meta({ id: 'PetStatus', description: 'Availability of the pet' });

const categoryId = int64().describe("ID of the pet's category");
const name = text({ max: 255 }).describe("The pet's name");

/** The interface defines no default status. */
export const newPet = requestComponent('NewPet', 'Pet to add', {
  name,
  categoryId,
  status: petStatus.default('available'),
});

/** Both IDs are int64, and bigint in the code. */
export const pet = component('Pet', 'A pet in the store', {
  id: int64().describe('Unique ID, assigned at creation'),
  name,
  categoryId,
  status: petStatus,
});

export const petList = z.array(pet).meta({ id: 'Pets', description: 'Pets ordered by ID' });

/** `cursor` becomes the ID that the page starts after. */
export const listQuery = z.strictObject({
  limit: limitOf('pets', 20),
  status: petStatus.optional().describe('Filter by availability'),
  cursor: cursorOf(idOfCursor),
});

export const rex = { id: 42n, name: 'Rex', categoryId: 7n, status: 'available' };
