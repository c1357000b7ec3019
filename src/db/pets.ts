/** The store's animals, as JSON text. Calls that arrive together travel together (docs/performance.md). */
import type { Database } from './client.ts';
import { gather } from './gather.ts';
import type { PetStatus } from './generated/client.ts';
import { loadPages, loadPets, petStatements, savePets } from './pet-statements.ts';
import { createRunStatement, type Statement } from './prepared.ts';
import { isRowRefused } from './row-refused.ts';
import { shareReads } from './shared-reads.ts';

export type NewPet = {
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
};
export type PetPage = {
  /** Only animals with a greater id; null starts at the beginning. */
  readonly after: bigint | null;
  readonly status: PetStatus | null;
  /** 1 to 100. */
  readonly limit: number;
};
export type PetList = {
  /** The JSON text of an array of Pets. */
  readonly json: string;
  /** The last id of the page where more follow, else null. */
  readonly next: bigint | null;
};

export type PetStore = {
  /** In the order of their ids. */
  list(page: PetPage): Promise<PetList>;
  /** The JSON text of a Pet. */
  get(id: bigint): Promise<string | null>;
  /** The JSON text is byte by byte what `get` answers from then on. */
  create(pet: NewPet): Promise<{ readonly id: bigint; readonly json: string }>;
};

export type PetStoreOptions = {
  /** Statements of one kind under way at the same time: 1 for storage that runs one at a time. */
  readonly concurrency?: number;
  /** How long an answer of the database may take. */
  readonly silenceMs?: number;
};

/** A list has up to a hundred rows, and whoever shares its batch waits for it. */
const LISTS_MAX = 32;
const ROWS_MAX = 500;
const INT64_MAX = 2n ** 63n - 1n;
const nothing: PetList = { json: '[]', next: null };

/** A read sees every write that was answered before it was asked. A lost connection fails the calls of its statement. */
export function createPetStore(
  database: Pick<Database, 'prisma' | 'pool'>,
  { concurrency = 2, silenceMs }: PetStoreOptions = {},
): PetStore {
  const run = createRunStatement(database, silenceMs);
  const lists = (statement: Statement) =>
    shareReads((pages: readonly PetPage[]) => loadPages(run, statement, pages), nameOf, {
      itemsMax: LISTS_MAX,
      concurrency,
    });
  const listAll = lists(petStatements.listAll);
  const listByStatus = lists(petStatements.listByStatus);
  return {
    async list(page) {
      if (page.after === INT64_MAX) return nothing; // there is no greater id to start at
      return page.status === null ? listAll(page) : listByStatus(page);
    },
    get: gather((ids: readonly bigint[]) => loadPets(run, ids), {
      itemsMax: ROWS_MAX,
      concurrency,
    }),
    create: gather((pets: readonly NewPet[]) => savePets(run, pets), {
      itemsMax: ROWS_MAX,
      concurrency,
      mayBeOneItem: isRowRefused,
    }),
  };
}

function nameOf({ after, status, limit }: PetPage): string {
  return `${after} ${status} ${limit}`;
}
