import type { RecordKind, StateRecords } from './records.ts';

/** Something that knows a value per key; undefined where there is none. */
export interface StateReader {
  read(key: string): unknown;
}

/**
 * Changes on top of a reader, which stays as it is. `mark` and `revertTo` take back what happened since, as the EVM
 * and a refused transaction need it.
 */
export interface State extends StateReader {
  get<K extends RecordKind>(kind: K, key: string): StateRecords[K] | undefined;
  /** undefined deletes. */
  set<K extends RecordKind>(kind: K, key: string, value: StateRecords[K] | undefined): void;
  mark(): number;
  revertTo(mark: number): void;
  /** What was set since the mark, in order; a key may come more than once. */
  keysSince(mark: number): { kind: RecordKind; key: string }[];
  /** Everything that differs from the reader below; undefined is a deletion. */
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

/** The state of the newest block, with a way back. */
export interface CommittedState extends StateReader {
  /** Takes over the changes; what they replaced. */
  commit(changes: ReadonlyMap<string, unknown>): UndoLog;
  /** Takes a commit back; only the last one. */
  undo(log: UndoLog): void;
  /** Everything, to be written down. */
  values(): ReadonlyMap<string, unknown>;
}

/** Former values by key. */
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

/** The state as it was before the given commits, oldest first. */
export function readBefore(state: StateReader, laterLogs: readonly UndoLog[]): StateReader {
  return {
    read(key) {
      for (const log of laterLogs) if (log.has(key)) return log.get(key);
      return state.read(key);
    },
  };
}
