import { MIGRATIONS, readMigrations, type Migration } from '../src/migrations.ts';

/** The services of an upgrade start on these. */
export const BASELINE = MIGRATIONS.slice(0, 1);

/** An example with steps, so that there is always a migration to upgrade to. */
export const WITH_EXAMPLE: readonly Migration[] = [
  ...MIGRATIONS,
  ...readMigrations(new URL('./example-migration/', import.meta.url)),
];
export const SINCE_BASELINE = WITH_EXAMPLE.slice(1).map(({ name }) => name);
