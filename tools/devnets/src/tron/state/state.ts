import type { RecordKind, StateRecords } from './records.ts';

export interface StateReader {
  read(key: string): unknown;
}

/** Changes on top of an unchanged reader. The EVM and rejected transactions use `mark` and `revertTo`. */
export interface State extends StateReader {
  get<K extends RecordKind>(kind: K, key: string): StateRecords[K] | undefined;
  /** undefined deletes. */
  set<K extends RecordKind>(kind: K, key: string, value: StateRecords[K] | undefined): void;
  mark(): number;
  revertTo(mark: number): void;
  /** Keys set since the mark, in order, possibly repeated. */
  keysSince(mark: number): { kind: RecordKind; key: string }[];
  /** Differences from the reader below; undefined means deleted. */
  readonly changes: ReadonlyMap<string, unknown>;
}

const NOTHING = Symbol('not changed here');

export function createState(below: StateReader): State {
  const changes = new Map<string, unknown>();
  const journal: { key: string; before: unknown }[] = [];
  const read = (key: string): unknown => {
    const value = changes.get(key);
    return value !== undefined || changes.has(key) ? value : below.read(key);
  };
  return {
    changes,
    read,
    get: <K extends RecordKind>(kind: K, key: string) =>
      read(`${kind}:${key}`) as StateRecords[K] | undefined,
    set(kind, key, value) {
      const fullKey = `${kind}:${key}`;
      journal.push({ key: fullKey, before: changes.has(fullKey) ? changes.get(fullKey) : NOTHING });
      changes.set(fullKey, value);
    },
    mark: () => journal.length,
    revertTo(mark) {
      while (journal.length > mark) {
        const entry = journal.pop();
        if (entry === undefined) return;
        if (entry.before === NOTHING) changes.delete(entry.key);
        else changes.set(entry.key, entry.before);
      }
    },
    keysSince: (mark) =>
      journal.slice(mark).map(({ key }) => {
        const colon = key.indexOf(':');
        return { kind: key.slice(0, colon) as RecordKind, key: key.slice(colon + 1) };
      }),
  };
}

export interface CommittedState extends StateReader {
  /** Applies changes and returns the replaced values. */
  commit(changes: ReadonlyMap<string, unknown>): UndoLog;
  undo(log: UndoLog): void;
  values(): ReadonlyMap<string, unknown>;
}

export type UndoLog = Map<string, unknown>;

export function createCommittedState(initial: ReadonlyMap<string, unknown> = new Map()): CommittedState {
  const values = new Map(initial);
  const put = (key: string, value: unknown): void => {
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  };
  return {
    read: (key) => values.get(key),
    commit(changes) {
      const log = new Map<string, unknown>();
      for (const [key, value] of changes) {
        log.set(key, values.get(key));
        put(key, value);
      }
      return log;
    },
    values: () => values,
    undo: (log) => log.forEach((value, key) => put(key, value)),
  };
}

/** State before the given commits, which are sorted from the oldest. */
export function readBefore(state: StateReader, laterLogs: readonly UndoLog[]): StateReader {
  return {
    read(key) {
      for (const log of laterLogs) if (log.has(key)) return log.get(key);
      return state.read(key);
    },
  };
}
