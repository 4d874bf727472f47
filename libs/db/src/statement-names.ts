export interface StatementNames {
  /** The same on every connection; undefined for statements that are not prepared. */
  of(text: string, values?: readonly unknown[]): string | undefined;
  /** Gives all statements new names, because prepared ones are invalid on every connection. */
  renew(): void;
}

const CONTROL_STATEMENT = /^(begin|start|commit|rollback|savepoint|release)\b/i;
/** More texts are not prepared: ever-changing statements gain no time by it. */
const PREPARED_TEXTS_MAX = 200;
/**
 * Postgres keeps one generic plan for a prepared statement and expects 10 elements in each array parameter
 * (estimate_array_length in selfuncs.c). With hundreds, such a plan joins two of them in nested loops. Statements with
 * longer arrays are planned each time, which costs little per element.
 */
const PREPARED_ARRAY_MAX = 20;

export const UNPREPARED: StatementNames = { of: () => undefined, renew: () => undefined };

export function createStatementNames(): StatementNames {
  const names = new Map<string, string>();
  let generation = 0;
  return {
    of(text, values = []) {
      if (values.some((value) => Array.isArray(value) && value.length > PREPARED_ARRAY_MAX)) return undefined;
      const known = names.get(text);
      if (known !== undefined || names.size >= PREPARED_TEXTS_MAX || CONTROL_STATEMENT.test(text))
        return known;
      const name = `s${generation}_${names.size}`;
      names.set(text, name);
      return name;
    },
    renew() {
      generation += 1;
      names.clear();
    },
  };
}
