import { readdirSync, readFileSync } from 'node:fs';

/** Never changes after a release: databases keep its checksum. */
export interface Migration {
  readonly name: string;
  /** Steps are one transaction each. A failed migration restarts from its first step: each must be idempotent. */
  readonly sql: string | readonly string[];
}

/** Relative to both src and dist. */
const FOLDER = new URL('../schema/', import.meta.url);
const STEP = /^-- step\n/m;

/** Sorts by name. A file is split into steps at lines `-- step`; the files of a folder form one transaction. */
export function readMigrations(folder: URL): readonly Migration[] {
  return sqlIn(folder).map((entry) => {
    const at = new URL(entry, folder);
    if (!entry.endsWith('/')) return { name: entry.slice(0, -'.sql'.length), sql: stepsOf(at) };
    const files = sqlIn(at).map((file) => readFileSync(new URL(file, at), 'utf8'));
    return { name: entry.slice(0, -1), sql: files.join('\n') };
  });
}

/** Folders end with a slash. Sorted by code units. */
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

export const MIGRATIONS = readMigrations(FOLDER);

const FIRST_BEFORE_RELEASE = '0001-foundations';

export function isBeforeRelease(migrations: readonly { readonly name: string }[]): boolean {
  return migrations.some(({ name }) => name === FIRST_BEFORE_RELEASE);
}
