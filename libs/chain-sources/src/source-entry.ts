import type { Source } from './source.ts';
import type { SourceRecord } from './source-record.ts';

/** A source with what is known of it. */
export interface SourceEntry<S extends Source> {
  readonly source: S;
  /** In the configuration: less is preferred. */
  readonly place: number;
  readonly record: SourceRecord;
  /** Since when it is left out, by `nowMs`, until its check passes. */
  excludedSinceMs: number | undefined;
  /** The check that it failed. */
  recheck: (() => Promise<void>) | undefined;
  /** Since when it lacks blocks below its head that were asked for, by `nowMs`; of late it had all that were. */
  lackingSinceMs: number | undefined;
  /** Remembers a failure, once however often it is told. */
  noteFailure(error: unknown): void;
}

/** Through which a source tells of every answer and failure, whoever asked. */
export interface SourceNotes {
  readonly noteAnswer: () => void;
  /** How long an answer took, and how long it was. */
  readonly noteLatency: (durationMs: number, answerBytes: number) => void;
  /** May be told the same error again. */
  readonly noteFailure: (error: unknown) => void;
}

/** Longer answers take as long as they are long, which says nothing of the source. */
const ORDINARY_ANSWER_BYTES = 64 * 1024;

/** Makes a source whose every answer and failure goes into its record. */
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
