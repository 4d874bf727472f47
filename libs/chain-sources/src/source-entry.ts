import type { Source } from './source.ts';
import type { SourceRecord } from './source-record.ts';

export interface SourceEntry<S extends Source> {
  readonly source: S;
  /** Index in the configuration: lower is preferred. */
  readonly place: number;
  readonly record: SourceRecord;
  /** Moment by `nowMs`; undefined after the source's check passes. */
  excludedSinceMs: number | undefined;
  recheck: (() => Promise<void>) | undefined;
  /** Since when it lacks requested blocks below its head, by `nowMs`; undefined while it has all of them. */
  lackingSinceMs: number | undefined;
  /** Repeated reports of one error count once. */
  noteFailure(error: unknown): void;
}

export interface SourceNotes {
  readonly noteAnswer: () => void;
  readonly noteLatency: (durationMs: number, answerBytes: number) => void;
  readonly noteFailure: (error: unknown) => void;
}

/** The duration of longer answers depends on their length. */
const ORDINARY_ANSWER_BYTES = 64 * 1024;

export function createSourceEntry<S extends Source>(
  place: number,
  record: SourceRecord,
  createSource: (notes: SourceNotes) => S,
): SourceEntry<S> {
  const noted = new WeakSet<object>();
  function noteFailure(error: unknown): void {
    if (typeof error !== 'object' || error === null || noted.has(error)) return;
    noted.add(error);
    record.noteFailure(error);
  }
  return {
    place,
    record,
    excludedSinceMs: undefined,
    recheck: undefined,
    lackingSinceMs: undefined,
    noteFailure,
    source: createSource({
      noteAnswer: record.noteAnswer,
      noteLatency(durationMs, answerBytes) {
        if (answerBytes <= ORDINARY_ANSWER_BYTES) record.noteLatency(durationMs);
      },
      noteFailure,
    }),
  };
}
