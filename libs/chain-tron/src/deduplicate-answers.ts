/** Returned instead of a value: the body has the same bytes as the first answer. */
export const SAME = Symbol('the same bytes');

/**
 * Parses equal answers of several sources once. The parsed value takes many times the memory of the bytes, so it can be
 * released earlier.
 */
export interface AnswerDeduplicator {
  /** Equal bytes return the first value (SAME once it is released), otherwise the result of `read`. */
  valueOf(body: Buffer, read: () => unknown): unknown;
  isFirst(value: unknown): boolean;
  release(): void;
  parseAgain(): unknown;
}

export function createAnswerDeduplicator(): AnswerDeduplicator {
  let first:
    { readonly body: Buffer; readonly read: () => unknown; readonly value: WeakRef<object> } | undefined;
  let kept: object | undefined;
  return {
    valueOf(body, read) {
      if (first?.body.equals(body) === true) return kept ?? SAME;
      const value = read();
      if (first === undefined && typeof value === 'object' && value !== null) {
        first = { body, read, value: new WeakRef(value) };
        kept = value;
      }
      return value;
    },
    isFirst: (value) => value === SAME || (value !== undefined && first?.value.deref() === value),
    release() {
      kept = undefined;
    },
    parseAgain: () => first?.read(),
  };
}
