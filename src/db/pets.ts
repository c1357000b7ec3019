/** Pets, as JSON text. Concurrent calls share a statement (docs/measured/performance.md). */
import type { Database } from './engine/client.ts';
import {
  createRunStatement,
  gather,
  type RunStatement,
  type Statement,
  shareReads,
} from './engine/statements.ts';
import { isRowRefused } from './engine/unavailable.ts';
import type { PetStatus } from './generated/client.ts';

/** Already validated. */
export type NewPet = {
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
};
export type PetPage = {
  /** Exclusive; null starts at the beginning. */
  readonly after: bigint | null;
  readonly status: PetStatus | null;
  /** 1 to 100. */
  readonly limit: number;
};
type PetList = {
  /** The JSON text of an array of Pets. */
  readonly json: string;
  /** To pass as `after`; null on the last page. */
  readonly next: bigint | null;
};

export type PetStore = {
  list(page: PetPage): Promise<PetList>;
  /** The JSON text of a Pet. */
  get(id: bigint): Promise<string | null>;
  /** Committed when it resolves; `json` equals what `get` returns, byte for byte. */
  create(pet: NewPet): Promise<{ readonly id: bigint; readonly json: string }>;
};

export type PetStoreOptions = {
  /** Concurrent statements of one kind; 1 for storage that runs one at a time. */
  readonly concurrency?: number;
  readonly silenceMs?: number;
};

/** A page can have a hundred rows, and all callers of a batch wait for it. */
const LISTS_MAX = 32;
const ROWS_MAX = 500;
const INT64_MAX = 2n ** 63n - 1n;
const nothing: PetList = { json: '[]', next: null };

/** A read sees every write answered before it. A lost connection fails its statement's calls. */
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
      if (page.after === INT64_MAX) return nothing; // no greater id exists
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

/** Field by field, which takes two thirds of the time of row_to_json. */
const petJson = `'{"id":' || id || ',"name":' || to_json(name) || ',"categoryId":' || category_id || ',"status":"' || status || '"}'`;

/** Cannot occur inside a pet: a quote in a name is written as \". */
const NEXT_PET = ',{"id":';

/** The longest page, plus one row that shows whether another page follows. */
const PAGE_ROWS_MAX = 101;

/** The inner LIMIT is a constant, so that the planner does not sort the table. */
function listStatement(name: string, where: string, order: string): Statement {
  return {
    name,
    text: `
      SELECT page.* FROM unnest($1::bigint[], $2::int[], $3::pet_status[])
        WITH ORDINALITY AS asked (start, length, wanted, place)
      CROSS JOIN LATERAL (
        SELECT string_agg(${petJson}, ',' ORDER BY id) AS pets,
          CASE WHEN count(*) > asked.length
            THEN (array_agg(id ORDER BY id))[asked.length] END::text AS next
        FROM (SELECT * FROM (SELECT * FROM pet WHERE ${where} ORDER BY ${order} LIMIT ${PAGE_ROWS_MAX}) AS first
          LIMIT asked.length + 1) AS page
      ) AS page ORDER BY asked.place`,
  };
}

const listAll = listStatement('pets_list', 'id >= asked.start', 'id');

/** Only the index on (status, id) has this order; otherwise the whole table can be read. */
const listByStatus = listStatement(
  'pets_list_by_status',
  '(status, id) >= (asked.wanted, asked.start) AND status <= asked.wanted',
  'status, id',
);

const get: Statement = {
  name: 'pets_get',
  text: `SELECT id::text, ${petJson} AS pet FROM pet WHERE id = ANY ($1::bigint[])`,
};

/** Ids are drawn before the insert, because RETURNING guarantees no order. */
const create: Statement = {
  name: 'pets_create',
  text: `
    WITH item AS MATERIALIZED (
      SELECT nextval('pet_id_seq') AS id, name, category_id, status, place
      FROM unnest($1::text[], $2::bigint[], $3::pet_status[])
        WITH ORDINALITY AS given (name, category_id, status, place)
    ), stored AS (
      INSERT INTO pet (id, name, category_id, status)
      SELECT id, name, category_id, status FROM item
    )
    SELECT id::text, ${petJson} AS pet FROM item ORDER BY place`,
};

/** A test checks PostgreSQL's plans for them. */
export const petStatements = { listAll, listByStatus, get, create } as const;

const INT64_MIN = -(2n ** 63n);

/** `after` must be less than the greatest int64. */
async function loadPages(
  run: RunStatement,
  statement: Statement,
  pages: readonly PetPage[],
): Promise<readonly PetList[]> {
  const rows = await run<{ pets: string | null; next: string | null }>(statement, [
    pages.map(({ after }) => (after === null ? INT64_MIN : after + 1n)),
    pages.map(({ limit }) => limit),
    pages.map(({ status }) => status),
  ]);
  return rows.map(({ pets, next }) =>
    next === null
      ? { json: `[${pets ?? ''}]`, next: null }
      : { json: `[${pets?.slice(0, pets.lastIndexOf(NEXT_PET))}]`, next: BigInt(next) },
  );
}

async function loadPets(
  run: RunStatement,
  ids: readonly bigint[],
): Promise<readonly (string | null)[]> {
  const rows = await run<{ id: string; pet: string }>(get, [ids]);
  const byId = new Map(rows.map(({ id, pet }) => [id, pet]));
  return ids.map((id) => byId.get(String(id)) ?? null);
}

/** One statement: all or none. */
async function savePets(run: RunStatement, pets: readonly NewPet[]) {
  const rows = await run<{ id: string; pet: string }>(create, [
    pets.map(({ name }) => name),
    pets.map(({ categoryId }) => categoryId),
    pets.map(({ status }) => status),
  ]);
  return rows.map(({ id, pet }) => ({ id: BigInt(id), json: pet }));
}
