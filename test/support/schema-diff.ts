/** Compares a database with a Prisma schema, using Prisma's schema engine in WebAssembly. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils';
import * as engine from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

/** PostgreSQL's type "char", common in its catalogs and unknown to the adapter. */
const CHAR_OID = 18;
/** Replaces "char" on the way through the adapter; no catalog has a column of this type. */
const MARKER_OID = pg.types.builtins.TIME;

/** The SQL that would change the database to `schema`; null if nothing differs. */
export async function diffToSchema(pool: pg.Pool, schema: string): Promise<string | null> {
  await loadEngine();
  const files = [{ path: 'schema.prisma', content: schema }];
  const schemaEngine = await engine.SchemaEngine.new(
    { datamodels: [['schema.prisma', schema]] },
    () => {},
    bindMigrationAwareSqlAdapterFactory(adapterOver(pool)),
  );
  const { exitCode, stdout } = await schemaEngine.diff({
    from: { tag: 'schemaDatasource', files, configDir: '.' },
    to: { tag: 'schemaDatamodel', files },
    script: true,
    exitCode: true,
    filters: { externalTables: [], externalEnums: [] },
  });
  return exitCode === 0 ? null : stdout;
}

/** Missing from Node's types for version 20. */
declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
    imports: object,
  ): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>;
};

let loaded: Promise<void> | undefined;

/** Does what the package's main file does with a bundler that loads the .wasm file. */
function loadEngine(): Promise<void> {
  loaded ??= (async () => {
    const script = createRequire(import.meta.url).resolve(
      '@prisma/schema-engine-wasm/schema_engine_bg',
    );
    const bytes = await readFile(script.replace(/\.js$/, '.wasm'));
    const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': engine });
    // Not in its types.
    const { __wbg_set_wasm: setWasm } = engine as unknown as { __wbg_set_wasm(to: unknown): void };
    setWasm(instance.exports);
    instance.exports.__wbindgen_start();
  })();
  return loaded;
}

/** Adapter-pg that passes "char" columns to the engine as characters. */
function adapterOver(pool: pg.Pool): SqlMigrationAwareDriverAdapterFactory {
  const inner = new PrismaPg(markingChars(pool), { disposeExternalPool: false });
  return {
    provider: inner.provider,
    adapterName: inner.adapterName,
    connectToShadowDb: () => inner.connectToShadowDb(),
    async connect() {
      const adapter = await inner.connect();
      const queryRaw = adapter.queryRaw.bind(adapter);
      adapter.queryRaw = async (query) => {
        const result = await queryRaw(query);
        const columnTypes = result.columnTypes.map((type) =>
          type === ColumnTypeEnum.Time ? ColumnTypeEnum.Character : type,
        );
        return { ...result, columnTypes };
      };
      return adapter;
    },
  };
}

function markingChars(pool: pg.Pool): pg.Pool {
  const query = async (config: pg.QueryArrayConfig) => {
    const result = await pool.query(config);
    for (const field of result.fields) {
      if (field.dataTypeID === CHAR_OID) field.dataTypeID = MARKER_OID;
    }
    return result;
  };
  return new Proxy(pool, {
    get(target, key) {
      const value: unknown = key === 'query' ? query : Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
