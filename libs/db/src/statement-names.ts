export interface StatementNames {
  /** The same on every connection; undefined for statements that are not prepared. */
  of(text: string): string | undefined;
  /** Gives all statements new names, because prepared ones are invalid on every connection. */
  renew(): void;
}

const CONTROL_STATEMENT = /^(begin|start|commit|rollback|savepoint|release)\b/i;
/** More texts are not prepared: ever-changing statements gain no time by it. */
const PREPARED_TEXTS_MAX = 200;

export const UNPREPARED: StatementNames = { of: () => undefined, renew: () => undefined };

export function createStatementNames(): StatementNames {
  const names = new Map<string, string>();
  let generation = 0;
  return {
    of(text) {
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
