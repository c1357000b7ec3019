/** The store's animals. A small interface, so that the statements behind it can be tuned without their callers. */
import type { PetStatus, PrismaClient } from './generated/client.ts';

export type Pet = {
  readonly id: bigint;
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
};
export type NewPet = {
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
};
export type PetPage = {
  /** Only animals with a greater id; null starts at the beginning. */
  readonly after: bigint | null;
  readonly status: PetStatus | null;
  readonly limit: number;
};

export type PetStore = {
  /** In the order of their ids. */
  list(page: PetPage): Promise<readonly Pet[]>;
  get(id: bigint): Promise<Pet | null>;
  create(pet: NewPet): Promise<Pet>;
};

const select = { id: true, name: true, categoryId: true, status: true } as const;

export function createPetStore(prisma: PrismaClient): PetStore {
  return {
    list: ({ after, status, limit }) =>
      prisma.pet.findMany({
        where: { ...(after !== null && { id: { gt: after } }), ...(status !== null && { status }) },
        orderBy: { id: 'asc' },
        take: limit,
        select,
      }),
    get: (id) => prisma.pet.findUnique({ where: { id }, select }),
    create: (pet) => prisma.pet.create({ data: pet, select }),
  };
}
