import { defineConfig } from 'prisma/config';

// Only `prisma generate`, `validate` and `format` read this; migrations are applied by src/db/engine/migrate.ts.
export default defineConfig({ schema: 'prisma/schema.prisma' });
