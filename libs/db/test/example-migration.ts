import { MIGRATIONS, readMigrations, type Migration } from '../src/migrations.ts';

/** As released: what the services of an upgrade start on. */
export const BASELINE = MIGRATIONS.slice(0, 1);

/** All migrations, and one of steps for the tests, so that there is always one to upgrade to. */
export const WITH_EXAMPLE: readonly Migration[] = [
  ...MIGRATIONS,
  ...readMigrations(new URL('./example-migration/', import.meta.url)),
];
export const SINCE_BASELINE = WITH_EXAMPLE.slice(1).map(({ name }) => name);
