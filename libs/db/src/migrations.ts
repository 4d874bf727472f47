import { readdirSync, readFileSync } from 'node:fs';

/** A step of the schema. Once released it never changes: databases keep its checksum. */
export interface Migration {
  readonly name: string;
  /**
   * One transaction; or steps, each a transaction of its own, for tables that services write meanwhile. So no table stays
   * locked while another one changes, and an index can be created concurrently (alone in its step). A failed migration of
   * steps starts again: each step must be harmless when it is already done.
   */
  readonly sql: string | readonly string[];
}

/** Next to src and dist, so that both find it. */
const FOLDER = new URL('../schema/', import.meta.url);
/** A line that divides two steps. */
const STEP = /^-- step\n/m;

/**
 * Reads the migrations of a folder in the order of their names: a file `<name>.sql`, in steps where lines `-- step` divide it,
 * or a folder `<name>`, whose files are one transaction in the order of their names.
 */
export function readMigrations(folder: URL): readonly Migration[] {
  return sqlIn(folder).map((entry) => {
    const at = new URL(entry, folder);
    if (!entry.endsWith('/')) return { name: entry.slice(0, -'.sql'.length), sql: stepsOf(at) };
    const files = sqlIn(at).map((file) => readFileSync(new URL(file, at), 'utf8'));
    return { name: entry.slice(0, -1), sql: files.join('\n') };
  });
}

/** Names of SQL files, and of folders with a slash, sorted by code units. */
function sqlIn(folder: URL): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => /(\/|\.sql)$/.test(name))
    .toSorted((a, b) => (a < b ? -1 : 1));
}

function stepsOf(file: URL): string | readonly string[] {
  const text = readFileSync(file, 'utf8');
  return STEP.test(text) ? text.split(STEP) : text;
}

/** All migrations in the order of their application. Forward only. */
export const MIGRATIONS = readMigrations(FOLDER);

/** First migration of the versions before 0.1.0, none of which was released. */
const FIRST_BEFORE_RELEASE = '0001-foundations';

/** True for the migrations of a database of a version before 0.1.0, which cannot be upgraded. */
export function isBeforeRelease(migrations: readonly { readonly name: string }[]): boolean {
  return migrations.some(({ name }) => name === FIRST_BEFORE_RELEASE);
}
